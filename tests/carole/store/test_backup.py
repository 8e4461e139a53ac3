"""A backup of a store in use, put back into an empty place, on either database from either."""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import text

from gemel.carole.projects.project import RunState, State
from gemel.carole.store import audit_check
from gemel.carole.store.backup import BLOBS, back_up, restore
from gemel.carole.store.database import Database
from gemel.carole.store.migrations import schema_version
from gemel.carole.store.provision import confirm_clock, initialise, upgrade
from gemel.carole.store.restoring import declare_restored
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role, Side
from gemel.common.versions import STORE
from tests.carole.refusals import refusal, remedied
from tests.carole.store.later_schema import LATER, become_later
from tests.carole.store.test_migrations import content, keeps_every_row, transaction
from tests.carole.store.test_restoring import accept
from tests.carole.store.test_sweeping import SHARES
from tests.carole.trial import NEW, PROJECT, contributed, erase, intact, taken, tiny


@pytest.fixture
def running(open_store):
    """A store with a release."""
    store = open_store()
    contributed(store, tiny())
    store.runs.finish(taken(store, "1" * 32), 1, SHARES)
    return store


@pytest.fixture
def backup(running, site, tmp_path):
    back_up(site.url, site.blobs, tmp_path / "backup", site.clock)
    return tmp_path / "backup"


def test_what_is_restored_is_what_was_backed_up_and_goes_on(running, backup, site, tmp_path):
    before = running.audit.entries()
    running.projects.create(replace(NEW, name="later"), "coordinator")  # is not in the backup
    restored = site.elsewhere(tmp_path / "restored")
    made, version = restore(backup, restored.place)
    assert (made.entries, made.files, version) == (len(before), 4, STORE)
    store = restored.serve()
    assert [project.name for project in store.projects.all()] == [PROJECT]
    assert replace(store.projects.get(PROJECT), restoration=0) == running.projects.get(PROJECT)
    *kept, last = store.audit.entries()
    assert kept == before
    assert (last.action, last.details["entries"]) == ("restore", len(before))
    assert store.uploads.open(PROJECT, Side.BOB).read(0)
    run = store.projects.get(PROJECT).runs[-1]
    assert run.state is RunState.DONE
    accept(store)
    assert store.results.fetch(PROJECT, Role.CUSTODIAN_A, run.run, 0).data == b"a" * 100
    store.projects.create(replace(NEW, name="next"), "coordinator")
    erase(store)
    assert store.projects.get(PROJECT).state is State.ERASED
    assert store.audit.checkpoint().log == running.audit.checkpoint().log
    assert intact(restored.url, site.identity)


@pytest.mark.parametrize("backups", [1, pytest.param(3, marks=pytest.mark.long)])
def test_a_backup_beside_writers_is_of_one_moment(running, site, tmp_path, backups):
    """Whatever is created beside it: the log is whole, and its entries are those of the projects that are there."""
    ended = threading.Event()

    def write():
        number = 0
        while not ended.is_set():
            try:
                running.projects.create(replace(NEW, name=f"beside-{number}"), "coordinator")
            except GemelError as error:  # what SQLite says where the writer has waited too long, as callers may see
                if error.code is not ErrorCode.BUSY:
                    raise
            else:
                number += 1

    with ThreadPoolExecutor(1) as threads:
        writer = threads.submit(write)
        try:
            for number in range(backups):
                back_up(site.url, site.blobs, tmp_path / f"b{number}", site.clock)
        finally:
            ended.set()
        writer.result()
    for number in range(backups):
        database = Database(f"sqlite:///{tmp_path / f'b{number}' / 'carole.db'}")
        with database.read() as connection:
            assert audit_check.verify(connection, site.identity.public).intact
            created = connection.execute(text("SELECT count(*) FROM audit WHERE action = 'create'")).scalar_one()
            assert connection.execute(text("SELECT count(*) FROM projects")).scalar_one() == created
            assert connection.execute(text("SELECT holder FROM tenure")).scalar_one() == ""
        database.close()


def test_no_key_that_opens_it_is_in_a_backup(backup, running):
    assert {path.name for path in backup.iterdir()} == {"backup.json", "blobs", "carole.db"}
    assert json.loads((backup / "backup.json").read_text())["store"] == running.audit.checkpoint().log
    assert all(path.stat().st_mode & 0o077 == 0 for path in backup.rglob("*"))
    contents = b"".join(path.read_bytes() for path in backup.rglob("*") if path.is_file())
    assert b"a" * 100 not in contents


def test_a_backup_is_not_written_over_another(backup, site):
    with remedied(ErrorCode.EXISTS, "a backup is written into a new folder"):
        back_up(site.url, site.blobs, backup, site.clock)


