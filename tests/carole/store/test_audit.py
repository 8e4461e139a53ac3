"""The audit log against an administrator of its database: each way to change it, and what detects it.

The attacks with `resign` have Carole's own key; only a checkpoint kept by another party detects those.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, delete, insert, select, text, update
from typer.testing import CliRunner

from gemel.carole.commands.audit import app
from gemel.carole.store import audit as log
from gemel.carole.store import audit_check, log_tree
from gemel.carole.store.database import Database
from gemel.carole.store.log_tree import Tree, consistency_proof, inclusion_proof
from gemel.carole.store.provision import initialise
from gemel.carole.store.tables import audit, audit_checkpoints, audit_nodes, meta
from gemel.common.audit import Checkpoint, Witness, verify_consistency, verify_inclusion
from gemel.common.audit.merkle import leaf_hash
from gemel.common.audit.signed_note import notes_in
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Role, Side
from gemel.common.witnessing.log_reader import LogReader
from gemel.coordinator.client.log_memory import FileMemory
from tests.architecture.tree import REPOSITORY
from tests.carole.deployment import Deployment
from tests.carole.refusals import refusal
from tests.carole.trial import NEW, PROJECT, contributed

Change = Callable[[Connection], None]


@pytest.fixture
def filled(store, small):
    contributed(store, small)
    return store


@pytest.fixture
def database(filled, url):
    opened = Database(url)
    opened.holder = filled.holder  # what an administrator of the database can find out
    yield opened
    opened.close()


def unguarded(connection):
    """What an administrator of the database can do: drop the triggers that refuse changes."""
    for table in (audit, audit_nodes, audit_checkpoints):
        if connection.dialect.name == "sqlite":
            for operation in ("update", "delete"):
                connection.execute(text(f"DROP TRIGGER {table.name}_no_{operation}"))
        else:
            connection.execute(text(f"DROP TRIGGER {table.name}_append_only ON {table.name}"))


EDITED = ("UPDATE audit SET actor = 'unknown' WHERE sequence = 5",)
DELETED = ("DELETE FROM audit WHERE sequence = 5",)
RENUMBERED = (
    *DELETED,
    "UPDATE audit SET sequence = -sequence WHERE sequence > 5",
    "UPDATE audit SET sequence = -sequence - 1 WHERE sequence < 0",
)
REORDERED = tuple(
    f"UPDATE audit SET sequence = {there} WHERE sequence = {here}"  # noqa: S608
    for here, there in ((5, 1000), (6, 5), (1000, 6))
)
TRUNCATED = ("DELETE FROM audit WHERE sequence >= 5",)
EMPTIED = ("DELETE FROM audit", "DELETE FROM audit_nodes", "DELETE FROM audit_checkpoints")
NEWEST = "SELECT max(sequence) FROM audit"
COPIED = f"SELECT ({NEWEST}) + 1, at, project, actor, action, details, salt FROM audit WHERE sequence = 5"  # noqa: S608


def changed(database, statements):
    with database.write() as connection:
        unguarded(connection)
        for statement in statements:
            connection.execute(text(statement), {"zeros": bytes(64)} if ":zeros" in statement else {})


@pytest.mark.parametrize(
    ("statements", "entry"),
    [
        (EDITED, lambda size: 5),
        (DELETED, lambda size: 5),
        (RENUMBERED, lambda size: 5),
        (REORDERED, lambda size: 5),
        (TRUNCATED, lambda size: 5),
        (EMPTIED, lambda size: 1),
        ([f"INSERT INTO audit {COPIED}"], lambda size: size + 1),
        (["UPDATE audit_nodes SET hash = :zeros WHERE height = 1 AND position = 2"], lambda size: 5),
        (["UPDATE audit_checkpoints SET signature = :zeros WHERE size = 5"], lambda size: 5),
        ([f"DELETE FROM audit_checkpoints WHERE size = ({NEWEST})"], lambda size: size),  # noqa: S608
    ],
    ids=[
        "edited",
        "deleted",
        "renumbered",
        "reordered",
        "truncated",
        "emptied",
        "added",
        "tree",
        "signature",
        "checkpoint",
    ],
)
def test_a_change_is_found_and_its_place_named(database, identity, statements, entry):
    with database.read() as connection:
        whole = audit_check.verify(connection, identity.public)
        assert whole.intact
    changed(database, statements)
    with database.read() as connection:
        found = audit_check.verify(connection, identity.public)
    assert not found.intact
    assert found.entry == entry(whole.size), found.finding


def resign(connection, identity):
    """Rebuild tree, counter and checkpoints over the entries that are there, with Carole's key."""
    name = connection.scalar(select(audit_checkpoints.c.log).where(audit_checkpoints.c.size == 0))
    sizes = connection.scalars(select(audit_checkpoints.c.size)).all()
    entries = log.entries(connection)
    connection.execute(delete(audit_nodes))
    connection.execute(delete(audit_checkpoints))
    connection.execute(update(meta).where(meta.c.key == "audit").values(value=len(entries)))
    tree = log_tree.Tree()
    for entry in entries:
        for height, position, value in log_tree.completed(tree.size, entry.leaf, tree.node):
            connection.execute(insert(audit_nodes).values(height=height, position=position, hash=value))
        tree.append(entry.leaf)
    for size in sorted({min(size, len(entries)) for size in sizes} | {len(entries)}):
        signed = Checkpoint.sign(identity, str(name), size, tree.root_at(size), 7)
        connection.execute(
            insert(audit_checkpoints).values(
                size=size, log=signed.log, root=signed.root, at=signed.at, signature=signed.signature
            )
        )


