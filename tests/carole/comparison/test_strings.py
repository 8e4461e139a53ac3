"""Jaro and Jaro-Winkler against their definition, and against the values their authors printed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.comparison.levels import levels_of, similarity_table

WORDS = st.lists(st.text(alphabet="abcé", max_size=9), max_size=6)


def jaro(x: str, y: str) -> float:
    """The plain definition."""
    if not x or not y:
        return 1.0 if x == y else 0.0
    window = max(max(len(x), len(y)) // 2 - 1, 0)
    taken = [False] * len(y)
    common_x = []
    for i, character in enumerate(x):
        for j in range(max(0, i - window), min(len(y), i + window + 1)):
            if not taken[j] and y[j] == character:
                taken[j] = True
                common_x.append(character)
                break
    common_y = [character for character, used in zip(y, taken, strict=True) if used]
    c = len(common_x)
    if c == 0:
        return 0.0
    t = sum(first != second for first, second in zip(common_x, common_y, strict=True)) // 2
    return (c / len(x) + c / len(y) + (c - t) / c) / 3


def jaro_winkler(x: str, y: str) -> float:
    """The plain definition."""
    similarity = jaro(x, y)
    prefix = 0
    while prefix < min(4, len(x), len(y)) and x[prefix] == y[prefix]:
        prefix += 1
    return similarity + prefix * 0.1 * (1 - similarity) if similarity > 0.7 else similarity


@pytest.mark.parametrize(("comparator", "definition"), [("jaro", jaro), ("jaro_winkler", jaro_winkler)])
@given(a=WORDS, b=WORDS)
def test_the_table_is_the_definition(comparator, definition, a, b):
    expected = np.array([[definition(x, y) for y in b] for x in a]).reshape(len(a), len(b))
    assert similarity_table(a, b, comparator) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("x", "y", "one", "other"),
    [("MARTHA", "MARHTA", 0.944, 0.961), ("DWAYNE", "DUANE", 0.822, 0.840), ("DIXON", "DICKSONX", 0.767, 0.813)],
)
def test_values_in_print(x, y, one, other):
    assert round(float(similarity_table([x], [y], "jaro")[0, 0]), 3) == one
    assert round(float(similarity_table([x], [y], "jaro_winkler")[0, 0]), 3) == other


@given(a=WORDS)
def test_only_equal_values_reach_the_top_level(a):
    bounds = (0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.999, 1.0)
    for comparator in ("jaro", "jaro_winkler"):
        top = levels_of(similarity_table(a, a, comparator), bounds) == 7
        assert (top == np.array([[x == y for y in a] for x in a]).reshape(top.shape)).all()


def test_bounds_are_inclusive_in_spite_of_rounding():
    bounds = (0.2, 0.9, 1.0)
    similarity = np.array([0.0, 0.2, 0.1 + 0.1 + 1e-17, 0.2001, 0.9, 0.3 * 3, 0.9000000000000001, 0.91, 1.0])
    assert levels_of(similarity, bounds).tolist() == [0, 0, 0, 1, 1, 1, 1, 2, 2]
