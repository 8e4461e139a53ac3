"""Figures and checks of the store: what they count, that they change nothing, and what they find."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select, text

from gemel.carole.projects.project import RunState, State
from gemel.carole.store import Store
from gemel.carole.store.clock_guard import DAY_MS
from gemel.carole.store.monitoring import Figures, LastRun
from gemel.carole.store.provision import initialise
from gemel.carole.store.tables import run_figures
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity
from gemel.common.keys.vault import Vault
from gemel.common.parties import Role, Side
from tests.carole.refusals import refusal
from tests.carole.store.conftest import Clock
from tests.carole.trial import PROJECT, Contribution, contributed, keyed, take, taken


def test_an_empty_store(store: Store) -> None:
    nothing = Figures(
        dict.fromkeys(State, 0), dict.fromkeys(RunState, 0), (), 0, 0, 0, 0, store.audit.continued(0)[0].size, {}, 0
    )
    assert store.monitoring.figures() == nothing


def test_a_project_on_its_way(store: Store, clock: Clock, contributions: dict[Side, Contribution]) -> None:
    monitoring = store.monitoring
    keyed(store)
    assert monitoring.figures().projects[State.KEYED] == 1
    alice = contributions[Side.ALICE]
    store.uploads.begin(PROJECT, Side.ALICE, "alice", "a" * 32, alice.layout)
    alice.put(store, Side.ALICE, "a" * 32, 0, 1)
    found = monitoring.figures()
    assert (found.open_uploads, found.open_bytes) == (1, len(alice.chunks[0]) + len(alice.chunks[1]))
    assert (found.payloads, found.stored_bytes) == (1, found.open_bytes)


def test_runs_their_queue_and_their_lease(store: Store, clock: Clock, small: dict[Side, Contribution]) -> None:
    monitoring = store.monitoring
    contributed(store, small)
    before = monitoring.figures()
    assert (before.open_uploads, before.payloads) == (0, 2)
    assert before.stored_bytes == sum(len(each.payload) for each in small.values())
    store.runs.start(PROJECT, "coordinator", "request", "e" * 32)
    clock.now += 7_000
    found = monitoring.figures()
    assert found.runs[RunState.QUEUED] == 1
    (run,) = found.active
    assert (run.project, run.state, run.queued_seconds, run.lease_seconds) == (PROJECT, RunState.QUEUED, 7.0, None)
    lease = take(store)
    assert store.runs.renew_lease(lease, "compare", 0.25)
    clock.now += 3_000
    (run,) = monitoring.figures().active
    assert (run.state, run.stage, run.fraction, run.lease_seconds) == (RunState.RUNNING, "compare", 0.25, 3.0)
    store.runs.fail(lease, "it failed")
    found = monitoring.figures()
    assert (found.active, found.runs[RunState.FAILED], found.runs[RunState.RUNNING]) == ((), 1, 0)
    assert found.audit_entries > before.audit_entries


def test_figures_of_the_last_run_are_summed_over_its_halves(store: Store, small: dict[Side, Contribution]) -> None:
    contributed(store, small)
    lease = taken(store, "e" * 32)
    store.runs.note_figures(PROJECT, lease.run, {"read": 1.0, "compare": 2.5}, {"candidate_pairs": 7.0})
    assert store.monitoring.figures().last_run == LastRun({}, {}), "it has not ended"
    store.runs.finish(lease, 3, {})
    store.runs.note_figures(PROJECT, lease.run, {"read": 0.5, "seal": 4.0}, {"granted_bytes": 9.0})
    expected = LastRun({"read": 1.5, "compare": 2.5, "seal": 4.0}, {"candidate_pairs": 7.0, "granted_bytes": 9.0})
    assert store.monitoring.figures().last_run == expected
    store.projects.erase(PROJECT, Role.COORDINATOR, "coordinator")
    assert store.monitoring.figures().last_run == LastRun({}, {}), "nothing of it outlives the project"
    store.runs.note_figures(PROJECT, lease.run, {"seal": 1.0}, {})
    with store._database.read() as connection:
        assert connection.execute(select(run_figures)).all() == []


def test_what_is_due_is_what_retention_then_erases(store: Store, clock: Clock, small: dict[Side, Contribution]) -> None:
    contributed(store, small)
    assert store.monitoring.figures().due == 0
    clock.now += 7 * DAY_MS
    assert store.monitoring.figures().due == 2
    assert store.retention.enforce() == 2
    found = store.monitoring.figures()
    assert (found.due, found.payloads, found.stored_bytes) == (0, 0, 0)


def test_the_checks_pass_and_leave_no_trace(
    store: Store, url: str, tmp_path: Path, small: dict[Side, Contribution]
) -> None:
    contributed(store, small)
    before = store.monitoring.figures(), sorted(tmp_path.rglob("*"))
    for _ in range(3):
        store.monitoring.check_database()
        store.monitoring.check_blobs()
    assert (store.monitoring.figures(), sorted(tmp_path.rglob("*"))) == before
    if not url.startswith("sqlite"):
        # Not even a dead row.
        engine = create_engine(url)
        with engine.connect() as connection:
            found = connection.scalar(text("SELECT max(xmax::text) FROM meta"))
        engine.dispose()
        assert found == "0"


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_standby_is_not_ready(store: Store, url: str) -> None:
    """What a failover does: connections end, and the next ones are to a database that can only be read."""
    store.monitoring.check_database()
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        name = connection.scalar(text("SELECT current_database()"))
        connection.execute(text(f"ALTER DATABASE {name} SET default_transaction_read_only = on"))
        ended = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name AND pid <> pg_backend_pid()"
        )
        connection.execute(text(ended), {"name": name})
    engine.dispose()
    with refusal(ErrorCode.DATABASE, "the primary, not a standby"):
        store.monitoring.check_database()
    store.monitoring.figures()  # it can still be read


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    options = ["-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if mount is None or unmount is None or subprocess.run([mount, *options], capture_output=True).returncode != 0:
        pytest.skip("a disk of its own can be mounted by root only")
    yield folder
    # Also while a failed test still has files open there.
    subprocess.run([unmount, "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("what", ["database", "blobs"])
def test_a_full_disk_is_not_ready(
    what: str, small_disk: Path, tmp_path: Path, vault: Vault, identity: Identity, clock: Clock
) -> None:
    there = {"database": tmp_path, "blobs": tmp_path} | {what: small_disk}
    places = f"sqlite:///{there['database']}/carole.db", there["blobs"] / "blobs"
    initialise(*places, identity, clock)
    store = Store(*places, vault, identity, clock)
    store.recover()
    checks = {"database": store.monitoring.check_database, "blobs": store.monitoring.check_blobs}
    for check in checks.values():
        check()
    with contextlib.suppress(OSError), (small_disk / "filling").open("wb") as file:
        while True:
            file.write(bytes(4096))
            file.flush()
    with pytest.raises(GemelError, match="cannot be written to, got No space left on device"):
        checks.pop(what)()
    (other,) = checks.values()
    other()
    (small_disk / "filling").unlink()
    {"database": store.monitoring.check_database, "blobs": store.monitoring.check_blobs}[what]()
    store.close()


def test_a_store_that_another_carole_has_taken_over_is_not_ready(store: Store, url: str) -> None:
    store.monitoring.check_tenure()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE tenure SET holder = 'another'"))
    engine.dispose()
    for check in (store.monitoring.check_tenure, store.monitoring.check_database):
        with refusal(ErrorCode.BUSY, "does not hold the store"):
            check()


def test_a_folder_of_blobs_that_is_gone_is_not_ready(store: Store, tmp_path: Path) -> None:
    store.monitoring.check_blobs()
    (tmp_path / "blobs").rename(tmp_path / "unmounted")
    with refusal(ErrorCode.DATABASE, "folder of blobs cannot be written to"):
        store.monitoring.check_blobs()
    (tmp_path / "unmounted").rename(tmp_path / "blobs")
    store.monitoring.check_blobs()
