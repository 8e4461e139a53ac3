"""The greatest rise of a value's probability: its draws beside every set of true links, and what they must not hold."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from gemel.carole.assessment.attribution_gain import ExpectedCells, PossibleMatches, drawn_rises, greatest_rise

LEVELS = 3
BACKGROUND = np.repeat(np.arange(LEVELS), [1000, 600, 400])
"""Values of a large group, which makes the frequencies known."""


def small_file(
    group: list[int], value: list[int], weight: list[float]
) -> tuple[ExpectedCells, NDArray[np.float64], NDArray[np.bool_]]:
    """Some pairs beside the large group, which is the last."""
    last = max(group) + 1
    groups = np.array([*group, *[last] * len(BACKGROUND)], dtype=np.int64)
    values = np.array([*value, *BACKGROUND], dtype=np.int32)
    weights = np.array([*weight, *np.ones(len(BACKGROUND))])
    counted = ExpectedCells.of(groups, values, weights, LEVELS, last + 1)
    return counted, weights, np.ones(last + 1, dtype=np.bool_)


def test_the_draws_have_the_law_of_every_set_of_true_links() -> None:
    """A pair with the rare value and one of another in a group, in three groups: 64 sets of true links."""
    group, value = [0, 0, 1, 1, 2, 2], [2, 0, 2, 1, 1, 1]
    weight = [0.5, 0.7, 0.6, 0.9, 0.8, 0.4]
    counted, weights, inside = small_file(group, value, weight)
    _, prior, _ = counted.posterior(weights)
    exact: dict[float, float] = {}
    for true in product((0, 1), repeat=len(group)):
        chance = float(np.prod([w if t else 1 - w for w, t in zip(weight, true, strict=True)]))
        rises = [0.0]
        for g in range(3):
            inner = [v for v, t, own in zip(value, true, group, strict=True) if t and own == g]
            rises += [inner.count(v) / len(inner) - prior[v] for v in range(LEVELS) if inner]
        key = round(max(rises), 1)
        exact[key] = exact.get(key, 0.0) + chance
    people = len(weights)
    drawn = np.round(drawn_rises(counted, PossibleMatches(weights, 0.0, people), inside, 20_000), 1)
    for rise, chance in exact.items():
        assert float((drawn == rise).mean()) == pytest.approx(chance, abs=0.02), rise


def test_what_is_known_for_certain_has_no_width() -> None:
    """Every link true, no one missed, everybody in the file."""
    counted, weights, inside = small_file([0, 0, 1], [2, 2, 0], [1.0, 1.0, 1.0])
    found = greatest_rise(counted, weights, inside, [PossibleMatches(weights, 0.0, len(weights))])
    assert found.lower == found.value == found.upper == pytest.approx(1 - 402 / 2003)


def test_a_larger_population_and_missed_people_widen_it() -> None:
    counted, weights, inside = small_file(list(range(300)), [1, 0] * 150, [1.0] * 300)
    widths = []
    for missed, people in ((0.0, 2_300), (0.0, 20_000), (400.0, 20_000)):
        found = greatest_rise(counted, weights, inside, [PossibleMatches(weights, missed, people)])
        assert found.lower is not None
        assert found.upper is not None
        widths.append(found.upper - found.lower)
    assert widths[0] == 0.0 < widths[1] < widths[2]
    # Someone with the rare value, of whom no group of one is in the file yet, may be among the missed.
    assert found.upper > found.value + 0.1
