"""Projects that go from one coordinator to another: offers, and who takes them."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection, func, select

from gemel.carole.projects import Approval, PendingHandOver, Project, operations
from gemel.carole.projects.transitions import Action
from gemel.carole.store.audit import checkpoint_of
from gemel.carole.store.changes import Changes
from gemel.carole.store.database import Database
from gemel.carole.store.tables import audit as entries
from gemel.carole.store.tables import audit_checkpoints
from gemel.common.audit import Checkpoint
from gemel.common.audit.checkpoint import LARGEST
from gemel.common.audit.hand_over import HandOver, TakeOver
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role


class Ownership:
    """Offers of projects."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes

    def checkpoint(self, size: int) -> Checkpoint:
        """The checkpoint of the log's first `size` entries, as a party may have seen it.

        Raises
        ------
        GemelError
            AUDIT if there is none.
        """
        query = select(audit_checkpoints).where(audit_checkpoints.c.size == min(size, LARGEST))
        with self._database.read() as connection:
            row = connection.execute(query).first()
        if row is None:
            raise _unknown(size)
        return checkpoint_of(row)

    def hand_over(self, role: Role, member: str, statement: HandOver, signature: bytes) -> Project:
        """Keep an offer whose signature has been verified; errors as `operations.hand_over`, NOT_FOUND, and AUDIT for a
        statement of a time before the present owner's.
        """
        with self._changes.of(statement.project) as change:
            _require_newer(change.connection, statement.project, statement.seen)
            pending = PendingHandOver(statement, member, signature, change.at)
            return change.apply(operations.hand_over(change.project, role, pending))

    def take_over(
        self, statement: TakeOver, signature: bytes, digest: bytes, consent: bytes, epoch: int, opening: bytes = b""
    ) -> Project:
        """Make a coordinator the owner; errors as `operations.take_over`, NOT_FOUND, and AUDIT as `hand_over`.

        Parameters
        ----------
        statement, signature
            Its act; the signature has been verified.
        digest, consent, epoch
            The specification that it consents to, and the verified signature of that.
        opening
            The verified signature of the epoch that the project is in; empty in the first.
        """
        with self._changes.of(statement.project) as change:
            if change.project.owner != statement.successor:
                _require_newer(change.connection, statement.project, statement.seen)
            approval = Approval(statement.successor, digest, consent, change.at, epoch)
            opened = change.project.new_epoch
            signed = None
            if opened is not None and opening:
                signed = replace(opened, member=statement.successor, signature=opening, at=change.at)
            return change.apply(operations.take_over(change.project, statement, signature, approval, signed))


def _require_newer(connection: Connection, project: str, seen: Checkpoint) -> None:
    """Refuse a statement that was signed before the project came to its present owner: it is not about that one."""
    came = entries.c.action.in_([str(Action.CREATE), str(Action.TAKE_OVER)])
    query = select(func.max(entries.c.sequence)).where(entries.c.project == project, came)
    if seen.size < (connection.scalar(query) or 0):
        raise _unknown(seen.size)


def _unknown(size: int) -> GemelError:
    return GemelError(
        ErrorCode.AUDIT,
        "the statement does not name a checkpoint of this audit log since the project came to its owner",
        where="audit log",
        got=f"{size} entries",
        remedy="sign again: the command reads the newest checkpoint first",
    )