@pytest.mark.parametrize(
    "change",
    [EDITED, RENUMBERED, REORDERED, TRUNCATED],
    ids=["edited", "renumbered", "reordered", "truncated"],
)
def test_a_log_signed_again_by_carole_is_found_with_kept_checkpoints(filled, database, identity, change):
    with database.read() as connection:
        rows = connection.execute(select(audit_checkpoints).order_by(audit_checkpoints.c.size)).all()
        kept = [log.checkpoint_of(row) for row in rows]
        assert audit_check.verify(connection, identity.public, kept).compared == len(kept)
    witness = Witness(identity.public).believe(kept[-1], [])
    changed(database, change)
    with database.write() as connection:
        resign(connection, identity)
    with database.read() as connection:
        assert audit_check.verify(connection, identity.public).intact  # nothing in the database shows it
        found = audit_check.verify(connection, identity.public, kept)
    assert not found.intact
    assert found.entry == 5, found.finding
    with refusal(ErrorCode.AUDIT):
        witness.believe(*filled.audit.continued(witness.size))


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_database_rolled_back_to_a_copy_and_a_log_started_again(tmp_path, identity, open_store, small):
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


def test_a_log_whose_tables_are_missing(database, identity):
    with database.write() as connection:
        connection.execute(text("DROP TABLE audit"))
    with database.read() as connection:
        found = audit_check.verify(connection, identity.public)
    assert found.entry == 1
    assert "missing" in found.finding


def test_every_transaction_ends_with_a_checkpoint_and_chunks_with_none(filled, identity):
    newest = filled.audit.checkpoint()
    newest.verify(identity.public)
    entries = filled.audit.entries()
    assert newest.size == len(entries) == entries[-1].sequence
    filled.projects.create(NEW, "coordinator")  # changes nothing
    assert filled.audit.checkpoint() == newest


def test_proofs_on_request(filled):
    shown, reported = filled.audit.proven(PROJECT, 0, 1000)
    assert shown == filled.audit.checkpoint()
    assert [entry for entry, _ in reported] == filled.audit.entries(PROJECT)
    for entry, proof in reported:
        assert verify_inclusion(entry.leaf, entry.sequence - 1, shown.size, proof, shown.root)
    for old in range(1, shown.size):
        proof = filled.audit.proof(old, shown.size)
        tree = log_tree.Tree()
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

    def __init__(self, deployment, folder):
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

    def looks(self, side):
        """A custodian reads the log twice: the second time it sends what it has verified."""
        identity = open_identity(None, self.deployment.parties.parties[side].identity)
        linker = self.members.in_role(Role.LINKER).identity
        memory = FileMemory(self.folder / f"{side}.seen.json")
        reader = LogReader(self.deployment.connect(str(side)), identity, linker, memory, "")
        for _ in range(2):
            reader.check()

    def types(self, *words):
        """What `gemel audit` prints."""
        result = CliRunner().invoke(app, [*map(str, words), "--config", str(self.deployment.configuration)])
        if result.exception is not None:
            raise result.exception
        return result.output

    def saved(self, name, content):
        path = self.folder / name
        path.write_text(content)
        return path

    def verify(self, *arguments):
        """Run the page's program in an interpreter without this checkout."""
        command = [sys.executable, "-I", str(self.program), *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def exported(parties, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    deployment = Deployment(parties, folder / "carole")
    deployment.start()
    try:
        return Exported(deployment, folder)
    finally:
        deployment.stop()


def test_a_whole_log_with_what_both_custodians_have_cosigned(exported):
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


def test_one_projects_entries_and_that_the_log_continues_an_older_one(exported):
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


def test_the_pages_proofs_are_those_of_the_tree_at_every_size():
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
def test_a_change_of_any_part_is_found(exported, part):
    head, *entries = map(json.loads, exported.types("export").splitlines())
    changed = entries[3]
    values = {"sequence": 5, "at": changed["at"] + 1, "salt": "00" * 16, "included": changed["included"][:-1]}
    changed[part] = values[part] if part in values else changed[part] + " "
    path = exported.saved("changed.jsonl", "".join(json.dumps(line) + "\n" for line in (head, *entries)))
    status, printed = exported.verify(path, exported.carole)
    assert (status, printed.startswith("wrong: ")) == (1, True), printed


def test_a_forged_checkpoint_and_a_false_continuation_are_found(exported):
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


def test_the_notes_are_kept_checkpoints_for_the_real_verification(exported):
    notes = [exported.types("checkpoint"), *(exported.types("checkpoint", "--witness", side) for side in Side)]
    kept = exported.saved("kept", "\n".join(notes))
    assert len(list(notes_in(kept.read_text()))) == 3
    assert "Consistent with all 3 kept checkpoints" in exported.types("verify", "--kept", kept)
    with pytest.raises(GemelError, match="no checkpoint was countersigned by this member"):
        exported.types("checkpoint", "--witness", "nobody")
