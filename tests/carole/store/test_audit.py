"""The audit log against an administrator of its database: each way to change it, and what detects it.

The attacks with `resign` have Carole's own key; only a checkpoint kept by another party detects those.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, delete, func, insert, select, text, update

from gemel.carole.store import Store, audit_check
from gemel.carole.store import audit as log
from gemel.carole.store.database import Database
from gemel.carole.store.provision import initialise
from gemel.carole.store.tables import audit, audit_checkpoints, audit_nodes, meta
from gemel.common.audit import Checkpoint, Witness, merkle, verify_consistency, verify_inclusion
from gemel.common.errors import ErrorCode
from gemel.common.keys.identity import Identity
from gemel.common.parties import Side
from tests.carole.refusals import refusal
from tests.carole.trial import NEW, PROJECT, Contribution, contributed

Change = Callable[[Connection], None]


@pytest.fixture
def filled(store: Store, small: dict[Side, Contribution]) -> Store:
    contributed(store, small)
    return store


@pytest.fixture
def database(filled: Store, url: str) -> Iterator[Database]:
    opened = Database(url)
    opened.holder = filled.holder  # what an administrator of the database can find out
    yield opened
    opened.close()


def unguarded(connection: Connection) -> None:
    """What an administrator of the database can do: drop the triggers that refuse changes."""
    for table in (audit, audit_nodes, audit_checkpoints):
        if connection.dialect.name == "sqlite":
            for operation in ("update", "delete"):
                connection.execute(text(f"DROP TRIGGER {table.name}_no_{operation}"))
        else:
            connection.execute(text(f"DROP TRIGGER {table.name}_append_only ON {table.name}"))


def size_of(connection: Connection) -> int:
    return int(connection.scalar(select(func.max(audit.c.sequence))) or 0)


def edited(connection: Connection) -> None:
    connection.execute(update(audit).where(audit.c.sequence == 5).values(actor="unknown"))


def deleted(connection: Connection) -> None:
    connection.execute(delete(audit).where(audit.c.sequence == 5))


def renumbered(connection: Connection) -> None:
    deleted(connection)
    for sequence in range(6, size_of(connection) + 1):
        connection.execute(update(audit).where(audit.c.sequence == sequence).values(sequence=sequence - 1))


def reordered(connection: Connection) -> None:
    for here, there in ((5, 1000), (6, 5), (1000, 6)):
        connection.execute(update(audit).where(audit.c.sequence == here).values(sequence=there))


def added(connection: Connection) -> None:
    size = size_of(connection)
    row = connection.execute(select(audit).where(audit.c.sequence == 5)).one()._asdict()
    connection.execute(insert(audit).values({**row, "sequence": size + 1}))


def truncated(connection: Connection) -> None:
    connection.execute(delete(audit).where(audit.c.sequence >= 5))


def emptied(connection: Connection) -> None:
    for table in (audit, audit_nodes, audit_checkpoints):
        connection.execute(delete(table))


def tree_edited(connection: Connection) -> None:
    connection.execute(
        update(audit_nodes).where(audit_nodes.c.height == 1, audit_nodes.c.position == 2).values(hash=bytes(32))
    )


def signature_replaced(connection: Connection) -> None:
    connection.execute(update(audit_checkpoints).where(audit_checkpoints.c.size == 5).values(signature=bytes(64)))


def checkpoint_removed(connection: Connection) -> None:
    connection.execute(delete(audit_checkpoints).where(audit_checkpoints.c.size == size_of(connection)))


@pytest.mark.parametrize(
    ("change", "entry"),
    [
        (edited, 5),
        (deleted, 5),
        (renumbered, 5),
        (reordered, 5),
        (added, None),
        (truncated, 5),
        (emptied, 1),
        (tree_edited, 5),
        (signature_replaced, 5),
        (checkpoint_removed, None),
    ],
)
def test_a_change_is_found_and_its_place_named(
    database: Database, identity: Identity, change: Change, entry: int | None
) -> None:
    with database.read() as connection:
        assert audit_check.verify(connection, identity.public).intact
        size = size_of(connection)
    with database.write() as connection:
        unguarded(connection)
        change(connection)
    expected = {added: size + 1, checkpoint_removed: size}.get(change, entry)
    with database.read() as connection:
        found = audit_check.verify(connection, identity.public)
    assert not found.intact
    assert found.entry == expected, found.finding


def resign(connection: Connection, identity: Identity) -> None:
    """Rebuild tree, counter and checkpoints over the entries that are there, with Carole's key."""
    name = connection.scalar(select(audit_checkpoints.c.log).where(audit_checkpoints.c.size == 0))
    sizes = connection.scalars(select(audit_checkpoints.c.size)).all()
    entries = log.entries(connection)
    connection.execute(delete(audit_nodes))
    connection.execute(delete(audit_checkpoints))
    connection.execute(update(meta).where(meta.c.key == "audit").values(value=len(entries)))
    tree = merkle.Tree()
    for entry in entries:
        for height, position, value in merkle.completed(tree.size, entry.leaf, tree.node):
            connection.execute(insert(audit_nodes).values(height=height, position=position, hash=value))
        tree.append(entry.leaf)
    for size in sorted({min(size, len(entries)) for size in sizes} | {len(entries)}):
        signed = Checkpoint.sign(identity, str(name), size, tree.root_at(size), 7)
        connection.execute(
            insert(audit_checkpoints).values(
                size=size, log=signed.log, root=signed.root, at=signed.at, signature=signed.signature
            )
        )


