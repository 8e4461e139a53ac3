"""From the tables to the pure `Project`: reading it, and locking it for a change (see `changes`)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, Connection, Row, Select, Table, bindparam, func, select

from gemel.carole.projects.project import (
    Approval,
    Decline,
    Grant,
    KeyReport,
    MessageKind,
    NewEpoch,
    PendingHandOver,
    Policy,
    Project,
    ReleaseSignature,
    RestoreDecision,
    Run,
    RunState,
    State,
    Upload,
)
from gemel.carole.projects.transitions import Action
from gemel.carole.store.database import number_of
from gemel.carole.store.tables import (
    approvals,
    artifacts,
    audit,
    chunks,
    declines,
    epochs,
    hand_overs,
    key_reports,
    messages,
    payloads,
    projects,
    release_signatures,
    results,
    runs,
    uploads,
)
from gemel.common.audit import Checkpoint
from gemel.common.audit.statements import HandOver
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import SIDE_OF_ROLE, Role, Side
from gemel.common.specification.model.granted_variables import Transfer

RESTORED = "restored"
"""The row of `meta` with the sequence number of the newest restoration's entry; none if nothing was restored."""


# Statements are made once: every call reads projects, and making a statement costs as much as its execution.
_IDS: BindParameter[Any] = bindparam("ids", expanding=True)


def _of(table: Table, *order: Any) -> Select[Any]:
    return select(table).where(table.c.project.in_(_IDS)).order_by(*order)


def _of_the_epoch(table: Table) -> Select[Any]:
    return _of(table).join(projects).where(table.c.epoch == projects.c.epoch)


_ROWS: dict[Table, Select[Any]] = {
    approvals: _of(approvals, approvals.c.at),
    declines: _of(declines),
    epochs: _of_the_epoch(epochs),
    hand_overs: _of(hand_overs),
    messages: _of_the_epoch(messages),
    key_reports: _of_the_epoch(key_reports),
    uploads: _of(uploads, uploads.c.sequence),
    runs: _of(runs, runs.c.sequence),
    release_signatures: _of(release_signatures, release_signatures.c.at, release_signatures.c.member),
}
"""What a project has several of, or may lack; of keys what is of the present epoch."""

_RECEIVED = (
    select(chunks.c.payload, func.sum(chunks.c.size))
    .join(uploads, uploads.c.payload == chunks.c.payload)
    .where(uploads.c.project.in_(_IDS))
    .group_by(chunks.c.payload)
)

_RELEASED_LAST = (
    select(runs.c.project, func.max(runs.c.sequence).label("sequence"))
    .where(runs.c.project.in_(_IDS), runs.c.released == 1)
    .group_by(runs.c.project)
    .subquery()
)

_ACKNOWLEDGED = (
    select(runs.c.project, results.c.recipient)
    .join(results, results.c.run == runs.c.run)
    .join(_RELEASED_LAST, (_RELEASED_LAST.c.project == runs.c.project) & (_RELEASED_LAST.c.sequence == runs.c.sequence))
    .where(results.c.acknowledged_at.is_not(None))
)

_SIDE_OF_HANDLES = {f"handles-{side}": side for side in Side}

_HANDLES = (
    select(artifacts.c.run, artifacts.c.name)
    .join(runs, runs.c.run == artifacts.c.run)
    .join(payloads, payloads.c.id == artifacts.c.payload)
    .where(runs.c.project.in_(_IDS), payloads.c.complete == 1, artifacts.c.name.in_(_SIDE_OF_HANDLES))
)


def sent_by(side: Side) -> str:
    """How the names of artifacts begin in which a custodian sends granted columns."""
    return f"{side}-to-"


def transfer_names(transfers: Sequence[Transfer]) -> dict[Transfer, str]:
    """The names of the artifacts of transfers, by their places in the specification."""
    return {transfer: f"{sent_by(transfer.sender)}{place}" for place, transfer in enumerate(transfers)}


_SENT = (
    select(runs.c.project, artifacts.c.name, artifacts.c.acknowledged_at)
    .join(artifacts, artifacts.c.run == runs.c.run)
    .join(payloads, payloads.c.id == artifacts.c.payload)
    .join(_RELEASED_LAST, (_RELEASED_LAST.c.project == runs.c.project) & (_RELEASED_LAST.c.sequence == runs.c.sequence))
    .where(payloads.c.complete == 1, projects.c.id == runs.c.project, projects.c.state == int(State.RELEASED))
)


