"""Commands that make sealing keys of the approved suite, and the check that names who lacks one."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.keys.suite import Suite
from gemel.common.pki import Members
from tests.specifications import heading

SPECIFICATION = (
    heading("suites")
    + """
fields:
  - {name: surname, kind: name}
  - {name: given, kind: name}
  - {name: born, kind: date, date: {order: ymd}}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def suite_of(folder: Path) -> Suite:
    return SealingKey.load(folder / "sealing.key").public.suite


@pytest.mark.parametrize("suite", Suite)
def test_init_makes_sealing_keys_of_the_suite(suite: Suite, tmp_path: Path) -> None:
    root = tmp_path / "parties"
    run("init", str(root), "--address", "127.0.0.1:7443", "--cryptography", suite)
    assert {member.sealing.suite for member in Members.load(root / "alice" / "members.yaml")} == {suite}
    assert {suite_of(root / name) for name in ("alice", "bob", "carole", "coordinator")} == {suite}


def test_a_party_enrols_with_one_or_makes_it_later(tmp_path: Path) -> None:
    words = "--name", "alice", "--role", "custodian-a"
    run("party", "enrol", str(tmp_path / "first"), *words, "--cryptography", "approved")
    assert suite_of(tmp_path / "first") is Suite.APPROVED
    run("party", "enrol", str(tmp_path / "later"), *words)
    assert suite_of(tmp_path / "later") is Suite.DEFAULT
    run("party", "renew-sealing", str(tmp_path / "later"), "--cryptography", "approved")
    assert suite_of(tmp_path / "later") is Suite.APPROVED


def test_the_check_of_a_specification_tells_the_suite_and_names_who_lacks_a_key(tmp_path: Path) -> None:
    root, path = tmp_path / "parties", tmp_path / "linkage.yaml"
    run("init", str(root), "--address", "127.0.0.1:7443")
    members = str(root / "alice" / "members.yaml")
    path.write_text(SPECIFICATION)
    assert "approved suite" not in run("spec", "check", str(path), "--members", members)
    path.write_text(f"{SPECIFICATION}cryptography: approved\n")
    printed = run("spec", "check", str(path), "--members", members)
    assert "The approved suite (cryptography: approved)" in printed
    for name in ("alice", "bob", "carole", "coordinator"):
        assert f"the sealing key of {name} is of the default suite" in printed
    assert "the sealing key of steward" not in printed


SHARED = """
blocking: [{name: born, keys: [{field: born}]}]
cryptography: approved
"""


def test_in_mode_shared_the_steward_who_computes_needs_one_too_and_both_must_be_members(tmp_path: Path) -> None:
    root, path = tmp_path / "parties", tmp_path / "linkage.yaml"
    run("init", str(root), "--address", "127.0.0.1:7443")
    members = str(root / "alice" / "members.yaml")
    path.write_text(SPECIFICATION.replace("mode: open", "mode: shared") + SHARED)
    printed = run("spec", "check", str(path), "--members", members)
    assert "the sealing key of steward is of the default suite" in printed
    assert "has no" not in printed
    compute = "compute: {coordinator: steward, steward: university}\n"
    path.write_text(SPECIFICATION.replace("mode: open", "mode: shared") + SHARED + compute)
    printed = run("spec", "check", str(path), "--members", members)
    assert "compute.coordinator: the membership list has no coordinator of the name steward" in printed
    assert "compute.steward: the membership list has no steward of the name university" in printed
