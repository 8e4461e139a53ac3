"""A store that was put back to an earlier state: its entry in the log, and the parties' decisions about it.

The entry has the size and root of the log as it was put back. Whoever has seen more of the log finds that it does not
continue, and may accept that by signature, for each of its projects (see `projects.restoration`). The decisions are
entries of the log too, and are kept nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, select

from gemel.carole.bucket import Bucket
from gemel.carole.projects.operations.outcome import Detail, Entry
from gemel.carole.projects.operations.release import decide_restore
from gemel.carole.projects.project import Project, RestoreDecision
from gemel.carole.projects.restoration import concerns
from gemel.carole.projects.transitions import SYSTEM, Action
from gemel.carole.store import audit, log_tree
from gemel.carole.store.changes import Part
from gemel.carole.store.database import set_number
from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.payloads.encrypted_payloads import Clock
from gemel.carole.store.provision import change_held, require_pair
from gemel.carole.store.tables import audit as entries
from gemel.carole.store.tables import audit_checkpoints, payloads, projects, results
from gemel.carole.store.view import RESTORED, newest_restoration, read_project
from gemel.common.audit import AuditEntry, Checkpoint
from gemel.common.audit.statements import RestorationDecision
from gemel.common.errors import parameter
from gemel.common.keys.identity import Identity
from gemel.common.parties import CUSTODIANS, Role

MAX_RECORDED = 1000
"""Acceptances of one party for which nothing waits."""


def record_restoration(connection: Connection, made_at: int, at: int) -> int:
    """Record that the log, as it is now, is that of a store put back; returns its number of entries.

    `made_at`: time of the backup, in milliseconds since 1970; that of the newest entry where it is not known.
    """
    was = audit.newest(connection)
    details: dict[str, Detail] = {"store": was.log, "entries": was.size, "root": was.root.hex(), "made_at": made_at}
    audit.append(connection, at, "", [Entry(SYSTEM, Action.RESTORE, details)])
    set_number(connection, RESTORED, audit.last(connection))
    return was.size


def declare_restored(url: str, place: Path | Bucket, identity: Identity, clock: Clock, *, dry_run: bool = False) -> int:
    """Record that a store in place is one put back by other means than `backup.restore`: a copy of files, `pg_dump`.

    Returns the number of entries of its log. A dry run takes the record back. Raises DATABASE where database and folder
    are not of one store, or of another version; BUSY while a Carole holds it.
    """

    def declare(connection: Connection, blobs: Blobs) -> int:
        require_pair(connection, blobs)
        return record_restoration(connection, audit.newest(connection).at, clock())

    return change_held(url, place, identity, clock, declare, dry_run=dry_run)


@dataclass(frozen=True)
class RestoredLog:
    """The newest restoration, with the proofs that the log has it."""

    newest: Checkpoint
    entry: AuditEntry
    included: list[bytes]
    """`entry`, `included`: the restoration's entry, and the proof that it is under `newest`."""
    restored: Checkpoint
    continues: list[bytes]
    """`restored`, `continues`: the log as it was put back, and the proof that `newest` continues it."""


class Restorations(Part):
    def newest(self) -> RestoredLog | None:
        """The newest restoration; None if there was none."""
        with self._database.read() as connection:
            sequence = newest_restoration(connection)
            if not sequence:
                return None
            shown = audit.newest(connection)
            entry = audit.entry_of(connection.execute(select(entries).where(entries.c.sequence == sequence)).one())
            size = int(entry.details["entries"])
            row = connection.execute(select(audit_checkpoints).where(audit_checkpoints.c.size == size)).one()
            node = partial(audit.node, connection)
            return RestoredLog(
                shown,
                entry,
                log_tree.inclusion_proof(sequence - 1, shown.size, node),
                audit.checkpoint_of(row),
                log_tree.consistency_proof(size, shown.size, node),
            )

    def decide(self, role: Role, member: str, decision: RestorationDecision, signature: bytes) -> Project | None:
        """Store a party's decision, whose signature has been verified; the project after it, if there is one.

        A party may accept the log also where no project waits for it: one that the store has lost, or one made since.
        That is recorded, and what it names as released is not released again under the project's name. So may a
        coordinator that the project does not belong to: it reads on, and decides nothing for the project. Raises
        NOT_FOUND for the refusal of an unknown project; WRONG_STATE as `operations.decide_restore`; PARAMETER for too
        many acceptances for which nothing waits.
        """
        with self._database.read() as connection:
            known = connection.execute(select(projects.c.id).where(projects.c.name == decision.project)).first()
            held = read_project(connection, decision.project).project if known or not decision.accept else None
            # Only a custodian's share is sealed, and has a digest that no one can compute who has not been given it.
            sealed = decision.runs.items() if role in CUSTODIANS else ()
            fetched = frozenset(run for run, root in sealed if root and root == _root(connection, run, role))
        made = RestoreDecision(
            decision.restoration, role, member, decision.accept, decision.reason, frozenset(decision.runs), fetched
        )
        details = _details(made, decision, signature)
        if made.accepted and (held is None or not concerns(held, role, member)):
            if role is Role.COORDINATOR:
                details = {**details, "owner": "" if held is None else held.owner}
            self._record(decision.project, made, details)
            return held
        return self._changes.apply(decision.project, lambda project, _: decide_restore(project, made, details))

    def _record(self, project: str, made: RestoreDecision, details: Mapping[str, Detail]) -> None:
        """Record an acceptance for which nothing waits, once for each project's name."""
        with self._database.write() as connection:
            since = entries.c.sequence > made.restoration
            mine = entries.c.actor == made.member, entries.c.action == str(Action.ACCEPT_RESTORE), since
            done = connection.execute(select(entries.c.project).where(*mine)).scalars().all()
            if newest_restoration(connection) != made.restoration or len(done) >= MAX_RECORDED:
                what = f"at most {MAX_RECORDED} acceptances of a restoration are recorded for which nothing waits"
                raise parameter(project, what, f"{len(done)}, and restoration {made.restoration}")
            if project not in done:
                audit.append(connection, self._clock(), project, [Entry(made.member, Action.ACCEPT_RESTORE, details)])


def _root(connection: Connection, run: str, role: Role) -> bytes | None:
    """Root digest of the share that a role has in a run; whoever knows it has been given the share."""
    query = select(payloads.c.root).join(results, results.c.payload == payloads.c.id)
    found = connection.execute(query.where(results.c.run == run, results.c.recipient == str(role))).scalar()
    return None if found is None else bytes(found)


def _details(made: RestoreDecision, decision: RestorationDecision, signature: bytes) -> Mapping[str, Detail]:
    """All that is signed, so that a reader of the log can verify it, and the signature."""
    details: dict[str, Detail] = {
        "role": str(made.role),
        "restoration": made.restoration,
        "entries": decision.restored.size,
        "root": decision.restored.root.hex(),
        "lost_entries": 0 if decision.lost is None else decision.lost.size,
        "lost_root": "" if decision.lost is None else decision.lost.root.hex(),
        "released": " ".join(f"{run}:{root.hex()}" for run, root in sorted(decision.runs.items())),
        "fetched": " ".join(sorted(made.fetched)),
        "signature": signature.hex(),
    }
    return details if made.accepted else {**details, "reason": made.reason}
