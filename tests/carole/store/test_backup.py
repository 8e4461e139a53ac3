"""A backup of a store in use, put back into an empty place, on either database from either."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from gemel.carole.projects.project import RunState, State
from gemel.carole.store import Store, audit_check
from gemel.carole.store.backup import BLOBS, back_up, restore
from gemel.carole.store.database import Database
from gemel.carole.store.migrations import schema_version
from gemel.carole.store.provision import confirm_clock, initialise, upgrade
from gemel.carole.store.restoring import declare_restored
from gemel.carole.store.store import milliseconds
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity
from gemel.common.keys.vault import Vault
from gemel.common.parties import Role, Side
from gemel.common.versions import STORE
from tests.carole.refusals import refusal, remedied
from tests.carole.store.later_schema import LATER, become_later
from tests.carole.store.test_migrations import content, transaction
from tests.carole.store.test_provision import another_database
from tests.carole.store.test_restoring import accept
from tests.carole.store.test_sweeping import SHARES
from tests.carole.trial import NEW, PROJECT, contributed, intact, taken, tiny


@pytest.fixture
def running(open_store: Callable[[], Store]) -> Store:
    """A store with a release, and a run that a worker holds."""
    store = open_store()
    contributed(store, tiny())
    lease = taken(store, "1" * 32)
    store.runs.finish(lease, 1, SHARES)
    return store


@pytest.fixture
def backup(running: Store, url: str, tmp_path: Path) -> Path:
    back_up(url, tmp_path / "blobs", tmp_path / "backup", milliseconds)
    return tmp_path / "backup"


def test_what_is_restored_is_what_was_backed_up_and_goes_on(
    running: Store,
    backup: Path,
    url: str,
    tmp_path: Path,
    vault: Vault,
    identity: Identity,
    request: pytest.FixtureRequest,
) -> None:
    before = running.audit.entries()
    running.projects.create(replace(NEW, name="later"), "coordinator")  # is not in the backup
    place = another_database(url, request, tmp_path)
    made, version = restore(backup, place, tmp_path / "restored", identity, milliseconds)
    assert (made.entries, made.files, version) == (len(before), 4, STORE)
    store = Store(place, tmp_path / "restored", vault, identity)
    store.recover()
    assert [project.name for project in store.projects.all()] == [PROJECT]
    assert replace(store.projects.get(PROJECT), restoration=0) == running.projects.get(PROJECT)
    *kept, last = store.audit.entries()
    assert kept == before
    assert (last.action, last.details["entries"]) == ("restore", len(before))
    assert store.uploads.read(PROJECT, Side.BOB)
    run = store.projects.get(PROJECT).runs[-1]
    assert run.state is RunState.DONE
    accept(store)
    assert store.results.fetch(PROJECT, Role.CUSTODIAN_A, run.run, 0).data == b"a" * 100
    store.projects.create(replace(NEW, name="next"), "coordinator")
    store.projects.erase(PROJECT, Role.COORDINATOR, "coordinator")
    assert store.projects.get(PROJECT).state is State.ERASED
    assert store.audit.checkpoint().log == running.audit.checkpoint().log
    store.close()
    assert intact(place, identity)


@pytest.mark.parametrize("backups", [1, pytest.param(3, marks=pytest.mark.long)])
def test_a_backup_beside_writers_is_of_one_moment(
    running: Store, url: str, tmp_path: Path, vault: Vault, identity: Identity, backups: int
) -> None:
    """Whatever is created beside it: the log is whole, and its entries are those of the projects that are there."""
    ended = threading.Event()
    failed: list[BaseException] = []

    def write() -> None:
        try:
            number = 0
            while not ended.is_set():
                try:
                    running.projects.create(replace(NEW, name=f"beside-{number}"), "coordinator")
                except GemelError as error:  # what SQLite says where the writer has waited too long, as callers may see
                    if error.code is not ErrorCode.BUSY:
                        raise
                    continue
                number += 1
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    for number in range(backups):
        back_up(url, tmp_path / "blobs", tmp_path / f"b{number}", milliseconds)
    ended.set()
    writer.join()
    assert not failed
    for number in range(backups):
        database = Database(f"sqlite:///{tmp_path / f'b{number}' / 'carole.db'}")
        with database.read() as connection:
            assert audit_check.verify(connection, identity.public).intact
            created = connection.execute(text("SELECT count(*) FROM audit WHERE action = 'create'")).scalar_one()
            assert connection.execute(text("SELECT count(*) FROM projects")).scalar_one() == created
            assert connection.execute(text("SELECT holder FROM tenure")).scalar_one() == ""
        database.close()


def test_no_key_that_opens_it_is_in_a_backup(backup: Path, running: Store, tmp_path: Path) -> None:
    assert {path.name for path in backup.iterdir()} == {"backup.json", "blobs", "carole.db"}
    assert json.loads((backup / "backup.json").read_text())["store"] == running.audit.checkpoint().log
    assert all(path.stat().st_mode & 0o077 == 0 for path in backup.rglob("*"))
    contents = b"".join(path.read_bytes() for path in backup.rglob("*") if path.is_file())
    assert b"a" * 100 not in contents


def test_a_backup_is_not_written_over_another(backup: Path, url: str, tmp_path: Path) -> None:
    with remedied(ErrorCode.EXISTS, "a backup is written into a new folder"):
        back_up(url, tmp_path / "blobs", backup, milliseconds)


def test_what_is_erased_while_the_files_are_copied_is_in_no_backup(running: Store, url: str, tmp_path: Path) -> None:
    def erased_meanwhile() -> int:
        running.projects.erase(PROJECT, Role.COORDINATOR, "coordinator")
        return 1

    with remedied(ErrorCode.BUSY, "content was erased while the backup was made"):
        back_up(url, tmp_path / "blobs", tmp_path / "backup", erased_meanwhile)
    assert not (tmp_path / "backup").exists()


def test_a_place_that_is_not_empty_is_not_restored_into(
    backup: Path, url: str, tmp_path: Path, identity: Identity, request: pytest.FixtureRequest
) -> None:
    place = another_database(url, request, tmp_path)
    with remedied(ErrorCode.DATABASE, "restored into an empty database"):
        restore(backup, url, tmp_path / "restored", identity, milliseconds)
    initialise(place, tmp_path / "used", identity, milliseconds)
    shutil.rmtree(tmp_path / "restored")
    another = request.getfixturevalue("postgres").database()
    with remedied(ErrorCode.DATABASE, "the folder of blobs is that of a store"):
        restore(backup, another, tmp_path / "used", identity, milliseconds)
    assert restore(backup, another, tmp_path / "restored", identity, milliseconds)[0].files == 4


def incomplete(backup: Path) -> None:
    (backup / "backup.json").unlink()


def without_a_file(backup: Path) -> None:
    next(path for path in (backup / "blobs").rglob("*") if path.is_file()).unlink()


def forged(backup: Path) -> None:
    with transaction(f"sqlite:///{backup / 'carole.db'}") as connection:
        connection.execute(text("DROP TRIGGER audit_no_update"))
        connection.execute(text("UPDATE audit SET actor = 'another' WHERE sequence = 3"))


@pytest.mark.parametrize(
    ("spoil", "code", "match"),
    [
        (incomplete, ErrorCode.DATABASE, "not a complete backup"),
        (without_a_file, ErrorCode.DATABASE, "1 of 4 files missing"),
        (forged, ErrorCode.AUDIT, "entry 3 has been changed"),
    ],
)
def test_a_spoilt_backup_is_refused_and_nothing_is_made(
    backup: Path,
    url: str,
    tmp_path: Path,
    identity: Identity,
    request: pytest.FixtureRequest,
    spoil: Callable[[Path], None],
    code: ErrorCode,
    match: str,
) -> None:
    place = another_database(url, request, tmp_path)
    spoil(backup)
    with remedied(code, match):
        restore(backup, place, tmp_path / "restored", identity, milliseconds)
    assert not (tmp_path / "another.db").exists()
    made, is_new = initialise(place, tmp_path / "restored", identity, milliseconds)
    assert made
    assert is_new


def test_a_backup_of_an_older_version_is_upgraded_as_it_is_put_back(
    backup: Path,
    url: str,
    tmp_path: Path,
    identity: Identity,
    vault: Vault,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = another_database(url, request, tmp_path)
    become_later(tmp_path / "later", monkeypatch)
    before = content(f"sqlite:///{backup / 'carole.db'}")
    made, found = restore(backup, place, tmp_path / "restored", identity, milliseconds)
    assert found == STORE
    assert content(f"sqlite:///{backup / 'carole.db'}") == before
    after = content(place)
    for table in before.keys() - {"alembic_version", "meta", "tenure"}:
        width = len(before[table][0]) if before[table] else 0  # columns that were added are the last ones
        assert {row[:width] for row in after[table]} >= set(before[table]), table
    store = Store(place, tmp_path / "restored", vault, identity)
    store.recover()
    *_, restored, upgraded = store.audit.entries()
    assert (restored.action, restored.details["entries"]) == ("restore", made.entries)
    assert (upgraded.action, upgraded.details) == ("upgrade", {"from": STORE, "to": LATER, "store": made.store})
    assert store.uploads.read(PROJECT, Side.ALICE)
    store.close()


def test_a_backup_of_a_version_that_is_not_known_is_refused(
    backup: Path, url: str, tmp_path: Path, identity: Identity, request: pytest.FixtureRequest
) -> None:
    place = another_database(url, request, tmp_path)
    with transaction(f"sqlite:///{backup / 'carole.db'}") as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": STORE + 1})
    with remedied(ErrorCode.DATABASE, "the version of Gemel that wrote it"):
        restore(backup, place, tmp_path / "restored", identity, milliseconds)
    assert initialise(place, tmp_path / "restored", identity, milliseconds)[1]


# Dry runs of what changes a store: all of it is done, and nothing stays.


def test_a_store_is_left_as_it_was(
    open_store: Callable[[], Store], url: str, tmp_path: Path, identity: Identity
) -> None:
    store = open_store()
    before = store.audit.entries()
    store.close()
    place = url, tmp_path / "blobs", identity, milliseconds
    assert upgrade(*place, dry_run=True) == (STORE, STORE)
    confirm_clock(*place, dry_run=True)
    assert declare_restored(*place, dry_run=True) == len(before)
    assert open_store().audit.entries() == before
    open_store().close()
    assert declare_restored(*place) == len(before)
    assert len(open_store().audit.entries()) == len(before) + 1


def test_a_restoration_is_checked_and_not_made(
    running: Store, backup: Path, url: str, tmp_path: Path, identity: Identity, request: pytest.FixtureRequest
) -> None:
    place, blobs = another_database(url, request, tmp_path), tmp_path / "restored"
    made, version = restore(backup, place, blobs, identity, milliseconds, dry_run=True)
    assert (made.entries, version) == (len(running.audit.entries()), STORE)
    assert not blobs.exists()
    if place.startswith("sqlite"):
        assert not (tmp_path / "another.db").exists()
    else:
        found: list[int | None] = []
        Database(place, prepare=lambda connection, _: found.append(schema_version(connection))).close()
        assert found == [None]
    assert restore(backup, place, blobs, identity, milliseconds)[0] == made


def test_what_could_not_be_restored_is_an_error_of_the_dry_run(
    running: Store, backup: Path, url: str, tmp_path: Path, identity: Identity, request: pytest.FixtureRequest
) -> None:
    another = another_database(url, request, tmp_path)
    with refusal(ErrorCode.DATABASE):
        restore(backup, url, tmp_path / "restored", identity, milliseconds, dry_run=True)
    with pytest.raises(GemelError):
        restore(backup, another, tmp_path / "blobs", identity, milliseconds, dry_run=True)
    shutil.rmtree(next((backup / BLOBS).iterdir()))
    with pytest.raises(GemelError, match="not a complete backup"):
        restore(backup, another, tmp_path / "restored", identity, milliseconds, dry_run=True)
