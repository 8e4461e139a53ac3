"""From the schema of the release before migrations to the newest: the same content, the same guards, the same log."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, MetaData, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from tests.carole.deployment import SPEC, make_upload, people
from tests.carole.service.test_process import ROOT, Process
from tryst.carole.configuration import template
from tryst.carole.engine.resources import Resources
from tryst.carole.projects import State
from tryst.carole.service.linking import carry_out
from tryst.carole.store import Store, audit_check
from tryst.carole.store.blobs import Blobs
from tryst.carole.store.database import Database
from tryst.carole.store.migrations import FIRST, migrate
from tryst.carole.store.provision import initialise, upgrade
from tryst.carole.store.store import milliseconds
from tryst.carole.store.tables import metadata
from tryst.common.encoding.signature_sets import layout_of
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.identity import Identity
from tryst.common.keys.identity_configuration import open_identity
from tryst.common.keys.identity_key import IdentityKey
from tryst.common.keys.vault import Vault
from tryst.common.keys.wrapping import WrappingKeys
from tryst.common.parties import Role, Side
from tryst.common.pki.members import Members
from tryst.common.pki.provisioning import Provisioned
from tryst.common.pki.reader import Reader
from tryst.common.versions import STORE
from tryst.common.wire.chunks import Chunk

GOLDEN = Path(__file__).resolve().parents[2] / "vectors" / "store-5"
IN_COMMON = 16

Rows = dict[str, list[tuple[object, ...]]]


class Former:
    """The store of the former release, at a database and in a folder of the test's."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.blobs = folder / "blobs"
        shutil.copytree(GOLDEN, folder, dirs_exist_ok=True)
        for key in ("wrapping.key", "identity.key"):
            (folder / key).chmod(0o600)
        self.identity = open_identity(None, folder / "identity.key")
        golden = sqlite3.connect(url.removeprefix("sqlite:///") if url.startswith("sqlite") else ":memory:")
        golden.executescript((GOLDEN / "carole.sql").read_text())
        if not url.startswith("sqlite"):
            with transaction(url) as connection:
                copy(golden, connection)
        golden.close()

    def upgrade(self) -> tuple[int, int]:
        return upgrade(self.url, self.blobs, self.identity, milliseconds)

    def open(self) -> Store:
        store = Store(
            self.url, self.blobs, Vault(WrappingKeys.load(self.folder / "wrapping.key")), self.identity, milliseconds
        )
        store.recover()
        return store


class transaction:  # noqa: N801 - used like a function
    """A transaction of the database's administrator, beside Tryst's own."""

    def __init__(self, url: str) -> None:
        self._engine = create_engine(url)
        if url.startswith("sqlite"):
            # The driver would begin none before the statements that change tables.
            event.listen(self._engine, "connect", lambda raw, _: setattr(raw, "isolation_level", None))
            event.listen(self._engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))

    def __enter__(self) -> Connection:
        self._begun = self._engine.begin()
        return self._begun.__enter__()

    def __exit__(self, *ended: object) -> None:
        self._begun.__exit__(*ended)  # type: ignore[arg-type]
        self._engine.dispose()


def copy(golden: sqlite3.Connection, connection: Connection) -> None:
    """What PostgreSQL had of the same project: the tables that the release made, without a trace of migrations."""
    migrate(connection, FIRST)
    connection.execute(text("DROP TABLE alembic_version"))
    connection.execute(text("DELETE FROM meta"))
    found = MetaData()
    found.reflect(connection)
    for table in found.sorted_tables:
        names = [column.name for column in table.columns]
        rows = golden.execute(f"SELECT {', '.join(names)} FROM {table.name}").fetchall()  # noqa: S608
        if rows:
            connection.execute(table.insert(), [dict(zip(names, row, strict=True)) for row in rows])
    connection.execute(text("SELECT setval(pg_get_serial_sequence('projects', 'id'), 1)"))


