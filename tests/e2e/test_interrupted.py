"""Ctrl-C and SIGTERM in long commands, as real processes at a terminal: what each was about is undone.

A command is started in a session of its own, with a folder of its own for temporary files, and is signalled when it is
at work: when it has printed what it does, written its ready file, begun its output or started its services; where none
of these shows, when it has computed for longer than a start takes. Ctrl-C goes to all of the session, SIGTERM to the
command alone. `rehearse` is in tests/coordinator/rehearsal/test_ended.py, too.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.e2e.deployment import STATE, Deployment, people, specification
from tryst.carole.cluster.certificates import make_certificates
from tryst.carole.configuration import load_carole
from tryst.common.ended_in_order import WORDS
from tryst.common.parties import Side

REPOSITORY = Path(__file__).resolve().parents[2]
SECONDS = 120.0
"""How long anything may take before a test gives up; many times what it takes."""

COMPUTING = 4.0
"""Processor seconds after which a command that prints nothing is at work; it needs many times as many to its end."""

PROJECT = "stopped"
TEXT = specification(PROJECT)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


class Command:
    """A command at a terminal."""

    def __init__(self, arguments: str, folder: Path) -> None:
        self.folder, self._own = folder, folder.parent / f"{folder.name}-temporary"
        self._own.mkdir()
        self._before = names(folder)
        self._printed: list[bytes] = []
        ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tryst", *arguments.split()],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TMPDIR": str(self._own), "PYTHONPATH": str(REPOSITORY), "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, args=(ours,), daemon=True)
        self._reader.start()

    def _read(self, terminal: int) -> None:
        with suppress(OSError):  # the other end is closed with the last process that has it
            while chunk := os.read(terminal, 4096):
                self._printed.append(chunk)
        os.close(terminal)

    @property
    def printed(self) -> str:
        return b"".join(self._printed).decode()

    @property
    def processor_seconds(self) -> float:
        columns = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(columns[11]) + int(columns[12])) / os.sysconf("SC_CLK_TCK")

    def processes(self) -> list[int]:
        """All that have its folder in their environment, which a child inherits; a zombie has none."""
        found = []
        for environment in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if f"TMPDIR={self._own}".encode() in environment.read_bytes().split(b"\0"):
                    found.append(int(environment.parent.name))
        return found

    def wait_until(self, at_work: Callable[[Command], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not at_work(self):
            assert self._process.poll() is None, f"it ended before the signal: {self.printed}"
            assert time.monotonic() < deadline, f"it is not at work: {self.printed}"
            time.sleep(0.05)
        assert self._process.poll() is None, f"it ended before the signal: {self.printed}"

    def end(self, number: signal.Signals) -> int:
        """Signal it; its status once it has ended."""
        if number is signal.SIGINT:
            os.killpg(self._process.pid, number)
        else:
            self._process.send_signal(number)
        status = self._process.wait(SECONDS)
        self._reader.join(SECONDS)
        return status

    def clean_up(self) -> None:
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def left(self) -> tuple[list[int], list[str], set[str]]:
        """What goes on, what is left in its temporary folder, and what is new where it was started."""
        return self.processes(), sorted(names(self._own)), names(self.folder) - self._before


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files on which commands work for long."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(1)
    n = 20_000
    keys = {f"k{number}": rng.integers(0, 12, n) for number in range(10)}
    pl.DataFrame(keys).write_csv(folder / "records.csv")
    sums = {f"k{number}": rng.integers(0, 14, 6_000) for number in range(3)}
    values = {"value": rng.lognormal(3, 2, 6_000).round(2), "unit": rng.integers(0, 3_000, 6_000)}
    pl.DataFrame(sums | values).write_csv(folder / "sums.csv")
    names = {name: [f"{name}{level}" for level in range(12)] for name in ("a", "b", "c")}
    whole = rng.poisson(0.5, (12, 12, 12))
    release = {
        "name": "margins",
        "variables": [{"name": name, "levels": levels} for name, levels in names.items()],
        "tables": [
            {"name": "".join(pair), "variables": list(pair), "counts": whole.sum(axis=axis).tolist()}
            for pair, axis in ((("a", "b"), 2), (("b", "c"), 0), (("a", "c"), 1))
        ],
    }
    (folder / "release.json").write_text(json.dumps(release))
    for side, frame in people(10_000, 5_000).items():
        frame.write_csv(folder / f"{side}.csv")
    (folder / "linkage.yaml").write_text(TEXT)
    return folder


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], Command]]:
    """Starts a command in an empty folder; ``start(arguments)``."""
    started: list[Command] = []

    def begin(arguments: str) -> Command:
        folder = tmp_path / "at"
        folder.mkdir()
        started.append(Command(arguments, folder))
        return started[-1]

    yield begin
    for command in started:
        command.clean_up()


def prints(words: str) -> Callable[[Command], bool]:
    return lambda command: words in command.printed


def computes(command: Command) -> bool:
    return command.processor_seconds > COMPUTING


def serves(command: Command) -> bool:
    """Carole, her worker and a custodian are there."""
    return len(command.processes()) >= 5


INT, TERM = signal.SIGINT, signal.SIGTERM
KEYS = ",".join(f"k{number}" for number in range(10))
COMPUTATIONS = [
    (f"risk identify {{0}}/records.csv --keys {KEYS} --fraction .1 --json o.json", prints("special uniques"), TERM),
    ("risk protect {0}/records.csv --keys k0,k1,k2,k3,k4,k5 --fraction .1 --k 5 --out o.csv", prints("..."), INT),
    ("risk magnitude {0}/sums.csv --by k0,k1,k2 --value value --unit unit --method exact --json -", computes, TERM),
    ("risk tables {0}/release.json --seconds 600 --out o.html", prints("..."), INT),
    (f"risk models {{0}}/records.csv --variables {KEYS} --moves 100000000 --json o.json", computes, TERM),
    ("intrude {0}/records.csv {0}/records.csv --json o.json", computes, INT),
    ("duplicates {0}/alice.csv --spec {0}/linkage.yaml --out o", prints("tables"), TERM),
    ("spec draft --alice {0}/alice.csv --bob {0}/bob.csv --block --out o.yaml", computes, INT),
    ("alice leakage {0}/linkage.yaml --records {0}/alice.csv --json o.json", computes, TERM),
]


@pytest.mark.parametrize(
    ("arguments", "at_work", "number"), COMPUTATIONS, ids=[" ".join(each[0].split()[:2]) for each in COMPUTATIONS]
)
def test_a_computation_leaves_nothing(
    start: Callable[[str], Command],
    files: Path,
    arguments: str,
    at_work: Callable[[Command], bool],
    number: signal.Signals,
) -> None:
    command = start(arguments.format(files))
    command.wait_until(at_work)
    assert_ended(command, number)
    assert command.left() == ([], [], set())


def assert_ended(command: Command, number: signal.Signals) -> None:
    """With the status of the signal, in words, and without a traceback."""
    assert command.end(number) == 128 + number, command.printed
    assert WORDS[128 + number] in command.printed
    assert "Traceback" not in command.printed
    assert "Exception" not in command.printed


@pytest.mark.slow
@pytest.mark.parametrize("number", [INT, TERM], ids=["int", "term"])
def test_a_demonstration_ends_its_services(start: Callable[[str], Command], number: signal.Signals) -> None:
    command = start("demo --people 200")
    command.wait_until(serves)
    assert_ended(command, number)
    processes, temporary, new = command.left()
    assert (processes, temporary, new) == ([], [], {"demo"})
    assert names(command.folder / "demo") == {"alice.csv", "bob.csv", "linkage.yaml"}


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Carole in this process, without a worker: a run that waits in her queue."""
    made = Deployment(tmp_path_factory.mktemp("stopped") / "d", [TEXT])
    try:
        made.start_carole()
        for side in Side:
            made.start(side)
        made.wait_for(made.create(TEXT), STATE.PROJECT_STATE_CONTRIBUTED)
        made.coordinator.start(PROJECT)
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("number", [INT, TERM], ids=["int", "term"])
def test_who_watches_a_run_leaves_it_to_itself(
    start: Callable[[str], Command], deployment: Deployment, number: signal.Signals
) -> None:
    command = start(f"project watch {PROJECT} --config {deployment.coordinator_yaml}")
    command.wait_until(prints("waits in Carole's queue"))
    assert_ended(command, number)
    assert command.left() == ([], [], set())
    assert deployment.status(PROJECT).run.run


