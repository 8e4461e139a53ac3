import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.evaluation.link_quality import best_threshold, matching_pairs, number_of_matches, quality
from gemel.common.errors import ErrorCode, GemelError

scored = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.5000001, 0.9, 1.0]), st.booleans()), min_size=1)


def test_quality_of_links():
    found = quality(np.array([True, True, False]), 8)
    assert (found.links, found.true_links, found.matches) == (3, 2, 8)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(2 / 8)
    assert found.f1 == pytest.approx(2 / (1 / (2 / 3) + 1 / (2 / 8)))


def test_no_links_and_no_matches_are_defined():
    nothing = np.zeros(0, dtype=bool)
    assert (quality(nothing, 5).precision, quality(nothing, 5).recall, quality(nothing, 5).f1) == (1.0, 0.0, 0.0)
    assert (quality(nothing, 0).recall, quality(nothing, 0).f1) == (1.0, 1.0)
    assert quality(np.array([False]), 0).f1 == 0.0


@given(pairs=scored, more=st.integers(0, 3))
def test_no_threshold_does_better(pairs, more):
    probability = np.array([p for p, _ in pairs])
    is_match = np.array([m for _, m in pairs])
    n_matches = int(is_match.sum()) + more
    best = best_threshold(probability, is_match, n_matches)
    at_best = quality(is_match[probability >= best.threshold], n_matches)
    assert at_best == best.quality
    for threshold in set(probability):
        other = quality(is_match[probability >= threshold], n_matches)
        assert best.quality.f1 > other.f1 or (best.quality.f1 == other.f1 and best.threshold >= threshold)


def test_without_pairs_the_best_is_to_link_nothing():
    best = best_threshold(np.zeros(0), np.zeros(0, dtype=bool), 3)
    assert (best.threshold, best.quality) == (1.0, quality(np.zeros(0, dtype=bool), 3))


def test_matches_of_two_files():
    person_a, person_b = np.array([3, 3, 5, -1, 8]), np.array([3, 5, 3, -1, 9])
    assert number_of_matches(person_a, person_b) == 5
    row_a, row_b = (index.ravel() for index in np.indices((5, 5)))
    is_match = matching_pairs(person_a, person_b, row_a, row_b)
    assert is_match.sum() == 5
    assert not is_match[18]  # the two records of unknown persons


def test_invalid_input_is_refused():
    with pytest.raises(GemelError, match="at least the 2 matches among the pairs, got 1") as raised:
        quality(np.array([True, True]), 1)
    assert raised.value.code is ErrorCode.PARAMETER
    with pytest.raises(GemelError, match="1 NaN values"):
        best_threshold(np.array([np.nan]), np.array([True]), 3)
    with pytest.raises(GemelError, match="one probability and one truth per pair"):
        best_threshold(np.array([0.5]), np.array([True, False]), 3)