def content(url: str) -> Rows:
    """Every row of the tables of version 5."""
    with transaction(url) as connection:
        found = MetaData()
        found.reflect(connection)
        return {
            table.name: sorted(
                tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)
                for row in connection.execute(table.select())
            )
            for table in found.sorted_tables
        }


@pytest.fixture
def former(url: str, tmp_path: Path) -> Former:
    return Former(url, tmp_path / "former")


@pytest.mark.parametrize("made", ["new", "upgraded"])
def test_the_schema_is_that_of_the_tables_and_guards_the_log(made: str, url: str, tmp_path: Path) -> None:
    if made == "new":
        initialise(url, tmp_path / "blobs", Identity(IdentityKey.create()), milliseconds)
    else:
        Former(url, tmp_path / "former").upgrade()
    with transaction(url) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    for table, column in (("audit", "at"), ("audit_nodes", "height"), ("audit_checkpoints", "at")):
        for statement in (f"UPDATE {table} SET {column} = {column} + 1", f"DELETE FROM {table}"):  # noqa: S608
            with pytest.raises(DBAPIError, match="append-only"), transaction(url) as connection:
                connection.execute(text(statement))


def test_an_upgrade_keeps_every_row_and_writes_an_entry(former: Former) -> None:
    before = content(former.url)
    assert former.upgrade() == (FIRST, STORE)
    after = content(former.url)
    for table in before.keys() - {"meta", "audit", "audit_nodes", "audit_checkpoints"}:
        # Columns that were added are the last ones.
        former_rows = [row[: len(before[table][0])] for row in after[table]] if before[table] else after[table]
        assert former_rows == before[table], table
    for log in ("audit", "audit_nodes", "audit_checkpoints"):
        assert set(before[log]) < set(after[log])
    assert ("schema", STORE) in after["meta"]  # which the former release compares with its own
    store = former.open()
    entry = store.audit.entries()[-1]
    log = store.audit.checkpoint().log
    assert (entry.action, entry.details) == ("upgrade", {"from": FIRST, "to": STORE, "store": log})
    assert Blobs(former.blobs).identity() == log
    store.close()
    again = content(former.url)
    assert former.upgrade() == (STORE, STORE)
    assert content(former.url) == again


@pytest.mark.parametrize(("name", "owner"), [("trial", "coordinator"), ("unknown", "")])
def test_a_project_belongs_to_the_coordinator_that_created_it_if_the_log_has_that(
    former: Former, name: str, owner: str
) -> None:
    with transaction(former.url) as connection:
        connection.execute(text("UPDATE projects SET name = :name"), {"name": name})
    former.upgrade()
    store = former.open()
    assert store.projects.get(name).owner == owner
    store.close()


def test_a_project_half_uploaded_under_the_former_release_ends_under_this_one(
    former: Former, parties: Provisioned
) -> None:
    former.upgrade()
    store = former.open()
    upload, _ = make_upload(Side.BOB, people(24, offset=8), "b" * 32)
    begun = store.uploads.begin("trial", Side.BOB, "bob", upload.name, layout_of([upload.sets]))
    assert begun.missing == ((0, len(upload.chunks) - 1),)
    for index, data in enumerate(upload.chunks):
        chunk = Chunk(index, len(upload.chunks), upload.root, hashlib.sha256(data).digest(), data)
        store.uploads.put("trial", Side.BOB, upload.name, chunk)
    store.uploads.commit("trial", Side.BOB, "bob", upload.name, len(upload.chunks), len(upload.payload), upload.root)
    store.runs.start("trial", "coordinator", "r", "e" * 32)
    lease = store.runs.take("worker")
    assert lease is not None
    reader = Reader.load(parties.parties["carole"], Role.LINKER)
    assert carry_out(store, lease, SPEC, reader, Resources(1 << 30, 1), lambda *_: None) == IN_COMMON
    assert store.projects.get("trial").state is State.RELEASED
    store.close()
    database = Database(former.url)
    with database.read() as connection:
        assert audit_check.verify(connection, former.identity.public).intact
    database.close()


