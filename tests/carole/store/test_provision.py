"""Slips of an operator: nothing is made by accident, nothing swept, and only one Carole writes."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from gemel.carole.projects.project import RunState
from gemel.carole.store import Store, tenure
from gemel.carole.store.database import Database
from gemel.carole.store.payloads.blobs import IDENTITY, Blobs
from gemel.carole.store.provision import initialise
from gemel.carole.store.store import milliseconds
from gemel.carole.store.tenure import Renewal, Standing
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity
from gemel.common.keys.vault import Vault
from gemel.common.parties import Role, Side
from tests.carole.refusals import remedied
from tests.carole.store.test_migrations import transaction
from tests.carole.trial import DIGEST, NEW, PROJECT, Contribution, contributed, taken


@pytest.fixture
def full(open_store: Callable[[], Store], small: dict[Side, Contribution]) -> Callable[[], Store]:
    """Opens a store with two contributions, which is closed now."""
    store = open_store()
    contributed(store, small)
    store.close()
    return open_store


def another_database(url: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if url.startswith("sqlite"):
        return f"sqlite:///{tmp_path / 'another.db'}"
    return str(request.getfixturevalue("postgres").database())


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def test_init_makes_one_store_and_leaves_it_as_it_is(
    url: str, tmp_path: Path, identity: Identity, request: pytest.FixtureRequest
) -> None:
    blobs = tmp_path / "new" / "blobs"
    place = another_database(url, request, tmp_path)
    made, is_new = initialise(place, blobs, identity, milliseconds)
    assert is_new
    assert (blobs / IDENTITY).read_text().strip() == made
    assert initialise(place, blobs, identity, milliseconds) == (made, False)
    (blobs / IDENTITY).unlink()  # as if it had been killed before the last step
    assert initialise(place, blobs, identity, milliseconds) == (made, False)
    store = Store(place, blobs, None, identity)  # type: ignore[arg-type]
    (entry,) = store.audit.entries()
    assert (entry.action, entry.details) == ("init", {"store": made})
    assert store.audit.checkpoint().log == made
    store.close()


def test_an_empty_database_beside_full_blobs_is_neither_served_nor_made_a_store(
    full: Callable[[], Store],
    url: str,
    tmp_path: Path,
    vault: Vault,
    identity: Identity,
    request: pytest.FixtureRequest,
) -> None:
    """The volume of the database is not mounted, its path is mistyped, or PostgreSQL has failed over to nothing."""
    before = files(tmp_path / "blobs")
    empty = another_database(url, request, tmp_path)
    for attempt in (
        lambda: Store(empty, tmp_path / "blobs", vault, identity),
        lambda: initialise(empty, tmp_path / "blobs", identity, milliseconds),
    ):
        with remedied(ErrorCode.DATABASE, "no database|got an empty database"):
            attempt()
    (tmp_path / "blobs" / IDENTITY).unlink()
    with remedied(ErrorCode.DATABASE, "the database is empty, and the folder of blobs is that of a store"):
        initialise(empty, tmp_path / "blobs", identity, milliseconds)
    assert not (tmp_path / "another.db").exists()
    assert files(tmp_path / "blobs") == before - {tmp_path / "blobs" / IDENTITY}


def unmounted(blobs: Path, other: str) -> None:
    shutil.rmtree(blobs)
    blobs.mkdir()


def missing(blobs: Path, other: str) -> None:
    shutil.rmtree(blobs)


def anothers(blobs: Path, other: str) -> None:
    (blobs / IDENTITY).write_text(other)


@pytest.mark.parametrize(
    ("slip", "match"),
    [(unmounted, "got those of no store"), (missing, "cannot be used"), (anothers, "got the store 0123")],
)
def test_blobs_of_another_store_or_of_none_are_refused(
    full: Callable[[], Store],
    url: str,
    tmp_path: Path,
    identity: Identity,
    slip: Callable[[Path, str], None],
    match: str,
) -> None:
    slip(tmp_path / "blobs", "0123" * 8)
    left = files(tmp_path / "blobs")
    with remedied(ErrorCode.DATABASE, match):
        full()
    assert files(tmp_path / "blobs") - left <= {tmp_path / "blobs" / "lock"}
    with transaction(url) as connection:
        assert connection.execute(text("SELECT holder FROM tenure")).scalar() == ""
    if slip is not missing:
        with remedied(ErrorCode.DATABASE, "does not belong to this database"):
            initialise(url, tmp_path / "blobs", identity, milliseconds)


def test_an_old_copy_of_the_database_sweeps_nothing(full: Callable[[], Store], url: str, tmp_path: Path) -> None:
    """The identity is the same; one payload is newer than the copy."""
    before = files(tmp_path / "blobs")
    with transaction(url) as connection:
        newest = connection.execute(text("SELECT payload FROM uploads WHERE side = 'bob'")).scalar_one()
        connection.execute(text("DELETE FROM uploads WHERE side = 'bob'"))
        connection.execute(text("DELETE FROM chunks WHERE payload = :payload"), {"payload": newest})
        connection.execute(text("DELETE FROM payloads WHERE id = :payload"), {"payload": newest})
    with remedied(ErrorCode.DATABASE, f"got 1 unknown, such as {newest}"):
        full()
    assert files(tmp_path / "blobs") == before


def test_a_second_carole_on_the_same_database_is_refused_before_she_frees_a_run(
    open_store: Callable[[], Store],
    small: dict[Side, Contribution],
    url: str,
    tmp_path: Path,
    vault: Vault,
    identity: Identity,
) -> None:
    first = open_store()
    contributed(first, small)
    lease = taken(first, "1" * 32)
    shutil.copytree(tmp_path / "blobs", tmp_path / "copied")
    for folder, match in (("blobs", "another service is using"), ("copied", "another Carole holds this database")):
        second = Store(url, tmp_path / folder, vault, identity)
        with remedied(ErrorCode.BUSY, match):
            second.recover()
        second.close()
    assert first.runs.get(PROJECT, lease.run).state is RunState.RUNNING
    assert first.runs.renew_lease(lease, "stage", 0.5)


def test_who_was_taken_over_writes_nothing(
    open_store: Callable[[], Store], url: str, tmp_path: Path, vault: Vault, identity: Identity
) -> None:
    first = open_store()
    first.projects.create(NEW, "coordinator")
    worker = Store(url, tmp_path / "blobs", vault, identity, holder=first.holder)
    worker.projects.approve(PROJECT, Role.COORDINATOR, "coordinator", DIGEST, b"s" * 64)
    shutil.copytree(tmp_path / "blobs", tmp_path / "copied")
    with transaction(url) as connection:
        connection.execute(text("UPDATE tenure SET until = 1"))  # she was suspended for longer than a tenure
    second = Store(url, tmp_path / "copied", vault, identity)
    second.recover()
    for former in (first, worker):
        with remedied(ErrorCode.BUSY, "this Carole does not hold the store"):
            former.projects.approve(PROJECT, Role.CUSTODIAN_A, "alice", DIGEST, b"s" * 64)
    second.projects.approve(PROJECT, Role.CUSTODIAN_A, "alice", DIGEST, b"s" * 64)
    worker.close()
    first.close()  # which leaves the second's tenure alone
    second.projects.approve(PROJECT, Role.CUSTODIAN_B, "bob", DIGEST, b"s" * 64)
    second.close()


def test_a_clock_that_was_set_back_does_not_lock_the_store_for_ever(
    open_store: Callable[[], Store], url: str, tmp_path: Path, vault: Vault, identity: Identity
) -> None:
    open_store()
    shutil.copytree(tmp_path / "blobs", tmp_path / "copied")
    for until, over in ((tenure.TENURE_MS, False), (10 * 365 * 86_400_000, True)):
        with transaction(url) as connection:
            connection.execute(text("UPDATE tenure SET until = :until"), {"until": milliseconds() + until})
        second = Store(url, tmp_path / "copied", vault, identity)
        if over:
            second.recover()
        else:
            with remedied(ErrorCode.BUSY, "another Carole holds this database"):
                second.recover()
        second.close()


def test_writers_under_way_end_before_another_takes_over(
    open_store: Callable[[], Store], url: str, tmp_path: Path
) -> None:
    """The former holder is inside a transaction when her tenure ends: the new one waits for its end."""
    first = open_store()
    first.projects.create(NEW, "coordinator")
    old, new = Database(url), Database(url)
    old.holder = first.holder
    done = threading.Event()

    def take_over() -> None:
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


def test_the_standing_is_reported_when_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenure, "RENEWAL_SECONDS", 0.001)
    outcomes = iter([True, None, None, True, False])
    seen: list[Standing] = []
    lost = threading.Event()

    def renewed() -> bool:
        found = next(outcomes)
        if found is None:
            raise GemelError(ErrorCode.DATABASE, "the database failed")
        return found

    def report(standing: Standing) -> None:
        seen.append(standing)
        if standing is Standing.LOST:
            lost.set()

    renewal = Renewal(renewed, report)
    renewal.start()
    assert lost.wait(60)
    renewal.stop()
    assert seen == [Standing.UNREACHABLE, Standing.HELD, Standing.LOST]


def renamed(path: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))


def replaced(path: Path) -> None:
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    path.rename(path.with_name("elsewhere.db"))
    copy.rename(path)


@pytest.mark.parametrize("slip", [renamed, replaced])
@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_database_that_vanishes_under_a_running_carole_takes_no_write(
    open_store: Callable[[], Store], url: str, tmp_path: Path, slip: Callable[[Path], None]
) -> None:
    path = tmp_path / "carole.db"
    store = open_store()
    store.projects.create(NEW, "coordinator")
    slip(path)
    for _ in range(2):
        with remedied(ErrorCode.DATABASE, "removed, renamed or replaced while it was in use"):
            store.projects.approve(PROJECT, Role.CUSTODIAN_A, "alice", DIGEST, b"s" * 64)
    (tmp_path / "elsewhere.db").replace(path)
    store.projects.approve(PROJECT, Role.CUSTODIAN_A, "alice", DIGEST, b"s" * 64)
    assert list(open_store().projects.get(PROJECT).approvals) == [Role.CUSTODIAN_A]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_write_that_was_committed_to_a_moved_file_is_not_acknowledged(
    open_store: Callable[[], Store], url: str, tmp_path: Path
) -> None:
    store = open_store()
    database = Database(url)
    database.holder = store.holder
    with remedied(ErrorCode.DATABASE, "removed, renamed or replaced"), database.write():
        (tmp_path / "carole.db").rename(tmp_path / "elsewhere.db")
    (tmp_path / "elsewhere.db").rename(tmp_path / "carole.db")
    database.close()


def test_the_place_of_a_folder_is_its_own(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two", "one"):
        blobs = Blobs(tmp_path / name)
        blobs.create()
        blobs.claim()
        found.append(blobs.place)
        blobs.release()
    assert found[0] == found[2] != found[1]
