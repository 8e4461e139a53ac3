"""The order of codes by groups: known without a key as far as it must be, and uniform for the rest."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.keys.derivation import Seed
from gemel.common.signatures.category_tree import code_groups, ordered
from gemel.common.specification.model.protection import CoarseningStep
from gemel.common.specification.model.variables import VariableSpec
from gemel.custodian.encoding.categories import Relabelling, coarsened_labels


@st.composite
def ladders(draw: st.DrawFn) -> list[list[int]]:
    """Partitions of a few categories, each of whole groups of the one before."""
    n = draw(st.integers(2, 9))
    found: list[list[int]] = []
    before = list(range(n))
    for _ in range(draw(st.integers(0, 3))):
        numbers = draw(st.lists(st.integers(0, 4), min_size=9, max_size=9))
        before = [numbers[group] for group in before]
        found.append(before)
    return [list(range(n)), *found] if draw(st.booleans()) else found or [list(range(n))]


@given(ladders(), st.randoms(use_true_random=False))
def test_whoever_has_no_key_knows_the_groups_of_codes(partitions: list[list[int]], random: object) -> None:
    n = len(partitions[0])
    ranks = list(range(n))
    random.shuffle(ranks)  # type: ignore[attr-defined]
    order = ordered(partitions, ranks)
    assert sorted(order) == list(range(n))
    for partition, groups in zip(partitions, code_groups(partitions, n), strict=True):
        pairs = {(partition[place], int(group)) for place, group in zip(order, groups, strict=True)}
        assert len(pairs) == len(set(partition)) == len(set(groups.tolist()))
        assert (np.diff(np.unique(groups, return_index=True)[1]) > 0).all()  # numbered in the order of the codes


def test_every_order_that_fits_the_groups_is_as_probable_as_another() -> None:
    """Two groups of two and one of one: the one is known by its size, the others change places."""
    partition = [0, 1, 0, 2, 1]
    found = Counter(tuple(ordered([partition], ranks)) for ranks in permutations(range(5)))
    assert len(found) == 8
    assert set(found.values()) == {120 // 8}
    alone = {order.index(3) for order in found}
    assert len(alone) == 1


def test_without_groups_the_codes_are_what_they_were() -> None:
    assert ordered([], [3, 1, 2]) == [1, 2, 0]


def test_labels_of_groups_are_in_the_order_of_the_codes() -> None:
    variable = VariableSpec(name="age", holder="alice", categories=("a", "b", "c", "d"))
    step = CoarseningStep(name="bands", groups={"low": ("a", "B"), "high": ("c", "d")})
    steps = (step, "drop")
    seen = set()
    for number in range(1, 21):
        given_seed = Seed(number.to_bytes(32, "big"))
        labels = Relabelling("p", given_seed, bytes(32), 1).labels(variable, steps)
        groups = coarsened_labels(labels, step)
        (of_code,) = code_groups([[0, 0, 1, 1]], 4)
        assert [groups[of_code[code]] for code in range(4)] == [
            "low" if label in ("a", "b") else "high" for label in labels
        ]
        codes = Relabelling("p", given_seed, bytes(32), 1).codes(variable, steps)
        assert [labels[code] for code in codes] == list(variable.categories)
        seen.add(groups)
    assert seen == {("low", "high"), ("high", "low")}