def test_what_is_erased_while_the_files_are_copied_is_in_no_backup(running, site, tmp_path):
    def erased_meanwhile():
        erase(running)
        return 1

    with remedied(ErrorCode.BUSY, "content was erased while the backup was made"):
        back_up(site.url, site.blobs, tmp_path / "backup", erased_meanwhile)
    assert not (tmp_path / "backup").exists()


def test_a_place_that_is_not_empty_is_not_restored_into(backup, site, tmp_path, request):
    with remedied(ErrorCode.DATABASE, "restored into an empty database"):
        restore(backup, replace(site, blobs=tmp_path / "restored").place)
    initialise(site.elsewhere(tmp_path / "used").place)
    shutil.rmtree(tmp_path / "restored")
    another = request.getfixturevalue("postgres").database()
    with remedied(ErrorCode.DATABASE, "the folder of blobs is that of a store"):
        restore(backup, replace(site, url=another, blobs=tmp_path / "used").place)
    assert restore(backup, replace(site, url=another, blobs=tmp_path / "restored").place)[0].files == 4


def incomplete(backup):
    (backup / "backup.json").unlink()


def unknown(backup):
    with transaction(f"sqlite:///{backup / 'carole.db'}") as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": STORE + 1})


def without_a_file(backup):
    next(path for path in (backup / "blobs").rglob("*") if path.is_file()).unlink()


def forged(backup):
    with transaction(f"sqlite:///{backup / 'carole.db'}") as connection:
        connection.execute(text("DROP TRIGGER audit_no_update"))
        connection.execute(text("UPDATE audit SET actor = 'another' WHERE sequence = 3"))


@pytest.mark.parametrize(
    ("spoil", "code", "match"),
    [
        (incomplete, ErrorCode.DATABASE, "not a complete backup"),
        (without_a_file, ErrorCode.DATABASE, "1 of 4 files missing"),
        (forged, ErrorCode.AUDIT, "entry 3 has been changed"),
        (unknown, ErrorCode.DATABASE, "the version of Gemel that wrote it"),
    ],
)
def test_a_spoilt_backup_is_refused_and_nothing_is_made(backup, site, tmp_path, spoil, code, match):
    restored = site.elsewhere(tmp_path / "restored")
    spoil(backup)
    with remedied(code, match):
        restore(backup, restored.place)
    assert not (tmp_path / "another.db").exists()
    made, is_new = initialise(restored.place)
    assert made
    assert is_new


def test_a_backup_of_an_older_version_is_upgraded_as_it_is_put_back(backup, site, tmp_path, monkeypatch):
    elsewhere = site.elsewhere(tmp_path / "restored")
    become_later(tmp_path / "later", monkeypatch)
    before = content(f"sqlite:///{backup / 'carole.db'}")
    made, found = restore(backup, elsewhere.place)
    assert found == STORE
    assert content(f"sqlite:///{backup / 'carole.db'}") == before
    keeps_every_row(before, content(elsewhere.url), without=("alembic_version", "meta", "tenure"))
    store = elsewhere.serve()
    *_, restored, upgraded = store.audit.entries()
    assert (restored.action, restored.details["entries"]) == ("restore", made.entries)
    assert (upgraded.action, upgraded.details) == ("upgrade", {"from": STORE, "to": LATER, "store": made.store})
    assert store.uploads.open(PROJECT, Side.ALICE).read(0)


# Dry runs of what changes a store: all of it is done, and nothing stays.


def test_a_store_is_left_as_it_was(open_store, site):
    store = open_store()
    before = store.audit.entries()
    store.close()
    assert upgrade(site.place, dry_run=True) == (STORE, STORE)
    confirm_clock(site.place, dry_run=True)
    assert declare_restored(site.place, dry_run=True) == len(before)
    assert open_store().audit.entries() == before
    open_store().close()
    assert declare_restored(site.place) == len(before)
    assert len(open_store().audit.entries()) == len(before) + 1


def test_a_restoration_is_checked_and_not_made(running, backup, site, tmp_path):
    restored = site.elsewhere(tmp_path / "restored")
    made, version = restore(backup, restored.place, dry_run=True)
    assert (made.entries, version) == (len(running.audit.entries()), STORE)
    assert not restored.blobs.exists()
    if restored.url.startswith("sqlite"):
        assert not (tmp_path / "another.db").exists()
    else:
        found: list[int | None] = []
        Database(restored.url, prepare=lambda connection, _: found.append(schema_version(connection))).close()
        assert found == [None]
    assert restore(backup, restored.place)[0] == made


def test_what_could_not_be_restored_is_an_error_of_the_dry_run(running, backup, site, tmp_path):
    another = site.elsewhere(tmp_path / "restored")
    for place in (replace(another, url=site.url), replace(another, blobs=site.blobs)):
        with refusal(ErrorCode.DATABASE):
            restore(backup, place.place, dry_run=True)
    shutil.rmtree(next((backup / BLOBS).iterdir()))
    with pytest.raises(GemelError, match="not a complete backup"):
        restore(backup, another.place, dry_run=True)