@pytest.mark.parametrize("number", [INT, TERM], ids=["int", "term"])
def test_a_console_that_is_stopped_does_not_listen(
    start: Callable[[str], Command], deployment: Deployment, number: signal.Signals
) -> None:
    pytest.importorskip("uvicorn", reason="tryst[console] is not installed")
    command = start(f"console --config {deployment.coordinator_yaml}")
    command.wait_until(prints("/enter?token="))
    assert_ended(command, number)
    assert command.left() == ([], [], set())


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A store and configurations; nothing runs."""
    made = Deployment(tmp_path_factory.mktemp("idle") / "d", [TEXT])
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize(("party", "number"), [("carole", INT), ("carole", TERM), ("alice", INT), ("alice", TERM)])
def test_a_service_ends_in_order(
    start: Callable[[str], Command], idle: Deployment, party: str, number: signal.Signals
) -> None:
    config = idle.carole_yaml if party == "carole" else idle.configs[Side(party)]
    command = start(f"{party} serve --config {config} --ready-file ready.json")
    command.wait_until(lambda command: (command.folder / "ready.json").exists())
    assert command.end(number) == 0, command.printed
    assert "Traceback" not in command.printed
    assert command.left() == ([], [], {"ready.json"})


def test_a_scheduler_ends_in_order(start: Callable[[str], Command], tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="tryst[cluster] is not installed")
    keys = tmp_path / "keys"
    make_certificates(keys, ("scheduler",))
    own = keys / "scheduler"
    settings = f"listen: 127.0.0.1:0\nca: {own}/ca.pem\ncertificate: {own}/certificate.pem\nkey: {own}/key.pem\n"
    config = tmp_path / "scheduler.yaml"
    config.write_text(f"version: 1\n{settings}")
    command = start(f"carole scheduler --config {config} --ready-file ready.json")
    command.wait_until(lambda command: (command.folder / "ready.json").exists())
    assert command.end(TERM) == 0, command.printed
    assert "Traceback" not in command.printed
    assert command.left() == ([], [], {"ready.json"})


@pytest.mark.parametrize("number", [INT, TERM], ids=["int", "term"])
def test_a_backup_that_is_stopped_is_not_there(
    start: Callable[[str], Command], deployment: Deployment, number: signal.Signals
) -> None:
    """One of the store's files is a pipe in which nothing comes: the backup stands still in its middle."""
    blobs = load_carole(deployment.carole_yaml).store.place
    assert isinstance(blobs, Path)
    file = next(path for path in sorted(blobs.glob("*/*")) if path.is_file())
    kept = file.read_bytes()
    file.unlink()
    os.mkfifo(file)
    try:
        command = start(f"carole backup saved --config {deployment.carole_yaml}")
        command.wait_until(lambda command: (command.folder / "saved" / "blobs").is_dir())
        assert_ended(command, number)
        assert command.left() == ([], [], set())
    finally:
        file.unlink()
        file.write_bytes(kept)
