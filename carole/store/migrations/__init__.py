"""The database's schema, step by step from that of the first release to that of `tables`, run by Alembic.

Each module of `versions` makes one version of the schema out of the one before. A new database goes through all of
them, so that there is one way to the schema, and a test compares its end with `tables`. What a step does is written
out, and nothing of it is imported from `tables`. SQLite and PostgreSQL both
change tables within a transaction; all steps, and the audit entry about them, are one.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from gemel.common.versions import STORE
from gemel.serving.schema_steps import run_steps

STEPS = Path(__file__).parent


def schema_version(connection: Connection) -> int | None:
    """The version of a database's schema; None if it has no tables of ours."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else int(found)


def migrate(connection: Connection, target: int = STORE, steps: Path = STEPS) -> None:
    """Take a database from its version, or from nothing, to `target`, in the caller's transaction.

    On PostgreSQL two that migrate at once wait for each other. The second then finds nothing to do.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(7240191)"))
    version = schema_version(connection)
    if version == target:
        return
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    script, context = ScriptDirectory(str(steps)), MigrationContext.configure(connection)
    run_steps(connection, steps, version, target, lambda made: context.stamp(script, str(made)))
