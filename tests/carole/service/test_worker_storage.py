"""Carole's database or a disk fails while her worker has a run: the run costs no attempt by it, and ends afterwards."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gemel.carole.projects.project import RunState, State
from gemel.carole.service import supervisor
from gemel.carole.service.supervisor import Supervisor
from gemel.common.parties import Side
from gemel.common.pki.provisioning import Provisioned
from tests.carole.deployment import Deployment
from tests.carole.service.test_failing_storage import Disk, disk
from tests.carole.service.test_readiness import get
from tests.carole.service.test_worker import COMMON, contribute, eventually, opened
from tests.carole.store.conftest import Postgres

__all__ = ["disk"]


STOPS = """\
# The worker, which stands still when it has begun a run, the first time.
import os, signal, sys
from pathlib import Path
from gemel.carole.service import resolving, worker
real = resolving.carry_out
def carry_out(work):
    marker = Path(sys.argv[0]).with_name("stopped")
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGSTOP)
    return real(work)
resolving.carry_out = carry_out
sys.exit(worker.main(sys.argv[1:]))
"""


def stands_still(pid: int) -> bool:
    """Whether a process is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@contextmanager
def renamed(file: Path) -> Iterator[None]:
    """SQLite's file is away meanwhile."""
    elsewhere = file.with_name("elsewhere.db")
    file.rename(elsewhere)
    try:
        yield
    finally:
        elsewhere.rename(file)


@contextmanager
def stopped(server: Postgres) -> Iterator[None]:
    """PostgreSQL is down meanwhile."""
    server.stop()
    try:
        yield
    finally:
        server.start()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def failing(
    request: pytest.FixtureRequest, parties: Provisioned, tmp_path: Path
) -> Iterator[tuple[Deployment, Callable[[], object]]]:
    """Carole, and what makes her database fail for a block."""
    with tempfile.TemporaryDirectory(prefix="gemel-pg-", ignore_cleanup_errors=True) as folder:
        if request.param == "sqlite":
            made = Deployment(parties, tmp_path / "carole")
            yield made, lambda: renamed(tmp_path / "carole" / "store" / "carole.db")
            made.stop()
        else:
            server = Postgres(Path(folder))
            made = Deployment(parties, tmp_path / "carole", ("sqlite:///store/carole.db", server.database()))
            yield made, lambda: stopped(server)
            made.stop()
            server.stop()


def test_a_database_that_fails_during_a_run_costs_it_no_attempt(failing: tuple[Deployment, Callable]) -> None:
    carole, fails = failing
    program, marker = carole.root / "stops.py", carole.root / "stopped"
    program.write_text(STOPS)
    application = carole.start(lambda store, path: Supervisor(store, path, (sys.executable, str(program))))
    contribute(carole)
    run = carole.coordinator().start("trial").run
    process = application._supervisors[0]._process
    eventually(lambda: marker.exists() and stands_still(process.pid), 600)
    with fails():
        os.kill(process.pid, signal.SIGCONT)
        assert process.wait(600) == supervisor.STORAGE_FAILED
    eventually(lambda: carole.store.runs.get("trial", run).state is RunState.DONE, 600)
    assert carole.store.runs.get("trial", run).attempt == 1
    causes = [e.details["cause"] for e in carole.store.audit.entries("trial") if e.action == "requeue-run"]
    assert causes == ["storage failed"]
    assert carole.store.projects.get("trial").state is State.RELEASED


def test_a_run_waits_for_room_on_the_disk_and_ends_with_its_links(
    parties: Provisioned, tmp_path: Path, disk: Callable[[str], Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "FIRST_PAUSE_SECONDS", 0.01)
    small = disk("16m")
    changes = ("blobs: store/blobs", f"blobs: {small.folder}/blobs"), ('listen: ""', 'listen: "127.0.0.1:0"')
    carole = Deployment(parties, tmp_path / "carole", *changes)
    try:
        application = carole.start(Supervisor)
        contribute(carole)
        small.fill()
        status, found = get(application.observability, "/readyz")
        assert (status, found["checks"]["blobs"]) == (503, "failed")
        run = carole.coordinator().start("trial").run
        queued = lambda: [e for e in carole.store.audit.entries("trial") if e.action == "requeue-run"]  # noqa: E731
        eventually(lambda: len(queued()) > 0, 600)
        assert {entry.details["cause"] for entry in queued()} == {"storage failed"}
        small.empty()
        eventually(lambda: carole.store.runs.get("trial", run).state is RunState.DONE, 600)
        assert carole.store.runs.get("trial", run).attempt == 1
        links = [opened(carole, side, run)["links.parquet"] for side in Side]
        assert carole.store.runs.get("trial", run).links == COMMON
        assert all(links)
        eventually(lambda: get(application.observability, "/readyz")[0] == 200)
    finally:
        carole.stop()
