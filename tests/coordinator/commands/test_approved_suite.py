"""Commands that make sealing keys of the approved suite, and the check that names who lacks one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemel.common.keys.sealing_key import SealingKey
from gemel.common.keys.suite import Suite
from gemel.common.pki import Members
from tests.specifications import heading
from tests.typed import printed

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


def suite_of(folder: Path) -> Suite:
    return SealingKey.load(folder / "sealing.key").public.suite


@pytest.mark.parametrize("suite", Suite)
def test_init_makes_sealing_keys_of_the_suite(suite: Suite, tmp_path: Path) -> None:
    root = tmp_path / "parties"
    printed("init", str(root), "--address", "127.0.0.1:7443", "--cryptography", suite)
    assert {member.sealing.suite for member in Members.load(root / "alice" / "members.yaml")} == {suite}
    assert {suite_of(root / name) for name in ("alice", "bob", "carole", "coordinator")} == {suite}


def test_a_party_enrols_with_one_or_makes_it_later(tmp_path: Path) -> None:
    words = "--name", "alice", "--role", "custodian-a"
    printed("party", "enrol", str(tmp_path / "first"), *words, "--cryptography", "approved")
    assert suite_of(tmp_path / "first") is Suite.APPROVED
    printed("party", "enrol", str(tmp_path / "later"), *words)
    assert suite_of(tmp_path / "later") is Suite.DEFAULT
    printed("party", "renew-sealing", str(tmp_path / "later"), "--cryptography", "approved")
    assert suite_of(tmp_path / "later") is Suite.APPROVED


def test_the_check_of_a_specification_tells_the_suite_and_names_who_lacks_a_key(tmp_path: Path) -> None:
    root, path = tmp_path / "parties", tmp_path / "linkage.yaml"
    printed("init", str(root), "--address", "127.0.0.1:7443")
    members = str(root / "alice" / "members.yaml")
    path.write_text(SPECIFICATION)
    assert "approved suite" not in printed("spec", "check", str(path), "--members", members)
    path.write_text(f"{SPECIFICATION}cryptography: approved\n")
    shown = " ".join(printed("spec", "check", str(path), "--members", members).split())
    assert "The approved suite (cryptography: approved)" in shown
    for name in ("alice", "bob", "carole", "coordinator"):
        assert f"the sealing key of {name} is of the default suite" in shown
    assert "the sealing key of steward" not in shown


SHARED = """
blocking: [{name: born, keys: [{field: born}]}]
cryptography: approved
"""


def test_in_mode_shared_the_steward_who_computes_needs_one_too_and_both_must_be_members(tmp_path: Path) -> None:
    root, path = tmp_path / "parties", tmp_path / "linkage.yaml"
    printed("init", str(root), "--address", "127.0.0.1:7443")
    members = str(root / "alice" / "members.yaml")
    path.write_text(SPECIFICATION.replace("mode: open", "mode: shared") + SHARED)
    shown = " ".join(printed("spec", "check", str(path), "--members", members).split())
    assert "the sealing key of steward is of the default suite" in shown
    assert "has no" not in shown
    compute = "compute: {coordinator: steward, steward: university}\n"
    path.write_text(SPECIFICATION.replace("mode: open", "mode: shared") + SHARED + compute)
    shown = " ".join(printed("spec", "check", str(path), "--members", members).split())
    assert "compute.coordinator: the membership list has no coordinator of the name steward" in shown
    assert "compute.steward: the membership list has no steward of the name university" in shown
