"""The estimate of what blocking lost, on exact populations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from carole.engine.recall import blocking_recall, independent_groups


def population(*probabilities):
    """Expected matches by mask when each rule finds a match independently with its probability."""
    masks, matches = [], []
    for found in itertools.product((0, 1), repeat=len(probabilities)):
        if any(found):
            masks.append(sum(bit << rule for rule, bit in enumerate(found)))
            matches.append(1000 * np.prod([q if bit else 1 - q for q, bit in zip(probabilities, found, strict=True)]))
    return np.array(masks, np.uint32), np.array(matches)


@pytest.mark.parametrize("probabilities", [(0.9, 0.8), (0.5, 0.3), (0.9, 0.7, 0.2), (0.99, 0.99)])
def test_independent_rules_give_the_exact_recall(probabilities):
    mask, matches = population(*probabilities)
    fields = [[f"field {rule}"] for rule in range(len(probabilities))]
    expected = 1 - np.prod([1 - q for q in probabilities])
    assert blocking_recall(mask, matches, fields) == pytest.approx(expected, rel=1e-9)


def test_rules_that_share_a_field_count_as_one():
    assert independent_groups([["a", "b"], ["c"], ["b", "d"], ["e"], ["d"]]) == [[0, 2, 4], [1], [3]]
    # Rules 0 and 1 are the same rule twice: as two lists they would seem to miss nothing.
    mask, matches = population(0.8, 0.6)
    twice = np.where(mask & 1, mask | 4, mask).astype(np.uint32)
    fields = [["surname"], ["born"], ["surname"]]
    assert blocking_recall(twice, matches, fields) == pytest.approx(0.92, rel=1e-9)


def test_what_cannot_be_told_is_not_told():
    mask, matches = population(0.8, 0.6)
    assert blocking_recall(mask, matches, [["a"], ["a"]]) is None
    assert blocking_recall(np.array([1, 2], np.uint32), np.array([5.0, 5.0]), [["a"], ["b"]]) is None
    assert blocking_recall(mask, np.zeros(3), [["a"], ["b"]]) is None
    assert blocking_recall(np.array([1, 3], np.uint32), np.array([5.0, 5.0]), [["a"], ["b"]]) == 1
