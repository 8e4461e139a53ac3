"""The audit log: who did what to which project, in order and without a gap, in the transaction of the change itself.

An entry is written with the change it tells of, or neither is. Details are names, counts and digests. The table
refuses updates and deletions; sequence numbers come from one locked row, so that they have no gaps and their order is
the order of the commits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from carole.projects.operations import Entry
from carole.store.tables import audit, meta


@dataclass(frozen=True)
class Recorded:
    """An entry as it stands in the log."""

    sequence: int
    at: int
    project: str
    actor: str
    action: str
    details: dict[str, Any]


def append(connection: Connection, at: int, project: str, entries: Iterable[Entry]) -> None:
    """Add entries to the log, in the caller's transaction."""
    for entry in entries:
        # The update locks the counter's row until the transaction ends.
        connection.execute(update(meta).where(meta.c.key == "audit").values(value=meta.c.value + 1))
        connection.execute(
            insert(audit).values(
                sequence=last(connection),
                at=at,
                project=project,
                actor=entry.actor,
                action=str(entry.action),
                details=json.dumps(dict(entry.details), sort_keys=True),
            )
        )


def last(connection: Connection) -> int:
    """Sequence number of the newest entry: a number that grows whenever any project changes."""
    return int(connection.execute(select(meta.c.value).where(meta.c.key == "audit")).scalar_one())


def entries(connection: Connection, project: str | None = None) -> list[Recorded]:
    """The log, of one project or of all, oldest first."""
    query = select(audit).order_by(audit.c.sequence)
    if project is not None:
        query = query.where(audit.c.project == project)
    return [
        Recorded(row.sequence, row.at, row.project, row.actor, row.action, json.loads(row.details))
        for row in connection.execute(query)
    ]
