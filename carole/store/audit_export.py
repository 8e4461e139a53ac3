"""The audit log for readers without Gemel: what is hashed of each entry, and its proofs; see docs/audit-log.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, select

from gemel.carole.store.audit import entry_of, newest, node
from gemel.carole.store.tables import audit
from gemel.common.audit import merkle
from gemel.common.errors import parameter
from gemel.common.keys.identity import Identity


def exported(connection: Connection, identity: Identity, project: str | None, since: int) -> Iterator[dict[str, Any]]:
    """The lines of an export: the newest checkpoint first, then the entries, oldest first.

    Parameters
    ----------
    identity
        Carole's: it signs the checkpoint's note.
    project
        Whose entries; None for all.
    since
        Size of the log that is to be shown to be continued.

    Raises
    ------
    GemelError
        PARAMETER if the log has fewer entries than `since`.

    Notes
    -----
    O(log n) hashes for each entry of a log of n.
    """
    shown = newest(connection)
    if since > shown.size:
        raise parameter(
            "--since",
            "the log has fewer entries than the older checkpoint",
            f"{since}, and {shown.size} entries",
            "if the checkpoint is this log's, the log was cut: run 'gemel audit verify' with it",
        )

    def hash_of(height: int, position: int) -> bytes:
        return node(connection, height, position)

    yield {
        "checkpoint": shown.noted(identity).to_text(),
        "since": since,
        "continues": [part.hex() for part in merkle.consistency_proof(since, shown.size, hash_of)],
    }
    query = select(audit).where(audit.c.sequence <= shown.size).order_by(audit.c.sequence)
    if project is not None:
        query = query.where(audit.c.project == project)
    for row in connection.execution_options(yield_per=1000).execute(query):
        entry = entry_of(row)
        yield {
            "sequence": entry.sequence,
            "at": entry.at,
            "project": entry.project,
            "actor": entry.actor,
            "action": entry.action,
            "details": entry.text,
            "salt": entry.salt.hex(),
            "included": [part.hex() for part in merkle.inclusion_proof(entry.sequence - 1, shown.size, hash_of)],
        }
