"""The worker, a real process: correct links, runs that survive its death, failures that state their cause and no
more."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sqlalchemy import func, select

from gemel.carole.projects.operations.linking import MAX_ATTEMPTS
from gemel.carole.projects.project import RunState, State
from gemel.carole.service import supervisor
from gemel.carole.service.supervisor import Supervisor
from gemel.carole.store.tables import payloads
from gemel.common.parties import Side
from gemel.protos.linkage.v1 import project_pb2
from tests.carole.deployment import Deployment, eventually, files_of, get, make_upload, people
from tests.carole.service.small_disk import disk
from tests.carole.store.conftest import Postgres
from tests.carole.trial import take

__all__ = ["disk"]

N, COMMON = 400, 250


@pytest.fixture
def carole(parties, tmp_path):
    """Carole with a worker."""
    made = Deployment(parties, tmp_path / "carole")
    yield made
    made.stop()


def contribute(deployment):
    """Both contributions; the order each side's rows were shuffled into."""
    deployment.records = N
    deployment.keyed()
    orders = {}
    for side, frame in ((Side.ALICE, people(N)), (Side.BOB, people(N, offset=N - COMMON))):
        upload, orders[side] = make_upload(side, frame, side[0] * 32)
        deployment.custodian(side).contribute(upload)
    return orders


def opened(deployment, side, run):
    """What the custodian finds in its share."""
    return files_of(deployment.parties, str(side), deployment.custodian(side).fetch(run)[0], run)


def test_a_run_from_start_to_sealed_shares(carole):
    carole.start(Supervisor)
    orders = contribute(carole)
    coordinator = carole.coordinator()
    run = coordinator.start("trial").run
    *_, last = coordinator.watch("trial", run)
    assert last.state == project_pb2.RUN_STATE_DONE, last.error
    shares = {side: opened(carole, side, run) for side in Side}
    assert set(shares[Side.ALICE]) == {"links.parquet", "statistics.json"}
    assert set(shares[Side.BOB]) == {"links.parquet", "pairs.parquet", "statistics.json"}
    links = {side: pl.read_parquet(share["links.parquet"]) for side, share in shares.items()}
    joined = links[Side.ALICE].join(links[Side.BOB], on="link_id", suffix="_bob", validate="1:1")
    assert joined.height == links[Side.ALICE].height == links[Side.BOB].height == last.links
    # Person numbers from rows: Alice's people begin at 0, Bob's at N - COMMON.
    alices = orders[Side.ALICE][joined["row"].to_numpy()]
    bobs = orders[Side.BOB][joined["row_bob"].to_numpy()] + N - COMMON
    assert np.array_equal(alices, bobs)
    assert len(alices) == COMMON
    pairs = pl.read_parquet(shares[Side.BOB]["pairs.parquet"])
    assert pairs["linked"].sum() == COMMON
    assert pairs.height >= COMMON
    assert set(pairs.filter("linked")["pair_id"]) == set(links[Side.BOB]["link_id"])
    for table in (*links.values(), pairs):
        assert table["row"].is_sorted(), "the order of rows must not disclose the other side's"
    document = coordinator.statistics("trial", run)
    assert json.loads(shares[Side.ALICE]["statistics.json"]) == document.plain()
    assert document.linkage.links == COMMON
    assert document.linkage.blocking.rules[0].name == "born"
    status, _ = coordinator.get("trial")
    assert status.state == project_pb2.PROJECT_STATE_RELEASED


def test_a_run_whose_worker_is_killed_is_taken_up_again(carole):
    application = carole.start(Supervisor)
    contribute(carole)
    former = application.worker_pid
    assert former is not None
    with carole.store.runs._database.write():  # the worker is in no write of its own, which would lock the database
        os.kill(former, signal.SIGSTOP)  # so that it is surely killed before it ends the run
    run = carole.coordinator().start("trial").run
    lease_owner = application._supervisors[0]._owner
    take(carole.store, lease_owner)
    os.kill(former, signal.SIGKILL)
    eventually(lambda: carole.store.runs.get("trial", run).state is RunState.DONE)
    assert application.worker_pid != former
    assert carole.store.runs.get("trial", run).attempt == 2
    assert carole.store.projects.get("trial").state is State.RELEASED


