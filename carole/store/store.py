"""The whole store: opened, recovered after a crash, closed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, func, select, update

from gemel.carole.bucket import Bucket
from gemel.carole.projects.operations.consent import hand_over, take_over
from gemel.carole.projects.operations.outcome import Outcome
from gemel.carole.projects.operations.release import (
    receive_variables,
    require_receivable,
    require_sendable,
    send_variables,
)
from gemel.carole.projects.project import Approval, PendingHandOver, Project
from gemel.carole.projects.transitions import Action
from gemel.carole.store import audit
from gemel.carole.store.audit import checkpoint_of
from gemel.carole.store.changes import Change, Changes
from gemel.carole.store.clock_guard import ClockGuard
from gemel.carole.store.database import Database
from gemel.carole.store.monitoring import Monitoring
from gemel.carole.store.outbox import Outbox
from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.payloads.encrypted_payloads import Clock, EncryptedPayloads, newest
from gemel.carole.store.registry import Registry
from gemel.carole.store.releases import Releases
from gemel.carole.store.restoring import Restorations
from gemel.carole.store.results import Artifacts, Results, row_of
from gemel.carole.store.retention import Retention, Sweeping, Swept, forget_writers
from gemel.carole.store.runs import Runs
from gemel.carole.store.tables import artifacts, audit_checkpoints, payloads
from gemel.carole.store.tables import audit as entries
from gemel.carole.store.tenure import Renewal, Standing
from gemel.carole.store.uploads import Quota, Uploads
from gemel.carole.store.view import not_found, read_project, transfer_names
from gemel.common.audit import Checkpoint
from gemel.common.audit.checkpoint import LARGEST
from gemel.common.audit.hand_over import HandOver, TakeOver
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity
from gemel.common.keys.vault import Vault
from gemel.common.parties import Role
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.wire.chunks import CHUNK_BYTES, Chunk

# Granted columns of linked records (`release.variables`), on their way from a custodian to a recipient.
#
# They come sealed to the recipient, after the release, and are kept like the artifacts of a run: under a key of their
# own, until the project is erased, or amended, which needs another release.


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

        The first chunk of other content restarts what is not complete. Errors as `operations.require_sendable` and
        `Artifacts.put`; UPLOAD_LIMIT above the quota.
        """

        def begin(change: Change) -> None:
            quota.check_transfer(change.connection, transfer.sender, chunk.count * CHUNK_BYTES)

        def complete(project: Project, total_bytes: int) -> Outcome:
            return send_variables(project, member, run, transfer, total_bytes)

        allowed = partial(require_sendable, run=run, transfer=transfer)
        self._kept.put(name, run, self._artifact(name, transfer), chunk, max_bytes, complete, allowed, begin)

    def fetch(self, name: str, role: Role, run: str, transfer: Transfer, index: int) -> Chunk:
        """A chunk of what was sent to the caller.

        Errors as `operations.require_receivable`; PARAMETER for an index past the end.
        """
        allowed = partial(require_receivable, role=role, run=run, transfer=transfer)
        return self._kept.fetch(name, run, self._artifact(name, transfer), index, allowed)

    def acknowledge(self, name: str, role: Role, member: str, run: str, transfer: Transfer, root: bytes) -> None:
        """The recipient confirms that it holds what was sent to it.

        Errors as `fetch`; UPLOAD_CORRUPT if the root digest is another.
        """
        artifact = self._artifact(name, transfer)
        with self._changes.of(name) as change:
            outcome = receive_variables(change.project, role, member, run, transfer)
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


# Projects that go from one coordinator to another: offers, and who takes them.


