"""docs/audit-log.md: its verifier, as it stands there and without Gemel, on a log exported by the real commands.

The log is that of a real Carole to whom both custodians have shown, and cosigned, what they had seen.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gemel.carole.commands.audit import app
from gemel.common.audit import Tree, consistency_proof, inclusion_proof
from gemel.common.audit.merkle import leaf_hash
from gemel.common.audit.signed_note import notes_in
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Role, Side
from gemel.common.pki import Provisioned
from gemel.common.witnessing.log_memory import FileMemory
from gemel.common.witnessing.log_reader import LogReader
from tests.architecture.tree import REPOSITORY
from tests.carole.deployment import Deployment
from tests.carole.refusals import refusal

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