@dataclass(frozen=True)
class Held:
    """A project read in a transaction, with its row's number and its specification's text."""

    id: int
    project: Project
    specification: str


def read_project(connection: Connection, name: str, *, lock: bool = False) -> Held:
    """Read a project; locked, if requested, against other writers until the transaction ends."""
    query = select(projects).where(projects.c.name == name)
    found = _assemble(connection, connection.execute(query.with_for_update() if lock else query).all())
    if not found:
        raise not_found()
    return found[0]


def number(connection: Connection, name: str, *, lock: bool = False) -> int:
    """The number of a project's row, where no more of it is needed; locked as by `read_project`, if requested."""
    query = select(projects.c.id).where(projects.c.name == name)
    found = connection.execute(query.with_for_update() if lock else query).scalar()
    if found is None:
        raise not_found()
    return int(found)


def all_held(connection: Connection) -> list[Held]:
    """Every project, in the order they were created."""
    return _assemble(connection, connection.execute(select(projects).order_by(projects.c.id)).all())


def not_found() -> GemelError:
    """The same error for what does not exist and for what the caller may not know; it contains no name."""
    what = "it does not exist, or you may not see it"
    return GemelError(ErrorCode.NOT_FOUND, what, remedy="check the project's name and the identifiers")


def _assemble(connection: Connection, rows: Sequence[Row[Any]]) -> list[Held]:
    ids = [row.id for row in rows]
    if not ids:
        return []

    def of(statement: Select[Any]) -> dict[int, list[Any]]:
        found: dict[int, list[Any]] = defaultdict(list)
        for row in connection.execute(statement, {"ids": ids}):
            found[row.project].append(row)
        return found

    rows_of = {table: of(statement) for table, statement in _ROWS.items()}
    received = {payload: int(size) for payload, size in connection.execute(_RECEIVED, {"ids": ids})}
    acknowledged, sent = of(_ACKNOWLEDGED), of(_SENT)
    handles_received_from: dict[str, list[Side]] = defaultdict(list)
    for run, name in connection.execute(_HANDLES, {"ids": ids}):
        handles_received_from[run].append(_SIDE_OF_HANDLES[name])
    restorations, decisions = _restored(connection, {row.name: row.owner for row in rows})
    held = []
    for row in rows:
        own = {table: found[row.id] for table, found in rows_of.items()}
        project = Project(
            name=row.name,
            specification_digest=row.specification_digest,
            encoding_digest=row.encoding_digest,
            policy=Policy(row.policy),
            grants={Role(role): Grant(grant) for role, grant in json.loads(row.grants).items()},
            state=State(row.state),
            epoch=row.epoch,
            owner=row.owner,
            hand_over=next((_hand_over(row.name, offer) for offer in own[hand_overs]), None),
            approvals={
                Role(given.role): Approval(given.member, given.digest, given.signature, given.at, row.epoch)
                for given in own[approvals]
            },
            new_epoch=next((NewEpoch(o.epoch, o.member, o.reason, o.signature, o.at) for o in own[epochs]), None),
            declines={Side(d.side): Decline(d.member, d.digest, d.reason, d.signature, d.at) for d in own[declines]},
            messages={(Side(one.side), MessageKind(one.kind)): one.payload for one in own[messages]},
            reports={Side(report.side): _report(report) for report in own[key_reports]},
            uploads=_newest(own[uploads], received),
            pending=_pending(own[uploads], received),
            runs=tuple(run_of(run, frozenset(handles_received_from[run.run])) for run in own[runs]),
            acknowledged=frozenset(SIDE_OF_ROLE[Role(share.recipient)] for share in acknowledged[row.id]),
            transfers=transfers_of(row.transfers),
            sent=_transferred(row.transfers, sent[row.id]),
            received=_transferred(row.transfers, [one for one in sent[row.id] if one.acknowledged_at is not None]),
            signatures=row.signatures,
            release_signatures=tuple(
                ReleaseSignature(one.run, one.member, one.identity, one.report, one.signature, one.at)
                for one in own[release_signatures]
            ),
            restoration=restorations.get(row.name, 0),
            restore_decisions=tuple(decisions[row.name]),
        )
        held.append(Held(row.id, project, row.specification))
    return held


