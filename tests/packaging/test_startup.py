"""What a command does not need is not imported before it runs: seen in `sys.modules`, not by a clock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gemel.command import SUBCOMMANDS
from gemel.common.versions import CLEANING_EDITION, CUSTODIAN_STATE, PROTOCOL, STORE, WIRE

HEAVY = (
    *("numpy", "polars", "scipy", "numba", "networkx", "rapidfuzz", "altair"),
    *("grpc", "google.protobuf", "sqlalchemy", "cryptography", "yaml"),
)
"""Not pydantic: new versions of typer read options with it."""
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import atexit, json, sys
atexit.register(lambda: print("MODULES", json.dumps(sorted(sys.modules))))
sys.argv[0] = "gemel"
from gemel.command import main
main()
"""


EACH = """
for name in sys.argv[1:]:
    sys.argv[1:] = [name, "--help"]
    try:
        main()
    except SystemExit as ended:
        assert ended.code == 0, name
"""
SERVICES = {
    "carole.service.application": (
        *("polars", "scipy", "numba", "networkx", "alembic", "gemel.carole.engine", "gemel.risk"),
    ),
    "carole.service.worker": (
        *("scipy", "numba", "networkx", "alembic", "altair", "gemel.carole.assessment", "gemel.risk"),
    ),
    "custodian.service": ("scipy.stats", "networkx", "alembic", "altair"),
}
"""What a service does not need to start and to answer."""


def run(*arguments: str, program: str = PROGRAM, **environment: str) -> tuple[int, str, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        check=False,
    )
    shown, _, modules = done.stdout.rpartition("MODULES ")
    return done.returncode, shown + done.stderr, set(json.loads(modules))


LIGHT = {
    "": 2,
    "--help": 0,
    "nonsense": 2,
    "alise status": 2,
    "--nonsense": 2,
    "alice nonsense": 2,
    "spec check": 2,
    "intrude known.csv": 2,
    "demo --people 3": 2,
    "risk tables release.json --draws many": 2,
    "party enrol folder --name alice --role unknown": 2,
}


@pytest.mark.parametrize("typed", LIGHT)
def test_help_and_usage_errors_import_nothing_heavy(typed: str) -> None:
    status, shown, modules = run(*typed.split())
    assert status == LIGHT[typed], shown
    assert "Usage:" in shown
    assert not modules & set(HEAVY)


def test_no_subcommands_help_imports_anything_heavy() -> None:
    """One process shows the help of all, one after the other: what any of them imported would be there."""
    status, shown, modules = run(*SUBCOMMANDS, program=PROGRAM.replace("main()\n", EACH))
    assert status == 0, shown
    assert shown.count("Usage:") == len(SUBCOMMANDS)
    assert not modules & set(HEAVY)


def test_the_roots_help_imports_no_subcommand() -> None:
    _, shown, modules = run("--help")
    assert not modules & {entry.module for entry in SUBCOMMANDS.values()}
    assert all(name in shown for name in SUBCOMMANDS)


def test_version_shows_what_two_installations_must_have_alike() -> None:
    code, shown, modules = run("--version")
    assert code == 0
    lines = dict(line.rsplit(maxsplit=1) for line in shown.splitlines())
    assert lines.pop("gemel")
    assert lines == {
        "wire": WIRE,
        "protocol": str(PROTOCOL),
        "encoding edition": str(CLEANING_EDITION),
        "custodian's state": str(CUSTODIAN_STATE),
        "Carole's store": str(STORE),
    }
    assert not modules & {*HEAVY, "rich"}


def test_the_wires_version_is_the_package_of_its_messages() -> None:
    from gemel.protos.linkage.v1 import custody_pb2

    assert custody_pb2.DESCRIPTOR.package == WIRE


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("gemel r", {"rehearse", "risk"}),
        ("gemel alice sta", {"status"}),
        ("gemel keyvars add f", {"form"}),
        ("gemel risk identify --miss", {"--missing", "--missing-values"}),
    ],
)
def test_completion_in_bash(typed: str, expected: set[str]) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    code, shown, modules = run(_GEMEL_COMPLETE="complete_bash", **words)
    assert code == 0
    assert set(shown.split()) == expected
    assert not modules & {*HEAVY, "rich"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_that_a_shell_reads(shell: str) -> None:
    code, shown, modules = run(_GEMEL_COMPLETE=f"source_{shell}")
    assert code == 0
    assert "_GEMEL_COMPLETE" in shown
    assert not modules & set(HEAVY)


def test_an_operators_question_loads_no_numbers(tmp_path: Path) -> None:
    """`gemel alice status` speaks to the service: it needs the wire and the configuration, no tables and no kernels."""
    assert run("init", str(tmp_path / "parties"), "--address", "127.0.0.1:1")[0] == 0
    code, shown, modules = run("alice", "status", "--config", str(tmp_path / "parties/alice/alice.yaml"))
    assert code == 1
    assert "Alice's service is not running" in shown
    assert not modules & {"numpy", "polars", "scipy", "numba", "sqlalchemy", "altair", "networkx", "rapidfuzz"}


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_starts_without_what_only_its_work_needs(service: str) -> None:
    """Carole's numbers are her worker's: they would double the time and the memory with which she starts."""
    program = f"import json, sys, gemel.{service}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert not set(json.loads(done.stdout)) & set(SERVICES[service])
