"""The audit log: who did what to which project, in order and without a gap, in the transaction of the change itself.

An entry is written with the change it records, or neither is, and every transaction that adds entries ends with a
signed checkpoint of the whole log. Details are names, counts and digests. The tables refuse updates and deletions;
sequence numbers come from one locked row, so that they have no gaps and their order is the order of the commits.
Whoever can write to the database can still remove this protection: `audit_check` detects changes made without Carole's
key, and the checkpoints that custodians keep detect the others.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select

from gemel.carole.projects.operations.outcome import Entry
from gemel.carole.projects.transitions import SYSTEM, Action
from gemel.carole.store import log_tree
from gemel.carole.store.database import Database, count, counter
from gemel.carole.store.payloads.encrypted_payloads import Clock
from gemel.carole.store.tables import audit, audit_checkpoints, audit_nodes, audit_witnesses, meta
from gemel.common.audit import AuditEntry, Checkpoint
from gemel.common.audit.checkpoint import LARGEST
from gemel.common.audit.entry import canonical, new_salt
from gemel.common.audit.signed_note import NoteLine
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity


def append(connection: Connection, at: int, project: str, entries: Iterable[Entry]) -> None:
    """Add entries to the log and its tree, in the caller's transaction."""
    for reported in entries:
        sequence, text = count(connection, "audit"), canonical(reported.details)
        entry = AuditEntry(sequence, at, project, reported.actor, str(reported.action), text, new_salt())
        values = {"sequence": entry.sequence, "at": at, "project": project, "actor": entry.actor}
        values |= {"action": entry.action, "details": text, "salt": entry.salt}
        connection.execute(insert(audit).values(values))
        made = log_tree.completed(entry.sequence - 1, entry.leaf, partial(node, connection))
        connection.execute(
            insert(audit_nodes), [{"height": height, "position": place, "hash": value} for height, place, value in made]
        )


def start(connection: Connection, identity: Identity, clock: Clock) -> str:
    """Start the log of a new store, with a checkpoint of size 0; its random name, by which the store is known."""
    log = secrets.token_hex(16)
    _checkpoint(connection, identity, clock, log, 0)
    append(connection, clock(), "", [Entry(SYSTEM, Action.INIT, {"store": log})])
    return log


def seal(connection: Connection, identity: Identity, clock: Clock) -> None:
    """End a transaction: a checkpoint if it has added entries."""
    sealed = select(func.max(audit_checkpoints.c.size)).scalar_subquery()
    size = select(meta.c.value).where(meta.c.key == "audit").scalar_subquery()
    row = connection.execute(select(sealed, size)).one()
    if row[0] < row[1]:
        _checkpoint(connection, identity, clock, log_name(connection), int(row[1]))


def _checkpoint(connection: Connection, identity: Identity, clock: Clock, log: str, size: int) -> None:
    root = log_tree.root(size, partial(node, connection))
    signed = Checkpoint.sign(identity, log, size, root, clock())
    values = {"size": size, "log": log, "root": root, "at": signed.at, "signature": signed.signature}
    connection.execute(insert(audit_checkpoints).values(values))


def log_name(connection: Connection) -> str:
    """The log's name, which is the identity of its store: in its first checkpoint, and in the folder of blobs."""
    return str(connection.execute(select(audit_checkpoints.c.log).where(audit_checkpoints.c.size == 0)).scalar_one())


def last(connection: Connection) -> int:
    """Sequence number of the newest entry: it grows whenever any project changes."""
    return counter(connection, "audit")


def entries(connection: Connection, project: str | None = None) -> list[AuditEntry]:
    """The log, of one project or of all, oldest first."""
    query = select(audit).order_by(audit.c.sequence)
    if project is not None:
        query = query.where(audit.c.project == project)
    return [entry_of(row) for row in connection.execute(query)]


def entry_of(row: Row[Any]) -> AuditEntry:
    return AuditEntry(row.sequence, row.at, row.project, row.actor, row.action, row.details, bytes(row.salt))


def node(connection: Connection, height: int, position: int) -> bytes:
    query = select(audit_nodes.c.hash).where(audit_nodes.c.height == height, audit_nodes.c.position == position)
    found = connection.execute(query).scalar()
    if found is None:
        raise GemelError(
            ErrorCode.AUDIT,
            "the audit log has been damaged",
            where=f"entries {(position << height) + 1} to {(position + 1) << height}",
            got="a missing node of its tree",
            remedy="stop Carole, keep the database as it is, and run 'gemel audit verify'",
        )
    return bytes(found)


