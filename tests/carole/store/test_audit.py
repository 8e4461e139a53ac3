"""The audit log against an administrator of its database: each way to change it, and what detects it.

The attacks with `resign` have Carole's own key; only a checkpoint kept by another party detects those.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, delete, func, insert, select, text, update
from typer.testing import CliRunner

from gemel.carole.commands.audit import app
from gemel.carole.store import Store, audit_check
from gemel.carole.store import audit as log
from gemel.carole.store.database import Database
from gemel.carole.store.provision import initialise
from gemel.carole.store.tables import audit, audit_checkpoints, audit_nodes, meta
from gemel.common.audit import (
    Checkpoint,
    Tree,
    Witness,
    consistency_proof,
    inclusion_proof,
    merkle,
    verify_consistency,
    verify_inclusion,
)
from gemel.common.audit.merkle import leaf_hash
from gemel.common.audit.signed_note import notes_in
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Role, Side
from gemel.common.pki import Provisioned
from gemel.common.witnessing.log_memory import FileMemory
from gemel.common.witnessing.log_reader import LogReader
from tests.architecture.tree import REPOSITORY
from tests.carole.deployment import Deployment
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


# docs/audit-log.md: its verifier, as it stands there and without Gemel, on a log exported by the real commands.

PAGE = (REPOSITORY / "docs" / "audit-log.md").read_text(encoding="utf-8")


class Exported:
    """A log that both custodians have witnessed, and the page's verifier."""

    def __init__(self, deployment: Deployment, folder: Path) -> None:
        self.deployment, self.folder = deployment, folder
        self.members = deployment.parties.members
        self.carole = self.members.in_role(Role.LINKER).identity.hex
        deployment.keyed("births")
        self.saved("old.note", self.types("checkpoint"))
        for side in Side:
            self.looks(side)
        deployment.keyed("deaths")
        (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
        self.program = self.saved("verify.py", program)

    def looks(self, side: Side) -> None:
        """A custodian reads the log twice: the second time it sends what it has verified."""
        identity = open_identity(None, self.deployment.parties.parties[side].identity)
        linker = self.members.in_role(Role.LINKER).identity
        memory = FileMemory(self.folder / f"{side}.seen.json")
        reader = LogReader(self.deployment.connect(str(side)), identity, linker, memory, "")
        for _ in range(2):
            reader.check()

    def types(self, *words: object) -> str:
        """What `gemel audit` prints."""
        result = CliRunner().invoke(app, [*map(str, words), "--config", str(self.deployment.configuration)])
        if result.exception is not None:
            raise result.exception
        return result.output

    def saved(self, name: str, content: str) -> Path:
        path = self.folder / name
        path.write_text(content)
        return path

    def verify(self, *arguments: object) -> tuple[int, str]:
        """Run the page's program in an interpreter without this checkout."""
        command = [sys.executable, "-I", str(self.program), *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def exported(parties: Provisioned, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    folder = tmp_path_factory.mktemp("exported")
    deployment = Deployment(parties, folder / "carole")
    deployment.start()
    try:
        return Exported(deployment, folder)
    finally:
        deployment.stop()


def test_a_whole_log_with_what_both_custodians_have_cosigned(exported: Exported) -> None:
    log = exported.saved("log.jsonl", exported.types("export"))
    notes = [exported.saved(f"{side}.note", exported.types("checkpoint", "--witness", side)) for side in Side]
    keys = {side: f"{side}={exported.members.in_role(side.role).identity.hex}" for side in Side}
    size = len(log.read_text().splitlines()) - 1
    assert exported.verify(log, exported.carole) == (
        0,
        f"{size} of {size} entries verified, 0 older checkpoints continued\n",
    )
    for side, note in zip(Side, notes, strict=True):
        status, printed = exported.verify(log, exported.carole, note, exported.folder / "old.note")
        assert (status, "2 older checkpoints continued" in printed) == (0, True), printed
        assert exported.verify(log, exported.carole, note, keys[side])[0] == 0
        status, printed = exported.verify(log, exported.carole, note, keys[side.other])
        assert (status, "not cosigned by all" in printed) == (1, True), printed
    assert exported.verify(log, exported.members.in_role(Side.ALICE.role).identity.hex)[0] == 1


def test_one_projects_entries_and_that_the_log_continues_an_older_one(exported: Exported) -> None:
    old = exported.folder / "old.note"
    size = int(old.read_text().splitlines()[1])
    part = exported.saved("deaths.jsonl", exported.types("export", "--project", "deaths", "--since", size))
    entries = [json.loads(line) for line in part.read_text().splitlines()[1:]]
    assert {entry["project"] for entry in entries} == {"deaths"}
    assert exported.verify(part, exported.carole, old)[0] == 0
    without = exported.saved("without.jsonl", exported.types("export", "--project", "deaths"))
    status, printed = exported.verify(without, exported.carole, old)
    assert (status, f"export with --since {size}" in printed) == (1, True), printed
    with refusal(ErrorCode.PARAMETER, "fewer entries than the older checkpoint"):
        exported.types("export", "--since", 10**6)


def test_the_pages_proofs_are_those_of_the_tree_at_every_size() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    page: dict[str, Any] = {"__name__": "page"}
    exec(compile(program, "docs/audit-log.md", "exec"), page)  # noqa: S102 - ours
    tree = Tree()
    for number in range(20):
        tree.append(leaf_hash(bytes([number])))
    leaves = [tree.node(0, place) for place in range(tree.size)]
    for new in range(tree.size + 1):
        assert page["root_of"](leaves[:new]) == tree.root_at(new)
        for index in range(new):
            proof = inclusion_proof(index, new, tree.node)
            assert page["root_by_inclusion"](leaves[index], index, new, proof) == tree.root_at(new)
        for old in range(1, new + 1):
            proof, roots = consistency_proof(old, new, tree.node), (tree.root_at(old), tree.root_at(new))
            assert page["roots_by_consistency"](old, new, proof, roots[0]) == roots


@pytest.mark.parametrize("part", ["sequence", "at", "project", "actor", "action", "details", "salt", "included"])
def test_a_change_of_any_part_is_found(exported: Exported, part: str) -> None:
    head, *entries = map(json.loads, exported.types("export").splitlines())
    changed = entries[3]
    values = {"sequence": 5, "at": changed["at"] + 1, "salt": "00" * 16, "included": changed["included"][:-1]}
    changed[part] = values[part] if part in values else changed[part] + " "
    path = exported.saved("changed.jsonl", "".join(json.dumps(line) + "\n" for line in (head, *entries)))
    status, printed = exported.verify(path, exported.carole)
    assert (status, printed.startswith("wrong: ")) == (1, True), printed


def test_a_forged_checkpoint_and_a_false_continuation_are_found(exported: Exported) -> None:
    old = exported.folder / "old.note"
    lines = old.read_text().splitlines(keepends=True)
    log = exported.saved("log.jsonl", exported.types("export"))
    for number, line in ((1, f"{int(lines[1]) + 1}\n"), (2, "A" * 43 + "=\n")):
        forged = exported.saved("forged.note", "".join([*lines[:number], line, *lines[number + 1 :]]))
        assert exported.verify(log, exported.carole, forged) == (1, "wrong: Carole's signature of a checkpoint\n")
    size = int(lines[1])
    head, *entries = map(json.loads, exported.types("export", "--project", "deaths", "--since", size).splitlines())
    head["continues"][-1] = "00" * 32
    path = exported.saved("false.jsonl", "".join(json.dumps(line) + "\n" for line in (head, *entries)))
    assert exported.verify(path, exported.carole, old) == (1, f"wrong: the log does not continue {old}\n")


def test_the_notes_are_kept_checkpoints_for_the_real_verification(exported: Exported) -> None:
    notes = [exported.types("checkpoint"), *(exported.types("checkpoint", "--witness", side) for side in Side)]
    kept = exported.saved("kept", "\n".join(notes))
    assert len(list(notes_in(kept.read_text()))) == 3
    assert "Consistent with all 3 kept checkpoints" in exported.types("verify", "--kept", kept)
    with pytest.raises(GemelError, match="no checkpoint was countersigned by this member"):
        exported.types("checkpoint", "--witness", "nobody")
