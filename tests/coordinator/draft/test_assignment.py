"""The assignment that a draft proposes, by the copies in each file."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from benchmarks.duplicates import copied
from gemel.common.parties import Side
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.draft.compared_fields import propose_assignment
from gemel.coordinator.draft.specification_draft import draft
from gemel.coordinator.draft.specification_text import dump_specification
from gemel.custodian.cleaning.own_copies import OwnCopies, own_copies

NONE, FEW, MANY = (OwnCopies(1000, equal, near, 1e-9, 1e-6, 2) for equal, near in ((0, 0), (10, 3), (90, 20)))


@pytest.mark.parametrize("kept", ["ab", "a", ""])
def test_pairs_are_counted_as_by_definition(kept: str) -> None:
    """Against every pair of rows; a missing value equals a missing one, where enough of what is kept is there."""
    rng = np.random.default_rng(1)
    columns = {
        name: pl.Series([None if v == 0 else str(v) for v in rng.integers(0, 3, 40)], dtype=pl.String)
        for name in "abcd"
    }
    own = len(kept)
    rows = [
        row for row in zip(*[column.to_list() for column in columns.values()], strict=True) if None not in row[:own]
    ]
    pairs = [(rows[i], rows[j]) for j in range(len(rows)) for i in range(j) if rows[i][:own] == rows[j][:own]]
    agreed = [sum(x == y for x, y in zip(*pair, strict=True)) for pair in pairs]
    found = own_copies(columns, list(kept))
    assert (found.rows, found.equal, found.near) == (40, agreed.count(4), agreed.count(3) if kept else 0)


def test_chance_is_that_of_independent_fields() -> None:
    rng = np.random.default_rng(2)
    columns = {name: pl.Series(rng.integers(0, n, 2000).astype(str)) for name, n in (("a", 30), ("b", 20), ("c", 9))}
    found = own_copies(columns, ["a"])
    assert found.equal == pytest.approx(found.equal_by_chance, rel=0.15)
    assert found.near == pytest.approx(found.near_by_chance, rel=0.05)
    assert not found.several


def test_no_rows_and_one_field() -> None:
    assert not own_copies({"a": pl.Series([], dtype=pl.String), "b": pl.Series([], dtype=pl.String)}, ["a"]).several
    assert own_copies({"a": pl.Series(["x", "x"])}, ["a"]).near == 0


def test_relatives_and_records_with_little_in_them_are_no_copies() -> None:
    """Spouses differ in their names alone, and those of whom hardly anything is known in nothing."""
    own = [f"person {k}" for k in range(400)]
    born = [f"19{k % 80:02}-{k % 12 + 1:02}-{k % 27 + 1:02}" for k in range(400)]
    family, little = [f"family {k // 2}" for k in range(400)], [None] * 40
    columns = {
        "given_name": pl.Series([*own, *little]),
        "born": pl.Series([*born[::2], *born[::2], *little]),
        "surname": pl.Series([*family, *["family x"] * 40]),
        "street": pl.Series([*family, *["road x"] * 40]),
    }
    kept = ["given_name", "born"]
    assert not own_copies(columns, kept).several
    twice = {name: pl.concat([column, column[:10]]) for name, column in columns.items()}
    assert own_copies(twice, kept).several


@pytest.mark.parametrize(
    ("alice", "bob", "assignment"),
    [
        (NONE, NONE, "one_to_one"),
        (FEW, NONE, "many_to_one"),
        (NONE, FEW, "one_to_many"),
        (FEW, MANY, "one_to_many"),
        (MANY, FEW, "many_to_one"),
    ],
)
def test_who_has_copies_decides(alice: OwnCopies, bob: OwnCopies, assignment: str) -> None:
    """Where both have, mode block_keyed has no clusters, and names what to do."""
    copies = {Side.ALICE: alice, Side.BOB: bob}
    both = alice.several and bob.several
    proposed, reason = propose_assignment(copies, "block_keyed")
    assert proposed == assignment
    assert bool(reason) == (assignment != "one_to_one")
    assert ("gemel duplicates" in reason) == both
    assert propose_assignment(copies, "open")[0] == ("clusters" if both else assignment)


def test_clusters_are_drafted_in_mode_open_where_both_files_have_copies() -> None:
    rng = np.random.default_rng(5)
    alice, bob = (copied(table, 0.2, 0.3, rng).drop(TRUTH) for table in two_files(500, 500, 250, 0.2, rng, sampled=0.3))
    spec, comments, _ = draft(alice, bob, "both", block=True, mode="open")
    assert spec.links.assignment == "clusters"
    assert "Alice's file has" in comments["links"]
    assert "Bob's file has" in comments["links"]
    apart, comments, _ = draft(alice, bob, "both", mode="block_keyed")
    assert apart.links.assignment in ("many_to_one", "one_to_many")
    assert "or link in mode open by clusters" in comments["links"]


@pytest.mark.parametrize(("share", "errors"), [(0.02, 0.3), (0.2, 1.0)])
def test_files_with_copies_are_recognised_and_others_are_not(share: float, errors: float) -> None:
    """Families in both files; the comment has counts and no value."""
    rng = np.random.default_rng(3)
    alice, bob = two_files(800, 800, 400, 0.2, rng, sampled=0.3)
    again = copied(bob, share, errors, rng)
    plain, comments, _ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "plain")
    assert plain.links.assignment == "one_to_one"
    assert "links" not in comments
    spec, comments, _ = draft(alice.drop(TRUTH), again.drop(TRUTH), "copies")
    assert spec.links.assignment == "one_to_many"
    assert "pairs of equal records" in comments["links"]
    written = dump_specification(spec, comments)
    assert "assignment: one_to_many" in written
    assert "Bob's file has" in " ".join(written.replace("#", " ").split())
