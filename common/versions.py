"""Versions of messages and of stored data, where `gemel --version` reads them, and the steps between schemas.

A step of a schema is a module in the subfolder `versions` of a folder of migrations: `revision` is the version that it
makes, `down_revision` the one before, `upgrade` makes it. A step is never changed once a release has it, and imports
nothing of the program that may change. Steps lead forward only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection


WIRE = "linkage.v1"
"""The protobuf package of every message and service."""

PROTOCOL = 1
"""What two parties expect of each other beyond the form of messages. Raised when a release must refuse another for it;
`common/rpc/access.py` has what is still taken."""

CLEANING_EDITION = 1
"""Raised when a cleaning step or a default missing code changes meaning; part of the encoding digest, because two
custodians who clean differently sign equal people differently."""

CUSTODIAN_STATE = 1
"""Tables of a custodian's own database: the newest of `custodian/state/migrations/versions`. Every change of a
table raises it."""

STORE = 1
"""Tables of Carole's store: the newest of `carole/store/migrations/versions`. Every change of a table raises it."""


def run_steps(
    connection: Connection, folder: Path, version: int | None, target: int, record: Callable[[int], None]
) -> None:
    """Take a database, in the caller's transaction, from `version`, or from nothing, to `target`.

    Parameters
    ----------
    record
        Called after each step with the version that it has made, to write it down in the same transaction.
    """
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
