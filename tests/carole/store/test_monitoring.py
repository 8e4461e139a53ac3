"""Figures and checks of the store: what they count, that they change nothing, and what they find."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import create_engine, select, text

from gemel.carole.projects.project import RunState, State
from gemel.carole.store.clock_guard import DAY_MS
from gemel.carole.store.monitoring import Figures, LastRun
from gemel.carole.store.provision import initialise
from gemel.carole.store.tables import run_figures
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from tests.carole.refusals import refusal
from tests.carole.service.small_disk import disk
from tests.carole.store.test_migrations import transaction
from tests.carole.trial import PROJECT, contributed, erase, keyed, take, taken

__all__ = ["disk"]


def test_an_empty_store(store):
    nothing = Figures(
        dict.fromkeys(State, 0), dict.fromkeys(RunState, 0), (), 0, 0, 0, 0, store.audit.continued(0)[0].size, {}, 0
    )
    assert store.monitoring.figures() == nothing


def test_a_project_on_its_way(store, contributions):
    monitoring = store.monitoring
    keyed(store)
    assert monitoring.figures().projects[State.KEYED] == 1
    alice = contributions[Side.ALICE]
    store.uploads.begin(PROJECT, Side.ALICE, "alice", "a" * 32, alice.layout)
    alice.put(store, Side.ALICE, "a" * 32, 0, 1)
    found = monitoring.figures()
    assert (found.open_uploads, found.open_bytes) == (1, len(alice.chunks[0]) + len(alice.chunks[1]))
    assert (found.payloads, found.stored_bytes) == (1, found.open_bytes)


def test_runs_their_queue_and_their_lease(store, clock, small):
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


def test_figures_of_the_last_run_are_summed_over_its_halves(store, small):
    contributed(store, small)
    lease = taken(store, "e" * 32)
    store.runs.note_figures(PROJECT, lease.run, {"read": 1.0, "compare": 2.5}, {"candidate_pairs": 7.0})
    assert store.monitoring.figures().last_run == LastRun({}, {}), "it has not ended"
    store.runs.finish(lease, 3, {})
    store.runs.note_figures(PROJECT, lease.run, {"read": 0.5, "seal": 4.0}, {"granted_bytes": 9.0})
    expected = LastRun({"read": 1.5, "compare": 2.5, "seal": 4.0}, {"candidate_pairs": 7.0, "granted_bytes": 9.0})
    assert store.monitoring.figures().last_run == expected
    erase(store)
    assert store.monitoring.figures().last_run == LastRun({}, {}), "nothing of it outlives the project"
    store.runs.note_figures(PROJECT, lease.run, {"seal": 1.0}, {})
    with store._database.read() as connection:
        assert connection.execute(select(run_figures)).all() == []


def test_what_is_due_is_what_retention_then_erases(store, clock, small):
    contributed(store, small)
    assert store.monitoring.figures().due == 0
    clock.now += 7 * DAY_MS
    assert store.monitoring.figures().due == 2
    assert store.retention.enforce() == 2
    found = store.monitoring.figures()
    assert (found.due, found.payloads, found.stored_bytes) == (0, 0, 0)


def test_the_checks_pass_and_leave_no_trace(store, url, tmp_path, small):
    contributed(store, small)
    before = store.monitoring.figures(), sorted(tmp_path.rglob("*"))
    for _ in range(3):
        store.monitoring.check_database()
        store.monitoring.check_blobs()
    assert (store.monitoring.figures(), sorted(tmp_path.rglob("*"))) == before
    if not url.startswith("sqlite"):
        # Not even a dead row.
        with transaction(url) as connection:
            assert connection.scalar(text("SELECT max(xmax::text) FROM meta")) == "0"


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_standby_is_not_ready(store, url):
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


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("what", ["database", "blobs"])
def test_a_full_disk_is_not_ready(what, disk, site, tmp_path):
    small = disk("1m")
    there = {"database": tmp_path, "blobs": tmp_path} | {what: small.folder}
    full = replace(site, url=f"sqlite:///{there['database']}/full.db", blobs=there["blobs"] / "full")
    initialise(full.place)
    store = full.serve()
    checks = {"database": store.monitoring.check_database, "blobs": store.monitoring.check_blobs}
    for check in checks.values():
        check()
    small.fill()
    with pytest.raises(GemelError, match="cannot be written to, got No space left on device"):
        checks[what]()
    for other in checks.keys() - {what}:
        checks[other]()
    small.empty()
    checks[what]()
    store.close()


def test_a_store_that_another_carole_has_taken_over_is_not_ready(store, url):
    store.monitoring.check_tenure()
    with transaction(url) as connection:
        connection.execute(text("UPDATE tenure SET holder = 'another'"))
    for check in (store.monitoring.check_tenure, store.monitoring.check_database):
        with refusal(ErrorCode.BUSY, "does not hold the store"):
            check()


def test_a_folder_of_blobs_that_is_gone_is_not_ready(store, tmp_path):
    store.monitoring.check_blobs()
    (tmp_path / "blobs").rename(tmp_path / "unmounted")
    with refusal(ErrorCode.DATABASE, "folder of blobs cannot be written to"):
        store.monitoring.check_blobs()
    (tmp_path / "unmounted").rename(tmp_path / "blobs")
    store.monitoring.check_blobs()
