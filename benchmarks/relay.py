"""Mode shared: rounds a second and bytes a second between three processes through Carole's service.

    python -m benchmarks relay [--seconds 3]

Each of the three sends a message to the one before it and waits for that of the one after it, as in every round of a
computation. Messages are sealed end to end, over mutual TLS on this machine; the service is this process.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from gemel.carole.service.computation_sessions import Absence
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import ComputeParty, Role
from gemel.common.pki.certificates import Validity
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Members
from gemel.common.rpc.client import Connection
from gemel.common.rpc.status import SWITCH_SECONDS
from gemel.common.rpc.tls import channel_credentials
from gemel.coordinator.provisioning import provision
from gemel.shared.session.computation_calls import ComputationCalls
from gemel.shared.session.handshake import SessionTerms
from gemel.shared.session.joined_session import JoinedSession, joined_session
from tests.carole.computing import NAMES, RUN, announced
from tests.carole.deployment import Deployment

SIZES = (100, 10_000, 100_000, 1_000_000, 4_000_000)
WARM_ROUNDS, CHECKED = 5, 20


def rounds(joined: JoinedSession, size: int, seconds: float) -> tuple[int, float]:
    """How many rounds were done, and in how many seconds. Carole, between `CHECKED` of them, says whether to go on."""
    channel, own, content = joined.channel, joined.own, os.urandom(size)
    _do(joined, content, WARM_ROUNDS)
    count, began = 0, time.perf_counter()
    while True:
        if own is ComputeParty.CAROLE:
            goes_on = bytes([time.perf_counter() - began < seconds])
            for to in (own.next, own.previous):
                channel.send(to, goes_on)
        else:
            goes_on = channel.receive(ComputeParty.CAROLE)
        if goes_on == b"\0":
            return count, time.perf_counter() - began
        _do(joined, content, CHECKED)
        count += CHECKED


def _do(joined: JoinedSession, content: bytes, count: int) -> None:
    for _ in range(count):
        joined.channel.send(joined.own.previous, content)
        joined.channel.receive(joined.own.next)


def take_part(root: Path, name: str, address: str, session: bytes, size: int, seconds: float) -> None:
    """One party's process."""
    sys.setswitchinterval(SWITCH_SECONDS)
    folder, own = PartyFolder(root / name), ComputeParty(NAMES.index(name))
    members = Members.load(folder.members)
    credentials = channel_credentials(folder.path, members.named(name).role)
    three = [members.named(each) for each in NAMES]
    with Connection(address, members.in_role(Role.LINKER).server_name, credentials) as connection:
        calls = ComputationCalls(connection, session, b"" if own is ComputeParty.CAROLE else secrets.token_bytes(16))
        present: frozenset[ComputeParty] = frozenset()
        while len(present) < len(ComputeParty):
            present = calls.attend(present)
        terms = SessionTerms("trial", RUN, session, b"d" * 32, NAMES)
        identity, key = open_identity(None, folder.identity), SealingKey.load(folder.sealing)
        with joined_session(calls, own, terms, three, identity, key) as joined:
            count, took = rounds(joined, size, seconds)
        if own is ComputeParty.CAROLE:
            print(
                f"{size:>9,} {took / count * 1e3:>8.2f} {count / took:>8.0f} {count * size / took / 1e6:>9.1f}",
                flush=True,
            )


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks relay", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each size")
    parser.add_argument("--party", nargs=4, metavar=("ROOT", "NAME", "ADDRESS", "SESSION"), help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.party:
        root, name, address, session = given.party
        take_part(Path(root), name, address, bytes.fromhex(session), given.size, given.seconds)
        return 0
    sys.setswitchinterval(SWITCH_SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        made = provision(root / "parties", linker_names=["127.0.0.1"], validity=Validity.lasting(timedelta(hours=2)))
        carole = Deployment(made, root / "carole", ("log_level: info", "log_level: warning"))
        carole.start().computation.sessions.absence = Absence(seconds=120.0)
        try:
            print("    bytes ms/round rounds/s MB/s each")
            for size in SIZES:
                _measure(carole, root / "parties", size, given.seconds)
        finally:
            carole.stop()
    return 0


def _measure(carole: Deployment, root: Path, size: int, seconds: float) -> None:
    session = announced(carole)
    parties = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "benchmarks", "relay", "--size", str(size), "--seconds", str(seconds)),
                *("--party", str(root), name, carole.address, session.number.hex()),
            ]
        )
        for name in NAMES
    ]
    if sum(abs(party.wait()) for party in parties):
        raise SystemExit("a party has failed")
