"""The steps of a database's schema, from one version to another, run by Alembic in the caller's transaction.

A folder has a subfolder `versions` with one module per step: `revision` is the version that it makes, `down_revision`
the one before, and `upgrade` makes it. A step is never changed once a release has it, and imports nothing of the
program that may change. Steps lead forward only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection


def run_steps(
    connection: Connection, folder: Path, version: int | None, target: int, record: Callable[[int], None]
) -> None:
    """Take a database from `version`, or from nothing, to `target`; `record` writes each version down in its
    transaction."""
    if version == target:
        return
    # Alembic is needed when a database is made or upgraded, and takes a third of a second to import.
    from alembic.operations import Operations
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    steps = ScriptDirectory(str(folder))
    first = "base" if version is None else str(version)
    pending = [step for step in steps.iterate_revisions(str(target), first) if step.revision != first]
    with Operations.context(MigrationContext.configure(connection)), warnings.catch_warnings():
        for step in reversed(pending):
            step.module.upgrade()
            record(int(step.revision))