def fails(connection: Connection) -> None:
    raise TrystError(ErrorCode.INTERNAL, "the machine was switched off")


def test_an_upgrade_that_fails_has_changed_nothing(former: Former, monkeypatch: pytest.MonkeyPatch) -> None:
    before = content(former.url)
    monkeypatch.setattr("tryst.carole.store.tenure.release", lambda connection, holder: fails(connection))
    with pytest.raises(TrystError, match="switched off"):
        former.upgrade()
    monkeypatch.undo()
    assert content(former.url) == before
    assert former.upgrade() == (FIRST, STORE)


def removed(former: Former) -> None:
    shutil.rmtree(former.blobs)
    former.blobs.mkdir()


def foreign(former: Former) -> None:
    (former.blobs / ("f" * 32)).mkdir()


@pytest.mark.parametrize(("slip", "match"), [(removed, "1 missing"), (foreign, "1 unknown")])
def test_an_upgrade_with_another_folder_of_blobs_is_refused(
    former: Former, slip: Callable[[Former], None], match: str
) -> None:
    before = content(former.url)
    slip(former)
    with pytest.raises(TrystError, match=match) as caught:
        former.upgrade()
    assert caught.value.code is ErrorCode.DATABASE
    assert content(former.url) == before


@pytest.mark.parametrize(
    ("version", "got", "remedy"),
    [("5", "5", "tryst carole upgrade"), ("99", "99", "the version of Tryst that upgraded it")],
)
def test_another_version_is_refused_and_the_remedy_named(
    url: str, tmp_path: Path, version: str, got: str, remedy: str
) -> None:
    initialise(url, tmp_path / "blobs", Identity(IdentityKey.create()), milliseconds)
    with transaction(url) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": version})
    with pytest.raises(TrystError) as caught:
        Database(url)
    assert (caught.value.code, caught.value.got) == (ErrorCode.DATABASE, got)
    assert remedy in caught.value.remedy
    if version == "99":
        with pytest.raises(TrystError, match="must have schema version"):
            upgrade(url, tmp_path / "blobs", Identity(IdentityKey.create()), milliseconds)


def test_the_command_upgrades_what_serve_refuses_and_not_below_a_running_carole(
    parties: Provisioned, tmp_path: Path
) -> None:
    folder = tmp_path / "carole"
    keys = Path(shutil.copytree(parties.parties["carole"].path, folder / "keys"))
    former = Former(f"sqlite:///{folder / 'carole.db'}", folder)
    for key in ("wrapping.key", "identity.key"):
        shutil.copy(folder / key, keys / key)
    # The list must have the identity that the former release's store was made by.
    own = open_identity(None, keys / "identity.key").public
    listed = Members.load(keys / "members.yaml")
    members = Members(replace(one, identity=own) if one.role is Role.LINKER else one for one in listed)
    (keys / "members.yaml").write_text(members.dump())
    configuration = folder / "carole.yaml"
    text = template("127.0.0.1:0", keys="keys").replace("store/carole.db", "carole.db").replace("store/blobs", "blobs")
    configuration.write_text(text)

    def tryst(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "tryst.common.command", *words, "--config", str(configuration)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    status, shown = tryst("carole", "serve")
    assert (status, "tryst carole upgrade" in shown) == (1, True), shown
    status, shown = tryst("carole", "upgrade")
    assert (status, shown.startswith("The database had version 5 and has version")) == (0, True), shown
    process = Process(configuration, tmp_path)
    try:
        process.address()
        blobs = Blobs(former.blobs)
        with pytest.raises(TrystError) as caught:
            former.upgrade()
        assert caught.value.code is ErrorCode.BUSY
        assert not blobs.is_unused()
    finally:
        process.popen.terminate()
        assert process.popen.wait(60) == 0
