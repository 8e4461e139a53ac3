"""The schema of a new store, and stores of another version."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from gemel.carole.store.database import Database
from gemel.carole.store.provision import initialise, upgrade
from gemel.carole.store.store import milliseconds
from gemel.carole.store.tables import metadata
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity
from gemel.common.keys.identity_key import IdentityKey


class transaction:  # noqa: N801 - used like a function
    """A transaction of the database's administrator, beside Gemel's own."""

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


def test_the_schema_is_that_of_the_tables_and_guards_the_log(url: str, tmp_path: Path) -> None:
    initialise(url, tmp_path / "blobs", Identity(IdentityKey.create()), milliseconds)
    with transaction(url) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    for table, column in (("audit", "at"), ("audit_nodes", "height"), ("audit_checkpoints", "at")):
        for statement in (f"UPDATE {table} SET {column} = {column} + 1", f"DELETE FROM {table}"):  # noqa: S608
            with pytest.raises(DBAPIError, match="append-only"), transaction(url) as connection:
                connection.execute(text(statement))


@pytest.mark.parametrize(
    ("version", "got", "remedy"),
    [("5", "5", "gemel carole upgrade"), ("99", "99", "the version of Gemel that upgraded it")],
)
def test_another_version_is_refused_and_the_remedy_named(
    url: str, tmp_path: Path, version: str, got: str, remedy: str
) -> None:
    initialise(url, tmp_path / "blobs", Identity(IdentityKey.create()), milliseconds)
    with transaction(url) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": version})
    with pytest.raises(GemelError) as caught:
        Database(url)
    assert (caught.value.code, caught.value.got) == (ErrorCode.DATABASE, got)
    assert remedy in caught.value.remedy
    if version == "99":
        with pytest.raises(GemelError, match="must have schema version"):
            upgrade(url, tmp_path / "blobs", Identity(IdentityKey.create()), milliseconds)