def test_a_worker_that_dies_at_every_attempt_does_so_three_times(carole):
    carole.start()
    contribute(carole)
    run = carole.store.runs.start("trial", "coordinator", "r", "e" * 32).run
    carole.stop()
    # A worker that takes the run and dies of it.
    carole.start_worker(
        "import os, sys\n"
        "from pathlib import Path\n"
        "from gemel.carole.configuration import load_carole\n"
        "from gemel.carole.service.health import OwnAddress, OwnService\n"
        "from gemel.carole.service.worker import Worker\n"
        "configuration = load_carole(Path(sys.argv[2]))\n"
        "worker = Worker(configuration, sys.argv[4], sys.argv[6], OwnService(configuration, OwnAddress()))\n"
        "if worker._store.runs.take(worker._owner):\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    eventually(lambda: carole.store.runs.get("trial", run).state is RunState.FAILED)
    found = carole.store.runs.get("trial", run)
    assert found.attempt == MAX_ATTEMPTS
    assert "died" in found.error
    assert carole.store.projects.get("trial").state is State.CONTRIBUTED


def test_a_failed_run_states_its_cause(carole):
    carole.configuration.write_text(carole.configuration.read_text().replace("memory: 3GiB", "memory: 64KiB"))
    carole.start(Supervisor)
    contribute(carole)
    coordinator = carole.coordinator()
    *_, last = coordinator.watch("trial", coordinator.start("trial").run)
    assert last.state == project_pb2.RUN_STATE_FAILED
    assert "memory" in last.error
    assert last.attempt == 1
    assert coordinator.get("trial")[0].state == project_pb2.PROJECT_STATE_CONTRIBUTED
    carole.stop()
    carole.configuration.write_text(carole.configuration.read_text().replace("memory: 64KiB", "memory: 1GiB"))
    carole.start(Supervisor)
    coordinator = carole.coordinator()
    *_, last = coordinator.watch("trial", coordinator.start("trial").run)
    assert last.state == project_pb2.RUN_STATE_DONE, last.error


def test_the_worker_ends_with_its_carole(carole):
    application = carole.start(Supervisor)
    pid = application.worker_pid
    assert pid is not None
    process = application._supervisors[0]._process
    process.stdin.close()  # as it is when Carole is killed
    eventually(lambda: process.poll() is not None)


@pytest.mark.long
def test_a_worker_killed_while_it_seals_leaves_no_key_and_no_file(carole):
    """Three times, by its supervisor started again; then the project is erased."""
    carole.start_worker(
        "import os, sys\n"
        "from gemel.carole.service import worker\n"
        "from gemel.carole.store.payloads.encrypted_payloads import EncryptedPayloads\n"
        "real = EncryptedPayloads.store\n"
        "def dies(*arguments):\n"
        "    real(*arguments)\n"
        "    os.kill(os.getpid(), 9)\n"
        "EncryptedPayloads.store = dies\n"
        "worker.main(sys.argv[1:])\n"
    )
    contribute(carole)
    run = carole.coordinator().start("trial").run
    eventually(lambda: carole.store.runs.get("trial", run).state is RunState.FAILED, 240)

    def keys():
        with carole.store.runs._database.read() as connection:
            found = select(func.count()).select_from(payloads).where(payloads.c.wrapped_key.is_not(None))
            return int(connection.execute(found).scalar_one())

    blobs = carole.root / "store" / "blobs"
    eventually(lambda: keys() == 2 and len([path for path in blobs.iterdir() if path.is_dir()]) == 2)
    destroyed = [entry for entry in carole.store.audit.entries("trial") if entry.action == "destroy-keys"]
    assert len(destroyed) == MAX_ATTEMPTS
    carole.coordinator().erase("trial")
    assert keys() == 0
    assert not [path for path in blobs.iterdir() if path.is_dir()]


# Carole's database or a disk fails while her worker has a run: the run costs no attempt by it, and ends afterwards.

STOPS = """\
# The worker, which stands still when it has begun a run, the first time.
import os, signal, sys
from pathlib import Path
from gemel.carole.service import linking, worker
real = linking.carry_out
def carry_out(work):
    marker = Path(sys.argv[0]).with_name("stopped")
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGSTOP)
    return real(work)
linking.carry_out = carry_out
sys.exit(worker.main(sys.argv[1:]))
"""


def stands_still(pid):
    """Whether a process is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@contextmanager
def renamed(file):
    """SQLite's file is away meanwhile."""
    elsewhere = file.with_name("elsewhere.db")
    file.rename(elsewhere)
    try:
        yield
    finally:
        elsewhere.rename(file)


@contextmanager
def stopped(server):
    """PostgreSQL is down meanwhile."""
    server.stop()
    try:
        yield
    finally:
        server.start()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def failing(request, parties, tmp_path):
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


def test_a_database_that_fails_during_a_run_costs_it_no_attempt(failing):
    carole, fails = failing
    marker = carole.root / "stopped"
    application = carole.start_worker(STOPS)
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


def waits_until(carole, application, mend):
    """A run that its worker leaves because the storage fails, and that ends with its links once that is mended."""
    run = carole.coordinator().start("trial").run
    queued = lambda: [e for e in carole.store.audit.entries("trial") if e.action == "requeue-run"]  # noqa: E731
    eventually(lambda: len(queued()) > 0, 600)
    assert {entry.details["cause"] for entry in queued()} == {"storage failed"}
    mend()
    eventually(lambda: carole.store.runs.get("trial", run).state is RunState.DONE, 600)
    found = carole.store.runs.get("trial", run)
    assert (found.attempt, found.links) == (1, COMMON)
    assert all(opened(carole, side, run)["links.parquet"] for side in Side)
    eventually(lambda: get(application.observability, "/readyz")[0] == 200)


def test_a_run_waits_for_room_on_the_disk_and_ends_with_its_links(parties, tmp_path, disk, monkeypatch):
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
        waits_until(carole, application, small.empty)
    finally:
        carole.stop()
