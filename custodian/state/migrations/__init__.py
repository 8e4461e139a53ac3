"""The schema of a custodian's state, step by step from that of the first release to that of `state_tables`.

A service brings an older state to its own version (SQLite's ``user_version``) when it opens it, all steps in one
transaction: after a kill the next start does it again. No copy is made, which would keep what is later erased. New
states take the same way from nothing.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from gemel.common.versions import CUSTODIAN_STATE
from gemel.serving.schema_steps import run_steps

STEPS = Path(__file__).parent


def state_version(connection: Connection) -> int | None:
    """The version of a state's schema; None for a new file."""
    return connection.exec_driver_sql("PRAGMA user_version").scalar_one() or None


def migrate(connection: Connection, target: int = CUSTODIAN_STATE, steps: Path = STEPS) -> None:
    """Take a state from its version, or from nothing, to `target`, in the caller's transaction."""

    def record(made: int) -> None:
        connection.exec_driver_sql(f"PRAGMA user_version = {made}")

    run_steps(connection, steps, state_version(connection), target, record)