def transfers_of(text: str) -> tuple[Transfer, ...]:
    return tuple(Transfer(Side(sender), to) for sender, to in json.loads(text))


def _transferred(text: str, rows: Sequence[Row[Any]]) -> frozenset[Transfer]:
    by_name = {name: transfer for transfer, name in transfer_names(transfers_of(text)).items()}
    return frozenset(by_name[row.name] for row in rows if row.name in by_name)


def newest_restoration(connection: Connection) -> int:
    """Sequence number of the newest restoration's entry; 0 if there was none."""
    return number_of(connection, RESTORED) or 0


def _restored(
    connection: Connection, owners: Mapping[str, str]
) -> tuple[dict[str, int], dict[str, list[RestoreDecision]]]:
    """Per project the newest restoration since it was created, and all decisions on restorations, from the log.

    A coordinator's acceptance for which nothing waited names the owner of then. Empty, there was no such project: it
    counts for what its signer has made since.
    """
    decisions: dict[str, list[RestoreDecision]] = defaultdict(list)
    newest = newest_restoration(connection)
    if not newest:
        return {}, decisions
    first = select(audit.c.project, func.min(audit.c.sequence)).where(audit.c.project.in_(owners))
    began = {str(row[0]): int(row[1]) for row in connection.execute(first.group_by(audit.c.project))}
    made = select(audit.c.project, audit.c.action, audit.c.actor, audit.c.details).where(
        audit.c.project.in_(owners), audit.c.action.in_([str(Action.ACCEPT_RESTORE), str(Action.REFUSE_RESTORE)])
    )
    for row in connection.execute(made.order_by(audit.c.sequence)):
        details = json.loads(row.details)
        owner = details.get("owner", row.actor) or owners[row.project]
        decisions[row.project].append(
            RestoreDecision(
                details["restoration"],
                Role(details["role"]),
                row.actor,
                row.action == str(Action.ACCEPT_RESTORE),
                details.get("reason", ""),
                frozenset(part.partition(":")[0] for part in details["released"].split()),
                frozenset(details["fetched"].split()),
                decides=owner == row.actor,
            )
        )
    return {name: newest for name, number in began.items() if number < newest}, decisions


def _hand_over(project: str, row: Row[Any]) -> PendingHandOver:
    seen = Checkpoint.from_text(row.checkpoint, "offers of projects")
    statement = HandOver(project, row.former, row.successor, seen, row.reason)
    return PendingHandOver(statement, row.member, bytes(row.signature), row.at)


def _report(row: Row[Any]) -> KeyReport:
    parts = {name: bytes.fromhex(part) for name, part in json.loads(row.canary_parts).items()}
    return KeyReport(row.key_check_value, row.canary_digest, parts)


def _newest(rows: Sequence[Row[Any]], received: dict[str, int]) -> dict[Side, Upload]:
    """Per side the upload that counts: the committed one, else the newest in progress, else the last expired."""
    chosen: dict[Side, tuple[tuple[bool, bool, int], Upload]] = {}
    for row in rows:
        if row.ended not in (None, "expired"):
            continue
        live, committed = row.ended is None, row.committed_at is not None
        rank = (live, live and committed, row.sequence)
        side = Side(row.side)
        if side not in chosen or rank > chosen[side][0]:
            chosen[side] = rank, upload_of(row, received.get(row.payload, 0))
    return {side: upload for side, (_, upload) in chosen.items()}


def _pending(rows: Sequence[Row[Any]], received: dict[str, int]) -> dict[Side, Upload]:
    """Per side the upload that is in progress beside a committed one."""
    live = [row for row in rows if row.ended is None]
    committed = {row.side for row in live if row.committed_at is not None}
    return {
        Side(row.side): upload_of(row, received.get(row.payload, 0))
        for row in live
        if row.committed_at is None and row.side in committed
    }


def upload_of(row: Row[Any], received: int) -> Upload:
    committed, expired = row.committed_at is not None, row.ended == "expired"
    return Upload(row.upload, committed, row.rows, row.total_bytes, received, expired, row.layout)


def run_of(row: Row[Any], handles_received_from: frozenset[Side] = frozenset()) -> Run:
    progress = row.stage, row.fraction, row.error, row.links, row.attempt
    return Run(
        row.run, row.request, RunState(row.state), *progress, bool(row.released), handles_received_from, row.call
    )
