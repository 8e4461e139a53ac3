"""Granted columns of linked records (`release.variables`), on their way from a custodian to a recipient.

They come sealed to the recipient, after the release, and are kept like the artifacts of a run: under a key of their
own, until the project is erased, or amended, which needs another release.
"""

from __future__ import annotations

from functools import partial

from sqlalchemy import update

from gemel.carole.projects import Project, operations
from gemel.carole.projects.operations import Outcome
from gemel.carole.store.artifacts import Artifacts, row_of
from gemel.carole.store.changes import Change, Changes
from gemel.carole.store.database import Database
from gemel.carole.store.quota import Quota
from gemel.carole.store.tables import artifacts
from gemel.carole.store.view import not_found, read_project, transfer_names
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.wire.chunks import CHUNK_BYTES, Chunk


class GrantedVariables:
    """Keeps what custodians have sent to recipients."""

    def __init__(self, database: Database, kept: Artifacts, changes: Changes) -> None:
        self._database = database
        self._kept = kept
        self._changes = changes

    def put(
        self, name: str, member: str, run: str, transfer: Transfer, chunk: Chunk, max_bytes: int, quota: Quota
    ) -> None:
        """Take a chunk of what a custodian sends; with the last one it is sent.

        The first chunk of other content restarts what is not complete.

        Raises
        ------
        GemelError
            As `operations.require_sendable` and `Artifacts.put`; UPLOAD_LIMIT above the quota.
        """

        def begin(change: Change) -> None:
            quota.check_transfer(change.connection, transfer.sender, chunk.count * CHUNK_BYTES)

        def complete(project: Project, total_bytes: int) -> Outcome:
            return operations.send_variables(project, member, run, transfer, total_bytes)

        allowed = partial(operations.require_sendable, run=run, transfer=transfer)
        self._kept.put(name, run, self._artifact(name, transfer), chunk, max_bytes, complete, allowed, begin)

    def fetch(self, name: str, role: Role, run: str, transfer: Transfer, index: int) -> Chunk:
        """A chunk of what was sent to the caller.

        Raises
        ------
        GemelError
            As `operations.require_receivable`; PARAMETER for an index past the end.
        """
        allowed = partial(operations.require_receivable, role=role, run=run, transfer=transfer)
        return self._kept.fetch(name, run, self._artifact(name, transfer), index, allowed)

    def acknowledge(self, name: str, role: Role, member: str, run: str, transfer: Transfer, root: bytes) -> None:
        """The recipient confirms that it holds what was sent to it.

        Raises
        ------
        GemelError
            As `fetch`; UPLOAD_CORRUPT if the root digest is another.
        """
        artifact = self._artifact(name, transfer)
        with self._changes.of(name) as change:
            outcome = operations.receive_variables(change.project, role, member, run, transfer)
            row = row_of(change.connection, run, artifact)
            if row is None or row.root != root:
                raise GemelError(
                    ErrorCode.UPLOAD_CORRUPT,
                    "the digest is not that of the columns sent",
                    where=f"{name}, run {run}, columns of {transfer.sender}",
                    remedy="fetch them again",
                )
            change.apply(outcome)
            if outcome.changed:
                which = artifacts.c.run == run, artifacts.c.name == artifact
                change.connection.execute(update(artifacts).where(*which).values(acknowledged_at=change.at))

    def _artifact(self, name: str, transfer: Transfer) -> str:
        """The transfer's name among the artifacts of its run."""
        with self._database.read() as connection:
            project = read_project(connection, name).project
        if transfer not in project.transfers:
            raise not_found()
        return transfer_names(project.transfers)[transfer]
