"""The schema of a new store, stores of another version, and the way from one version to the next."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import MetaData, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from gemel.carole.configuration import template
from gemel.carole.store import tenure
from gemel.carole.store.database import Database
from gemel.carole.store.migrations import schema_version
from gemel.carole.store.provision import StorePlace, initialise, upgrade
from gemel.carole.store.tables import metadata
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.versions import STORE
from tests.carole.refusals import refusal
from tests.carole.service.test_process import ROOT, Process
from tests.carole.store.later_schema import LATER, become_later, later_programs
from tests.carole.trial import contributed, tiny

Rows = dict[str, list[tuple[object, ...]]]


class transaction:  # noqa: N801 - used like a function
    """A transaction of the database's administrator, beside Gemel's own."""

    def __init__(self, url):
        self._engine = create_engine(url)
        if url.startswith("sqlite"):
            # The driver would begin none before the statements that change tables.
            event.listen(self._engine, "connect", lambda raw, _: setattr(raw, "isolation_level", None))
            event.listen(self._engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))

    def __enter__(self):
        self._begun = self._engine.begin()
        return self._begun.__enter__()

    def __exit__(self, *ended):
        self._begun.__exit__(*ended)
        self._engine.dispose()


def content(url):
    """Every row of every table."""
    with transaction(url) as connection:
        found = MetaData()
        found.reflect(connection)
        return {
            table.name: sorted(
                (
                    tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)
                    for row in connection.execute(table.select())
                ),
                key=repr,
            )
            for table in found.sorted_tables
        }


def keeps_every_row(before, after, without):
    """Columns that were added are the last ones."""
    for table in before.keys() - set(without):
        width = len(before[table][0]) if before[table] else 0
        assert {row[:width] for row in after[table]} >= set(before[table]), table


def test_the_schema_is_that_of_the_tables_and_guards_the_log(url, site):
    initialise(site.place)
    with transaction(url) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    for table, column in (("audit", "at"), ("audit_nodes", "height"), ("audit_checkpoints", "at")):
        for statement in (f"UPDATE {table} SET {column} = {column} + 1", f"DELETE FROM {table}"):  # noqa: S608
            with pytest.raises(DBAPIError, match="append-only"), transaction(url) as connection:
                connection.execute(text(statement))


@pytest.mark.parametrize(
    ("version", "got", "remedy"),
    [("0", "0", "gemel carole upgrade"), ("99", "99", "the version of Gemel that upgraded it")],
)
def test_another_version_is_refused_and_the_remedy_named(url, site, version, got, remedy):
    initialise(site.place)
    with transaction(url) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": version})
    with pytest.raises(GemelError) as caught:
        Database(url)
    assert (caught.value.code, caught.value.got) == (ErrorCode.DATABASE, got)
    assert remedy in caught.value.remedy
    if version == "99":
        with pytest.raises(GemelError, match="must have schema version"):
            upgrade(site.place)


@pytest.fixture
def former(open_store, url):
    """The URL of a store of this version that holds something, closed."""
    store = open_store()
    contributed(store, tiny())
    store.close()
    return url


def test_an_upgrade_keeps_every_row_and_writes_an_entry(former, site, tmp_path, monkeypatch):
    before = content(former)
    become_later(tmp_path / "later", monkeypatch)
    assert upgrade(site.place) == (STORE, LATER)
    after = content(former)
    keeps_every_row(before, after, without=("alembic_version", "meta"))
    for table in before.keys() - {"alembic_version", "audit", "audit_checkpoints", "audit_nodes"}:
        assert len(after[table]) == len(before[table]), table
    assert {row[-1] for row in after["projects"]} == {"upgraded"}
    with transaction(former) as connection:
        assert schema_version(connection) == LATER
        action, details = connection.execute(
            text("SELECT action, details FROM audit ORDER BY sequence DESC LIMIT 1")
        ).one()
    assert action == "upgrade"
    assert f'"from":{STORE}' in details.replace(" ", "")
    again = content(former)
    assert upgrade(site.place) == (LATER, LATER)
    assert content(former) == again
    # This release refuses it from now on, and leaves it as it is.
    monkeypatch.undo()
    with pytest.raises(GemelError, match=f"must have schema version {STORE}"):
        upgrade(site.place)
    assert content(former) == again


def fails(*_):
    raise GemelError(ErrorCode.INTERNAL, "the machine was switched off")


def test_an_upgrade_that_fails_has_changed_nothing(former, site, tmp_path, monkeypatch):
    before = content(former)
    become_later(tmp_path / "later", monkeypatch)
    with monkeypatch.context() as broken:
        broken.setattr(tenure, "release", fails)
        with pytest.raises(GemelError, match="switched off"):
            upgrade(site.place)
    assert content(former) == before
    assert upgrade(site.place, dry_run=True) == (STORE, LATER)
    assert content(former) == before
    assert upgrade(site.place) == (STORE, LATER)


UPGRADE = """
import sys
from pathlib import Path
from gemel.carole.store.provision import StorePlace, upgrade
from gemel.carole.store.clock_guard import milliseconds
from gemel.common.keys.identity import Identity
from gemel.common.keys.identity import IdentityKey
upgrade(StorePlace(sys.argv[1], Path(sys.argv[2]), Identity(IdentityKey.create()), milliseconds))
"""


def test_an_upgrade_that_is_killed_has_changed_nothing(former, tmp_path):
    before = content(former)
    environment = later_programs(tmp_path / "later")
    command = [sys.executable, "-c", UPGRADE, former, str(tmp_path / "blobs")]
    done = subprocess.run(command, env={**environment, "KILLED": "1"}, cwd=ROOT, timeout=120, check=False)
    assert done.returncode == -9
    assert content(former) == before
    subprocess.run(command, env=environment, cwd=ROOT, timeout=120, check=True)
    with transaction(former) as connection:
        assert schema_version(connection) == LATER


def removed(blobs):
    shutil.rmtree(blobs)
    blobs.mkdir()


def foreign(blobs):
    (blobs / "identity").write_text("f" * 32)


def newer(blobs):
    (blobs / ("f" * 32)).mkdir()


@pytest.mark.parametrize(
    ("slip", "match"), [(removed, "those of no store"), (foreign, "the store f"), (newer, "1 unknown")]
)
def test_an_upgrade_with_another_folder_of_blobs_is_refused(former, site, tmp_path, monkeypatch, slip, match):
    before = content(former)
    become_later(tmp_path / "later", monkeypatch)
    slip(tmp_path / "blobs")
    with refusal(ErrorCode.DATABASE, match):
        upgrade(site.place)
    assert content(former) == before


def test_nothing_is_upgraded_below_an_open_store(open_store, url, site, tmp_path, monkeypatch):
    open_store()
    become_later(tmp_path / "later", monkeypatch)
    with refusal(ErrorCode.BUSY, "another service is using this folder"):
        upgrade(site.place)
    with transaction(url) as connection:
        assert schema_version(connection) == STORE


@pytest.mark.long
def test_the_command_upgrades_what_serve_refuses_and_not_below_a_running_carole(parties, tmp_path):
    keys = parties.parties["carole"].path
    configuration = tmp_path / "carole.yaml"
    configuration.write_text(template("127.0.0.1:0", keys=str(keys)))
    environment = later_programs(tmp_path / "later")
    identity = open_identity(None, parties.parties["carole"].identity)
    url, blobs = f"sqlite:///{tmp_path / 'store' / 'carole.db'}", tmp_path / "store" / "blobs"
    initialise(StorePlace(url, blobs, identity))

    def gemel(*words):
        command = [sys.executable, "-m", "gemel", *words, "--config", str(configuration)]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False, env=os.environ | environment
        )
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    status, shown = gemel("carole", "serve")
    assert (status, "gemel carole upgrade" in shown) == (1, True), shown
    status, shown = gemel("carole", "upgrade")
    words = f"The database had version {STORE} and has version {LATER}"
    assert (status, shown.startswith(words)) == (0, True), shown
    process = Process(configuration, tmp_path, **environment)
    try:
        process.address()
        status, shown = gemel("carole", "upgrade")
        assert (status, "another service is using this folder" in shown) == (1, True), shown
    finally:
        process.popen.terminate()
        assert process.popen.wait(60) == 0
