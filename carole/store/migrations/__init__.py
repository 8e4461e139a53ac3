"""The database's schema, step by step from the first one that can be upgraded to that of `tables`, run by Alembic.

Each module of `versions` makes one version of the schema out of the one before. A new database goes through all of
them, so that there is one way to the schema, and a test compares its end with `tables`. What a step does is written
out, and nothing of it is imported from `tables`. SQLite and PostgreSQL both
change tables within a transaction; all steps, and the audit entry about them, are one.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from gemel.common.schema_steps import run_steps
from gemel.common.versions import STORE

FIRST = 5
"""The version before there were migrations: it is recorded in `meta`, and nowhere else."""


def schema_version(connection: Connection) -> int | None:
    """The version of a database's schema; None if it has no tables of ours."""
    tables = inspect(connection)
    if tables.has_table("alembic_version"):
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        return None if found is None else int(found)
    if tables.has_table("meta"):
        found = connection.execute(text("SELECT value FROM meta WHERE key = 'schema'")).scalar()
        return None if found is None else int(found)
    return None


def migrate(connection: Connection, target: int = STORE) -> None:
    """Take a database from its version, or from nothing, to `target`, in the caller's transaction.

    Notes
    -----
    On PostgreSQL two that migrate at once wait for each other. The second then finds nothing to do.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(7240191)"))
    version = schema_version(connection)
    if version == target:
        return
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    folder = Path(__file__).parent
    steps, context = ScriptDirectory(str(folder)), MigrationContext.configure(connection)
    if version == FIRST and context.get_current_revision() is None:
        context.stamp(steps, str(FIRST))
    run_steps(connection, folder, version, target, lambda made: context.stamp(steps, str(made)))