class Ownership:
    """Offers of projects."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes

    def checkpoint(self, size: int) -> Checkpoint:
        """The checkpoint of the log's first `size` entries, as a party may have seen it.

        Raises AUDIT if there is none.
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
            return change.apply(hand_over(change.project, role, pending))

    def take_over(
        self, statement: TakeOver, signature: bytes, digest: bytes, consent: bytes, epoch: int, opening: bytes = b""
    ) -> Project:
        """Make a coordinator the owner; errors as `operations.take_over`, NOT_FOUND, and AUDIT as `hand_over`.

        `statement`, `signature`: its act; the signature has been verified. `digest`, `consent`, `epoch`: the
        specification that it consents to, and the verified signature of that. `opening`: the verified signature of the
        epoch that the project is in; empty in the first.
        """
        with self._changes.of(statement.project) as change:
            if change.project.owner != statement.successor:
                _require_newer(change.connection, statement.project, statement.seen)
            approval = Approval(statement.successor, digest, consent, change.at, epoch)
            opened = change.project.new_epoch
            signed = None
            if opened is not None and opening:
                signed = replace(opened, member=statement.successor, signature=opening, at=change.at)
            return change.apply(take_over(change.project, statement, signature, approval, signed))


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


def milliseconds() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Store:
    """All of Carole's stored data.

    `url`: of the database: ``sqlite:///path`` or ``postgresql+psycopg://...``. `clock`: milliseconds since 1970; tests
    give their own. `holder`: the name under which a worker writes: its Carole's. `sweep`: destroys keys and removes
    files that nothing reaches; also while others write. Raises CONFIGURATION, DATABASE.
    """

    def __init__(
        self,
        url: str,
        blobs: Path | Bucket,
        vault: Vault,
        identity: Identity,
        clock: Clock = milliseconds,
        *,
        holder: str = "",
    ) -> None:
        self._database = Database(url, partial(audit.seal, identity=identity, clock=clock))
        self._database.holder = holder
        self._renewal: Renewal | None = None
        self._blobs = Blobs(blobs)
        self._payloads = EncryptedPayloads(self._blobs, vault)
        changes = Changes(self._database, self._payloads, clock)
        self.uploads = Uploads(self._database, self._blobs, self._payloads, changes)
        self.results = Results(self._database, self._payloads, changes)
        self.releases = Releases(self._database, self._payloads)
        self.artifacts = Artifacts(self._database, self._payloads, changes)
        self.variables = GrantedVariables(self._database, self.artifacts, changes)
        self.runs = Runs(self._database, changes, self.results, self.artifacts, clock)
        self.projects = Registry(self._database, changes, clock)
        self.ownership = Ownership(self._database, changes)
        self.clock_guard = ClockGuard(self._database, clock)
        self.retention = Retention(self._database, changes, self.clock_guard, clock)
        self.sweep = Sweeping(self._database, self._blobs, changes).sweep
        self.audit = audit.Log(self._database)
        self.restorations = Restorations(self._database, changes, clock)
        self.outbox = Outbox(self._database, clock)
        self.monitoring = Monitoring(self._database, url, self._blobs, clock)

    @property
    def holder(self) -> str:
        """The name under which this process may write (see `tenure`)."""
        return self._database.holder

    def recover(self, report: Callable[[Standing], None] = lambda standing: None) -> Swept:
        """Take hold of the store and sweep what a crash has left.

        Call once, before anything is served or any run taken. Nothing is changed before it is certain that database and
        blobs belong together and that no other Carole uses them. Runs of former workers are freed first: a worker that
        outlived its Carole can then no longer name the files that are removed here. Raises BUSY if another Carole uses
        the store; DATABASE if database and blobs are not of one store, or the database is older than the blobs.
        `report`: called from a thread when the database can no longer be reached, when it can again, and when another
        Carole has taken over.
        """
        self._blobs.claim()
        try:
            with self._database.read() as connection:
                self._blobs.require(audit.log_name(connection))
                self._blobs.require_known(connection.execute(select(payloads.c.id)).scalars().all(), newest(connection))
            self._database.hold(self._blobs.place)
        except BaseException:
            self._blobs.release()
            raise
        self.clock_guard.advance()
        self._renewal = Renewal(self._renew, report)
        self._renewal.start()
        self.runs.abandon()
        with self._database.write() as connection:
            self._payloads.rewrap(connection)
            forget_writers(connection)
        return self.sweep()

    def _renew(self) -> bool:
        held = self._database.renew()
        if held:
            self.clock_guard.advance()
        return held

    def close(self) -> None:
        """End the tenure, close the database and unlock the store."""
        if self._renewal is not None:
            self._renewal.stop()
        self._database.close(release=self._renewal is not None)
        self._blobs.release()
