"""Verification of the audit log: every entry, every node of its tree, every checkpoint, and the checkpoints kept by
other parties.

An entry that was edited, deleted, added or moved no longer fits the tree; a tree that was rewritten with it no longer
fits the signed checkpoints; and where Carole's own key signed new ones, the log is not consistent with a checkpoint
kept by another party. The first two are detected without further data, the third only with a kept checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, func, inspect, select

from gemel.carole.store import log_tree
from gemel.carole.store.audit import checkpoint_of, entry_of, last, newest, node
from gemel.carole.store.log_tree import Tree
from gemel.carole.store.tables import audit, audit_checkpoints, audit_nodes, meta, projects
from gemel.common.audit import Checkpoint
from gemel.common.errors import GemelError, parameter
from gemel.common.keys.identity import Identity, PublicIdentity


@dataclass(frozen=True)
class Verified:
    size: int
    checkpoint: Checkpoint | None
    compared: int = 0
    """How many kept checkpoints the log is consistent with."""
    finding: str = ""
    """The first error, with the entry where it begins; empty if there is none."""
    entry: int | None = None
    """Number of the first entry that cannot be trusted, where known."""

    @property
    def intact(self) -> bool:
        return not self.finding


class _FoundError(Exception):
    def __init__(self, finding: str, entry: int | None) -> None:
        super().__init__(finding)
        self.finding, self.entry = finding, entry


def verify(connection: Connection, linker: PublicIdentity, kept: Sequence[Checkpoint] = ()) -> Verified:
    """Check the log in a database; O(entries) time, and about a hundred bytes of memory for each.

    `kept`: checkpoints of this log kept by other parties; the more, the more precisely a rewriting is located.
    """
    if not all(inspect(connection).has_table(table.name) for table in (meta, audit, audit_nodes, audit_checkpoints)):
        return Verified(0, None, finding="the audit log is missing: its tables do not exist", entry=1)
    tree = Tree()
    newest: Checkpoint | None = None
    compared = 0
    try:
        checkpoints = _checkpoints(connection, linker)
        newest = checkpoints[-1]
        _read(connection, tree)
        _not_cut(connection, tree, newest)
        for checkpoint in checkpoints:
            if tree.root_at(checkpoint.size) != checkpoint.root:
                older = max((c.size for c in checkpoints if c.size < checkpoint.size), default=0)
                raise _between(older, checkpoint.size, "a checkpoint that Carole has signed")
        compared = _continues(tree, newest, linker, kept)
    except _FoundError as found:
        return Verified(tree.size, newest, compared, found.finding, found.entry)
    return Verified(tree.size, newest, compared)


def _checkpoints(connection: Connection, linker: PublicIdentity) -> list[Checkpoint]:
    query = select(audit_checkpoints).order_by(audit_checkpoints.c.size)
    checkpoints = [checkpoint_of(row) for row in connection.execute(query)]
    if not checkpoints or checkpoints[0].size != 0:
        raise _FoundError("the audit log's first checkpoint is missing", 1)
    before = 0
    for checkpoint in checkpoints:
        try:
            checkpoint.verify(linker)
            forged = checkpoint.log != checkpoints[0].log
        except GemelError:
            forged = True
        if forged:
            raise _FoundError(f"the checkpoint over {checkpoint.size} entries is not Carole's", before + 1)
        before = checkpoint.size
    return checkpoints


def _read(connection: Connection, tree: Tree) -> None:
    """Rebuild the tree from the entries, and compare each node with the stored one."""
    kept = {
        (row.height, row.position): bytes(row.hash)
        for row in connection.execute(select(audit_nodes).order_by(audit_nodes.c.height, audit_nodes.c.position))
    }
    for row in connection.execution_options(yield_per=1000).execute(select(audit).order_by(audit.c.sequence)):
        entry = entry_of(row)
        expected = tree.size + 1
        if entry.sequence != expected:
            raise _FoundError(
                f"entry {expected} is missing: the next one has the number {entry.sequence}",
                min(expected, entry.sequence),
            )
        if kept.get((0, tree.size)) != entry.leaf:
            raise _FoundError(f"entry {expected} has been changed", expected)
        tree.append(entry.leaf)
        height, position = 0, expected - 1
        while position % 2 == 1:
            height, position = height + 1, position // 2
            if kept.get((height, position)) != tree.node(height, position):
                raise _FoundError(
                    f"the tree over entries {(position << height) + 1} to {expected} has been changed",
                    (position << height) + 1,
                )
    outside_blocks = [position for height, position in kept if height == 0 and position >= tree.size]
    if outside_blocks:
        raise _FoundError(f"entry {tree.size + 1} is missing: the tree has {max(outside_blocks) + 1}", tree.size + 1)


def _not_cut(connection: Connection, tree: Tree, newest: Checkpoint) -> None:
    reported = max(newest.size, last(connection))
    if tree.size < reported:
        raise _FoundError(f"the log was cut: it has {tree.size} entries, and had {reported}", tree.size + 1)
    if newest.size < tree.size:
        raise _FoundError(f"no checkpoint covers the last entries, from {newest.size + 1} on", newest.size + 1)
    if tree.size == 0 and connection.scalar(select(func.count()).select_from(projects)):
        raise _FoundError("the log is empty although there are projects", 1)


def _continues(tree: Tree, newest: Checkpoint, linker: PublicIdentity, kept: Sequence[Checkpoint]) -> int:
    """Compare with checkpoints kept by other parties; returns how many agree."""
    agreed = 0
    for count, checkpoint in enumerate(sorted(kept, key=lambda c: c.size)):
        try:
            checkpoint.verify(linker)
        except GemelError:
            raise _FoundError(
                f"a kept checkpoint, over {checkpoint.size} entries, was not signed by this Carole; it is no evidence "
                "for or against the log",
                None,
            ) from None
        if checkpoint.log != newest.log:
            raise _FoundError("the log was started again: a kept checkpoint is of another log", 1)
        if checkpoint.size > tree.size:
            raise _FoundError(
                f"the log was cut or rolled back: it has {tree.size} entries, and {checkpoint.size} were seen",
                tree.size + 1,
            )
        if tree.root_at(checkpoint.size) != checkpoint.root:
            raise _between(agreed, checkpoint.size, f"kept checkpoint {count + 1} of {len(kept)}")
        agreed = checkpoint.size
    return len(kept)


def _between(agreed: int, size: int, what: str) -> _FoundError:
    span = f"entry {size}" if agreed + 1 == size else f"an entry from {agreed + 1} to {size}"
    return _FoundError(f"the log was rewritten: {span} differs from what {what} covered", agreed + 1)


# The audit log for readers without Gemel: what is hashed of each entry, and its proofs; see docs/audit-log.md.


def exported(connection: Connection, identity: Identity, project: str | None, since: int) -> Iterator[dict[str, Any]]:
    """The lines of an export: the newest checkpoint first, then the entries, oldest first.

    `identity`: Carole's: it signs the checkpoint's note. `project`: whose entries; None for all. `since`: size of the
    log that is to be shown to be continued. O(log n) hashes for each entry of a log of n. Raises PARAMETER if the log
    has fewer entries than `since`.
    """
    shown = newest(connection)
    if since > shown.size:
        what = "the log has fewer entries than the older checkpoint"
        remedy = "if the checkpoint is this log's, the log was cut: run 'gemel audit verify' with it"
        raise parameter("--since", what, f"{since}, and {shown.size} entries", remedy)

    hash_of = partial(node, connection)
    yield {
        "checkpoint": shown.noted(identity).to_text(),
        "since": since,
        "continues": [part.hex() for part in log_tree.consistency_proof(since, shown.size, hash_of)],
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
            "included": [part.hex() for part in log_tree.inclusion_proof(entry.sequence - 1, shown.size, hash_of)],
        }
