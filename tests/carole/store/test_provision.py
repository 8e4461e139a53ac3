"""Slips of an operator: nothing is made by accident, nothing swept, and only one Carole writes."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace

import pytest
from sqlalchemy import text

from gemel.carole.projects.project import RunState
from gemel.carole.store import tenure
from gemel.carole.store.clock_guard import milliseconds
from gemel.carole.store.database import Database
from gemel.carole.store.payloads.blobs import IDENTITY, Blobs
from gemel.carole.store.provision import initialise
from gemel.carole.store.tenure import Renewal, Standing
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from tests.carole.refusals import remedied
from tests.carole.store.test_migrations import transaction
from tests.carole.trial import NEW, PROJECT, approve, contributed, taken


@pytest.fixture
def full(open_store, small):
    """Opens a store with two contributions, which is closed now."""
    store = open_store()
    contributed(store, small)
    store.close()
    return open_store


def files(folder):
    return {path for path in folder.rglob("*") if path.is_file()}


def test_init_makes_one_store_and_leaves_it_as_it_is(site, tmp_path):
    new = site.elsewhere(tmp_path / "new" / "blobs")
    made, is_new = initialise(new.place)
    assert is_new
    assert (new.blobs / IDENTITY).read_text().strip() == made
    assert initialise(new.place) == (made, False)
    (new.blobs / IDENTITY).unlink()  # as if it had been killed before the last step
    assert initialise(new.place) == (made, False)
    store = new.open()
    (entry,) = store.audit.entries()
    assert (entry.action, entry.details) == ("init", {"store": made})
    assert store.audit.checkpoint().log == made


def test_an_empty_database_beside_full_blobs_is_neither_served_nor_made_a_store(full, site, tmp_path):
    """The volume of the database is not mounted, its path is mistyped, or PostgreSQL has failed over to nothing."""
    before = files(site.blobs)
    empty = site.elsewhere(site.blobs)
    for attempt in (empty.open, lambda: initialise(empty.place)):
        with remedied(ErrorCode.DATABASE, "no database|got an empty database"):
            attempt()
    (site.blobs / IDENTITY).unlink()
    with remedied(ErrorCode.DATABASE, "the database is empty, and the folder of blobs is that of a store"):
        initialise(empty.place)
    assert not (tmp_path / "another.db").exists()
    assert files(tmp_path / "blobs") == before - {tmp_path / "blobs" / IDENTITY}


def unmounted(blobs, other):
    shutil.rmtree(blobs)
    blobs.mkdir()


def missing(blobs, other):
    shutil.rmtree(blobs)


def anothers(blobs, other):
    (blobs / IDENTITY).write_text(other)


@pytest.mark.parametrize(
    ("slip", "match"),
    [(unmounted, "got those of no store"), (missing, "cannot be used"), (anothers, "got the store 0123")],
)
def test_blobs_of_another_store_or_of_none_are_refused(full, url, tmp_path, site, slip, match):
    slip(tmp_path / "blobs", "0123" * 8)
    left = files(tmp_path / "blobs")
    with remedied(ErrorCode.DATABASE, match):
        full()
    assert files(tmp_path / "blobs") - left <= {tmp_path / "blobs" / "lock"}
    with transaction(url) as connection:
        assert connection.execute(text("SELECT holder FROM tenure")).scalar() == ""
    if slip is not missing:
        with remedied(ErrorCode.DATABASE, "does not belong to this database"):
            initialise(site.place)


def forget_newest(url, *more):
    """Make the database a copy from before its newest payload, which is returned."""
    with transaction(url) as connection:
        newest = connection.execute(text("SELECT payload FROM uploads WHERE side = 'bob'")).scalar_one()
        connection.execute(text("DELETE FROM uploads WHERE side = 'bob'"))
        connection.execute(text("DELETE FROM chunks WHERE payload = :payload"), {"payload": newest})
        connection.execute(text("DELETE FROM payloads WHERE id = :payload"), {"payload": newest})
        for statement in more:
            connection.execute(text(statement))
    return newest


def test_an_old_copy_of_the_database_sweeps_nothing(full, url, tmp_path):
    """The identity is the same; one payload is newer than the copy."""
    before = files(tmp_path / "blobs")
    newest = forget_newest(url)
    with remedied(ErrorCode.DATABASE, f"got 1 unknown, such as {newest}"):
        full()
    assert files(tmp_path / "blobs") == before


def test_a_second_carole_on_the_same_database_is_refused_before_she_frees_a_run(open_store, small, site, tmp_path):
    first = open_store()
    contributed(first, small)
    lease = taken(first, "1" * 32)
    shutil.copytree(tmp_path / "blobs", tmp_path / "copied")
    for folder, match in (("blobs", "another service is using"), ("copied", "another Carole holds this database")):
        with remedied(ErrorCode.BUSY, match):
            replace(site, blobs=tmp_path / folder).serve()
    assert first.runs.get(PROJECT, lease.run).state is RunState.RUNNING
    assert first.runs.renew_lease(lease, "stage", 0.5)


def test_who_was_taken_over_writes_nothing(open_store, url, tmp_path, site):
    first = open_store()
    first.projects.create(NEW, "coordinator")
    worker = site.open(first.holder)
    approve(worker, Role.COORDINATOR, "coordinator")
    shutil.copytree(tmp_path / "blobs", tmp_path / "copied")
    with transaction(url) as connection:
        connection.execute(text("UPDATE tenure SET until = 1"))  # she was suspended for longer than a tenure
    second = replace(site, blobs=tmp_path / "copied").serve()
    for former in (first, worker):
        with remedied(ErrorCode.BUSY, "this Carole does not hold the store"):
            approve(former, Role.CUSTODIAN_A, "alice")
    approve(second, Role.CUSTODIAN_A, "alice")
    worker.close()
    first.close()  # which leaves the second's tenure alone
    approve(second, Role.CUSTODIAN_B, "bob")


def test_a_clock_that_was_set_back_does_not_lock_the_store_for_ever(open_store, url, tmp_path, site):
    open_store()
    shutil.copytree(tmp_path / "blobs", tmp_path / "copied")
    for until, over in ((tenure.TENURE_MS, False), (10 * 365 * 86_400_000, True)):
        with transaction(url) as connection:
            connection.execute(text("UPDATE tenure SET until = :until"), {"until": milliseconds() + until})
        second = replace(site, blobs=tmp_path / "copied")
        if over:
            second.serve()
        else:
            with remedied(ErrorCode.BUSY, "another Carole holds this database"):
                second.serve()


def test_writers_under_way_end_before_another_takes_over(open_store, url):
    """The former holder is inside a transaction when her tenure ends: the new one waits for its end."""
    first = open_store()
    first.projects.create(NEW, "coordinator")
    old, new = Database(url), Database(url)
    old.holder = first.holder
    done = threading.Event()

    def take_over():
        new.hold("another place")
        done.set()

    with transaction(url) as connection:
        connection.execute(text("UPDATE tenure SET until = 1"))
    thread = threading.Thread(target=take_over)
    with old.write() as connection:
        connection.execute(text("UPDATE projects SET policy = 'hold'"))
        thread.start()
        assert not done.wait(0.3)
    thread.join(60)
    assert done.is_set()
    with remedied(ErrorCode.BUSY, "does not hold"), old.write():
        pass
    for database in (old, new):
        database.close()


def test_the_standing_is_reported_when_it_changes(monkeypatch):
    monkeypatch.setattr(tenure, "RENEWAL_SECONDS", 0.001)
    outcomes = iter([True, None, None, True, False])
    seen: list[Standing] = []
    lost = threading.Event()

    def renewed():
        found = next(outcomes)
        if found is None:
            raise GemelError(ErrorCode.DATABASE, "the database failed")
        return found

    def report(standing):
        seen.append(standing)
        if standing is Standing.LOST:
            lost.set()

    renewal = Renewal(renewed, report)
    renewal.start()
    assert lost.wait(60)
    renewal.stop()
    assert seen == [Standing.UNREACHABLE, Standing.HELD, Standing.LOST]


def renamed(path):
    path.rename(path.with_name("elsewhere.db"))


def replaced(path):
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    path.rename(path.with_name("elsewhere.db"))
    copy.rename(path)


@pytest.mark.parametrize("slip", [renamed, replaced])
@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_database_that_vanishes_under_a_running_carole_takes_no_write(open_store, tmp_path, slip):
    path = tmp_path / "carole.db"
    store = open_store()
    store.projects.create(NEW, "coordinator")
    slip(path)
    for _ in range(2):
        with remedied(ErrorCode.DATABASE, "removed, renamed or replaced while it was in use"):
            approve(store, Role.CUSTODIAN_A, "alice")
    (tmp_path / "elsewhere.db").replace(path)
    approve(store, Role.CUSTODIAN_A, "alice")
    assert list(open_store().projects.get(PROJECT).approvals) == [Role.CUSTODIAN_A]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_write_that_was_committed_to_a_moved_file_is_not_acknowledged(store, url, tmp_path):
    database = Database(url)
    database.holder = store.holder
    with remedied(ErrorCode.DATABASE, "removed, renamed or replaced"), database.write():
        (tmp_path / "carole.db").rename(tmp_path / "elsewhere.db")
    (tmp_path / "elsewhere.db").rename(tmp_path / "carole.db")
    database.close()


def test_the_place_of_a_folder_is_its_own(tmp_path):
    found = []
    for name in ("one", "two", "one"):
        blobs = Blobs(tmp_path / name)
        blobs.create()
        blobs.claim()
        found.append(blobs.place)
        blobs.release()
    assert found[0] == found[2] != found[1]