_LISTS = (
    select(audit)
    .where(audit.c.project == "", audit.c.action == str(Action.LIST_MEMBERS))
    .order_by(audit.c.sequence.desc())
)
"""The recorded membership lists, newest first."""


class Log:
    """Read access to the log; each call sees one state of the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def deny(self, actor: str, method: str, at: int) -> None:
        with self._database.write() as connection:
            append(connection, at, "", [Entry(actor or "unknown", Action.DENY, {"method": method})])

    def list_members(self, details: Mapping[str, Any], at: int) -> None:
        with self._database.write() as connection:
            append(connection, at, "", [Entry("system", Action.LIST_MEMBERS, details)])

    def last_members(self) -> dict[str, Any] | None:
        """The membership list recorded last, by name; None before the first."""
        with self._database.read() as connection:
            row = connection.execute(_LISTS.limit(1)).first()
        return None if row is None else entry_of(row).details["members"]

    def last_as_member(self, name: str) -> dict[str, str] | None:
        """The entry of a name in the newest recorded membership list that has it; None if none has."""
        with self._database.read() as connection:
            lists = (entry_of(row).details["members"] for row in connection.execute(_LISTS))
            return next((dict(listed[name]) for listed in lists if name in listed), None)

    def entries(self, project: str | None = None) -> list[AuditEntry]:
        """The entries of one project or of all, oldest first."""
        with self._database.read() as connection:
            return entries(connection, project)

    def checkpoint(self) -> Checkpoint:
        """The newest checkpoint: it covers all entries."""
        with self._database.read() as connection:
            return newest(connection)

    def at(self, size: int) -> Checkpoint:
        """The checkpoint of the log's first `size` entries, as a party may have seen it; AUDIT if there is none."""
        query = select(audit_checkpoints).where(audit_checkpoints.c.size == min(size, LARGEST))
        with self._database.read() as connection:
            row = connection.execute(query).first()
        if row is None:
            raise no_such_checkpoint(size)
        return checkpoint_of(row)

    def continued(self, size: int) -> tuple[Checkpoint, list[bytes]]:
        """The newest checkpoint with the proof that it continues the log's first `size` entries."""
        with self._database.read() as connection:
            shown = newest(connection)
            if size > shown.size:
                what = "the audit log is shorter than the one seen before"
                got = f"{shown.size} entries, and {size} were seen"
                remedy = "keep the checkpoint as evidence and contact Carole's operator"
                raise GemelError(ErrorCode.AUDIT, what, where="audit log", got=got, remedy=remedy)
            return shown, log_tree.consistency_proof(size, shown.size, partial(node, connection))

    def note(self, member: str, seen: Checkpoint, countersignature: bytes, cosigned: NoteLine) -> None:
        """Store the checkpoint a member has accepted, unless a later one is stored. All signatures are verified.

        A checkpoint of what this log has lost by a restoration is left: shown to another reader, it would look as if
        the log were forked.
        """
        former = self.noted(member)
        if former is not None and former[0].size >= seen.size:
            return  # no transaction that writes for what changes nothing
        with self._database.write() as connection:
            if seen.root != log_tree.root(seen.size, partial(node, connection)):
                return
            which = audit_witnesses.c.member == member
            stored = connection.scalar(select(audit_witnesses.c.size).where(which))
            if stored is not None and stored >= seen.size:
                return
            connection.execute(delete(audit_witnesses).where(which))
            connection.execute(
                insert(audit_witnesses).values(
                    member=member, size=seen.size, checkpoint=seen.to_text(cosigned), countersignature=countersignature
                )
            )

    def awaited(self, member: str, other: str, projects: Collection[str]) -> int:
        """The size up to which a custodian has yet to countersign the log; 0 if it has.

        `projects`: those whose released result a custodian has yet to fetch: it waits until the other one has
        countersigned their releases, and whatever it had seen itself when they were offered to it.
        """
        if not projects:
            return 0
        releases = select(func.max(audit.c.sequence)).where(
            audit.c.project.in_(projects), audit.c.action == str(Action.RELEASE)
        )
        sizes = select(audit_witnesses.c.member, audit_witnesses.c.size)
        with self._database.read() as connection:
            released = connection.scalar(releases) or 0
            seen = {row.member: int(row.size) for row in connection.execute(sizes)}
        awaited = max(released, seen.get(other, 0))
        return awaited if awaited > seen.get(member, 0) else 0

    def changed(self, after: int, maximum: int) -> tuple[list[tuple[str, int]], int]:
        """The projects that entries after a number are about, each with its last entry's number; and the newest number.

        `maximum`: of the projects: those that changed first, by their last entries. O(entries after the number).
        """
        number = func.max(audit.c.sequence)
        query = select(audit.c.project, number).where(audit.c.sequence > after, audit.c.project != "")
        ordered = query.group_by(audit.c.project).order_by(number).limit(maximum)
        with self._database.read() as connection:
            newest = last(connection)
            return [(str(row[0]), int(row[1])) for row in connection.execute(ordered)], newest

    def leaf(self, sequence: int) -> bytes:
        """The hash of an entry in the log's tree; empty for none."""
        with self._database.read() as connection:
            return node(connection, 0, sequence - 1) if sequence else b""

    def confirmed(self, sequence: int, leaf: bytes) -> int:
        """The entry's number, if the log has it with this hash; else 0, as after a restoration from before it."""
        with self._database.read() as connection:
            known = 0 < sequence <= last(connection) and node(connection, 0, sequence - 1) == leaf
        return sequence if known else 0

    def approved(self, project: str, member: str) -> dict[str, Any]:
        """Details of the member's newest approval in a project; empty before the first."""
        query = select(audit).where(audit.c.project == project, audit.c.action == str(Action.APPROVE))
        with self._database.read() as connection:
            row = connection.execute(
                query.where(audit.c.actor == member).order_by(audit.c.sequence.desc()).limit(1)
            ).first()
        return {} if row is None else dict(entry_of(row).details)

    def released(self, project: str, run: str, size: int) -> tuple[AuditEntry, list[bytes]] | None:
        """The newest entry of a run's release, with its proof of inclusion in the first `size` entries; None if they
        have none."""
        query = select(audit).where(audit.c.project == project, audit.c.action == str(Action.RELEASE))
        with self._database.read() as connection:
            for row in connection.execute(query.where(audit.c.sequence <= size).order_by(audit.c.sequence.desc())):
                entry = entry_of(row)
                if entry.details["run"] == run:
                    path = log_tree.inclusion_proof(entry.sequence - 1, size, partial(node, connection))
                    return entry, path
        return None

    def noted(self, member: str) -> tuple[Checkpoint, bytes] | None:
        """The checkpoint a member last accepted, and its countersignature."""
        with self._database.read() as connection:
            row = connection.execute(select(audit_witnesses).where(audit_witnesses.c.member == member)).first()
        return None if row is None else (Checkpoint.from_text(row.checkpoint, "witnesses"), bytes(row.countersignature))

    def proof(self, old: int, new: int) -> list[bytes]:
        """Proof that the first `new` entries begin with the first `old`."""
        with self._database.read() as connection:
            if not 0 <= old <= new <= last(connection):
                what = "the audit log has fewer entries"
                raise GemelError(ErrorCode.AUDIT, what, where="audit log", got=f"{old} and {new}")
            return log_tree.consistency_proof(old, new, partial(node, connection))

    def proven(
        self, project: str | None, after: int, maximum: int
    ) -> tuple[Checkpoint, list[tuple[AuditEntry, list[bytes]]]]:
        """Entries after number `after`, each with its proof of inclusion under the returned checkpoint."""
        query = select(audit).where(audit.c.sequence > min(after, 2**62)).order_by(audit.c.sequence).limit(maximum)
        if project is not None:
            query = query.where(audit.c.project == project)
        with self._database.read() as connection:
            shown = newest(connection)
            found = [entry_of(row) for row in connection.execute(query)]
            return shown, [
                (entry, log_tree.inclusion_proof(entry.sequence - 1, shown.size, partial(node, connection)))
                for entry in found
            ]


def no_such_checkpoint(size: int) -> GemelError:
    """The error for a statement about the owner of a project, signed at a checkpoint that is not of this ownership."""
    what = "the statement does not name a checkpoint of this audit log since the project came to its owner"
    remedy = "sign again: the command reads the newest checkpoint first"
    return GemelError(ErrorCode.AUDIT, what, where="audit log", got=f"{size} entries", remedy=remedy)


def cosigned(connection: Connection, member: str) -> str | None:
    """The checkpoint a member last accepted, with its cosignature; None if there is none."""
    which = select(audit_witnesses.c.checkpoint).where(audit_witnesses.c.member == member)
    return connection.scalar(which)


def newest(connection: Connection) -> Checkpoint:
    row = connection.execute(select(audit_checkpoints).order_by(audit_checkpoints.c.size.desc()).limit(1)).one()
    return checkpoint_of(row)


def checkpoint_of(row: Row[Any]) -> Checkpoint:
    return Checkpoint(row.log, row.size, bytes(row.root), row.at, bytes(row.signature))
