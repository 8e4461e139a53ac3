"""How much one custodian may begin to store, so that it fills neither the disk nor the audit log."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, func, not_, select

from gemel.carole.store.tables import artifacts, chunks, uploads
from gemel.carole.store.view import sent_by
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side

_DAY_MS = 24 * 3600 * 1000


@dataclass(frozen=True)
class Quota:
    """What one custodian may begin to store.

    Attributes
    ----------
    max_stored_bytes
        Of all its contributions in all projects, and of the granted columns that it has sent.
    new_uploads
        In one project in 24 hours: each one that begins writes to the audit log, which is kept for ever.
    """

    max_stored_bytes: int
    new_uploads: int

    def check(self, connection: Connection, project: int, side: Side, total_bytes: int, at: int) -> None:
        """Refuse a new upload above the quota.

        Parameters
        ----------
        project
            The project's row.
        at
            Now, in milliseconds since 1970.

        Raises
        ------
        GemelError
            UPLOAD_LIMIT.
        """
        mine = uploads.c.side == str(side)
        recent = select(func.count()).select_from(uploads).where(mine, uploads.c.project == project)
        begun = connection.scalar(recent.where(uploads.c.begun_at > at - _DAY_MS)) or 0
        if begun >= self.new_uploads:
            raise GemelError(
                ErrorCode.UPLOAD_LIMIT,
                f"a custodian may begin {self.new_uploads} uploads to a project in 24 hours",
                where="upload",
                got=f"{begun} already",
                remedy="find out why they do not end; if it is right, ask Carole's operator for more",
            )
        # The one in progress to the same project is dropped by the new one.
        dropped = and_(uploads.c.project == project, uploads.c.committed_at.is_(None))
        self._check_stored(connection, side, total_bytes, not_(dropped))

    def check_transfer(self, connection: Connection, side: Side, total_bytes: int) -> None:
        """Refuse granted columns, of about so many bytes, above the quota."""
        self._check_stored(connection, side, total_bytes)

    def _check_stored(
        self, connection: Connection, side: Side, total_bytes: int, *counted: ColumnElement[bool]
    ) -> None:
        mine = uploads.c.side == str(side)
        contributed = select(func.sum(uploads.c.total_bytes)).where(mine, uploads.c.ended.is_(None), *counted)
        sent = select(func.sum(chunks.c.size)).join(artifacts, artifacts.c.payload == chunks.c.payload)
        used = int(connection.scalar(contributed) or 0)
        used += int(connection.scalar(sent.where(artifacts.c.name.like(f"{sent_by(side)}%"))) or 0)
        if used + total_bytes > self.max_stored_bytes:
            raise GemelError(
                ErrorCode.UPLOAD_LIMIT,
                f"a custodian may store {self.max_stored_bytes} bytes in all projects",
                where="upload",
                got=f"{total_bytes} more than the {used} it has",
                remedy="have projects that have ended erased, or ask Carole's operator for more",
            )