@pytest.mark.parametrize("change", [edited, renumbered, reordered, truncated])
def test_a_log_signed_again_by_carole_is_found_with_kept_checkpoints(
    filled: Store, database: Database, identity: Identity, change: Change
) -> None:
    with database.read() as connection:
        rows = connection.execute(select(audit_checkpoints).order_by(audit_checkpoints.c.size)).all()
        kept = [log.checkpoint_of(row) for row in rows]
        assert audit_check.verify(connection, identity.public, kept).compared == len(kept)
    witness = Witness(identity.public).believe(kept[-1], [])
    with database.write() as connection:
        unguarded(connection)
        change(connection)
        resign(connection, identity)
    with database.read() as connection:
        assert audit_check.verify(connection, identity.public).intact  # nothing in the database shows it
        found = audit_check.verify(connection, identity.public, kept)
    assert not found.intact
    assert found.entry == 5, found.finding
    with refusal(ErrorCode.AUDIT):
        witness.believe(*filled.audit.continued(witness.size))


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_database_rolled_back_to_a_copy_and_a_log_started_again(
    tmp_path: Path, identity: Identity, open_store: Callable[[], Store], url: str, small: dict[Side, Contribution]
) -> None:
    store = open_store()
    store.projects.create(NEW, "coordinator")
    store.close()
    shutil.copy(tmp_path / "carole.db", tmp_path / "old.db")
    store = open_store()
    contributed(store, small)
    kept = store.audit.checkpoint()
    store.close()
    initialise(f"sqlite:///{tmp_path / 'new.db'}", tmp_path / "new", identity, lambda: 1)
    for restored in ("old.db", "new.db"):
        database = Database(f"sqlite:///{tmp_path / restored}", lambda c: log.seal(c, identity, lambda: 1))
        with database.read() as connection:
            assert audit_check.verify(connection, identity.public).intact
            found = audit_check.verify(connection, identity.public, [kept])
        assert not found.intact
        assert found.entry is not None
        database.close()


def test_a_log_whose_tables_are_missing(database: Database, identity: Identity) -> None:
    with database.write() as connection:
        connection.execute(text("DROP TABLE audit"))
    with database.read() as connection:
        found = audit_check.verify(connection, identity.public)
    assert found.entry == 1
    assert "missing" in found.finding


def test_every_transaction_ends_with_a_checkpoint_and_chunks_with_none(filled: Store, identity: Identity) -> None:
    newest = filled.audit.checkpoint()
    newest.verify(identity.public)
    entries = filled.audit.entries()
    assert newest.size == len(entries) == entries[-1].sequence
    filled.projects.create(NEW, "coordinator")  # changes nothing
    assert filled.audit.checkpoint() == newest


def test_proofs_on_request(filled: Store) -> None:
    shown, reported = filled.audit.proven(PROJECT, 0, 1000)
    assert shown == filled.audit.checkpoint()
    assert [entry for entry, _ in reported] == filled.audit.entries(PROJECT)
    for entry, proof in reported:
        assert verify_inclusion(entry.leaf, entry.sequence - 1, shown.size, proof, shown.root)
    for old in range(1, shown.size):
        proof = filled.audit.proof(old, shown.size)
        tree = merkle.Tree()
        for entry in filled.audit.entries()[:old]:
            tree.append(entry.leaf)
        assert verify_consistency(old, shown.size, tree.root, shown.root, proof)
    for call in (lambda: filled.audit.proof(3, shown.size + 1), lambda: filled.audit.continued(shown.size + 1)):
        with refusal(ErrorCode.AUDIT):
            call()
