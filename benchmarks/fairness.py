"""A member's calls while another's connections misbehave, and while they do not: `python -m benchmarks fairness`.

Carole runs as a process; Bob calls her at an even pace, in turns alone and while 200 connections of Alice's, from a
process of their own, are silent, slow, poll, flood, begin uploads, send too much or read nothing. Bob's latencies of
all turns are shown, with the ratio of the 99th percentiles; the command ends with status 1 if it is above 3, or if any
call of Bob's failed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import grpc
import numpy as np

from benchmarks._misbehaving import KINDS, make_project
from gemel.carole.configuration import template
from gemel.common.parties import Role
from gemel.common.pki.certificates import server_name
from gemel.common.rpc.client import Connection
from gemel.common.rpc.tls import channel_credentials
from gemel.coordinator.provisioning import provision
from gemel.coordinator.rehearsal.processes import make_store
from gemel.protos.linkage.v1 import custody_pb2, custody_pb2_grpc

MAX_RATIO = 3.0
PACE_SECONDS = 0.02
QUIET_SECONDS = 3.0
"""For connections to be made and ended: handshakes cost the machine, on which both sides run here."""


def latencies(stub: custody_pb2_grpc.CustodyStub, calls: int) -> tuple[np.ndarray, int]:
    """Milliseconds of each of Bob's calls, and how many failed."""
    found, failed = [], 0
    for _ in range(calls):
        began = time.perf_counter()
        try:
            stub.NextTask(custody_pb2.NextTaskRequest(), timeout=30)
        except grpc.RpcError:
            failed += 1
        found.append(1000 * (time.perf_counter() - began))
        time.sleep(PACE_SECONDS)
    return np.array(found), failed


def main(arguments: list[str]) -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fairness", description=__doc__)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--calls", type=int, default=300, help="of Bob's in each turn")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="of misbehaviour, as many of each")
    parser.add_argument("--database", help="URL of an empty PostgreSQL; SQLite by default")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        parties = provision(root / "parties", linker_names=["127.0.0.1"]).parties
        configuration, ready = root / "carole.yaml", root / "ready"
        text = template("127.0.0.1:0", keys=str(parties["carole"].path))
        configuration.write_text(
            text.replace("sqlite:///store/carole.db", given.database or "sqlite:///store/carole.db")
        )
        make_store(configuration)
        command = [sys.executable, "-m", "gemel.carole", "--config", str(configuration), "--ready-file", str(ready)]
        with (root / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as carole:
            try:
                while not ready.exists():
                    assert carole.poll() is None, (root / "log").read_text()
                    time.sleep(0.1)
                address = json.loads(ready.read_text())["address"]
                make_project(address, parties)
                return compare(address, parties["alice"].path, parties["bob"].path, given)
            finally:
                carole.terminate()


def compare(address: str, alice: Path, bob: Path, given: argparse.Namespace) -> int:
    """Bob's calls alone and beside Alice's, in turns."""
    alone, beside, failed, theirs = [], [], 0, ""
    credentials = channel_credentials(bob, Role.CUSTODIAN_B)
    with Connection(address, server_name(Role.LINKER), credentials) as connection:
        stub = connection.stub(custody_pb2_grpc.CustodyStub)
        latencies(stub, 50)
        command = [sys.executable, "-m", "benchmarks._misbehaving", address, str(alice), str(given.connections)]
        command += given.kinds
        for _ in range(given.turns):
            measured, _ = latencies(stub, given.calls)
            alone.append(measured)
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as misbehaving:
                assert misbehaving.stdin is not None
                assert misbehaving.stdout is not None
                misbehaving.stdout.readline()
                time.sleep(QUIET_SECONDS)
                measured, refused = latencies(stub, given.calls)
                beside.append(measured)
                failed += refused
                misbehaving.stdin.close()
                theirs = misbehaving.stdout.read()
            time.sleep(QUIET_SECONDS)
    print(f"{given.turns} turns of {given.calls} calls of Bob's; milliseconds\n")
    print(f"{'':<34} {'median':>8} {'p90':>8} {'p99':>8} {'longest':>8}")
    for name, turns in (("alone", alone), (f"beside {given.connections} of Alice's", beside)):
        shown = [*np.percentile(turns, (50, 90, 99)), np.max(turns)]
        print(f"{name:<34} " + " ".join(f"{value:>8.1f}" for value in shown))
    ratio = np.percentile(beside, 99) / np.percentile(alone, 99)
    print(f"\np99 beside, over p99 alone: {ratio:.2f} (at most {MAX_RATIO:g}); calls of Bob's that failed: {failed}")
    print(f"\nAlice's calls in the last turn:\n{theirs}")
    return int(ratio > MAX_RATIO or failed > 0)
