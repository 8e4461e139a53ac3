"""Precision, recall and F1 of links, the curve over all thresholds and calibration, against plain definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from gemel.carole.evaluation.link_quality import (
    best_threshold,
    calibration,
    expected_precision_recall,
    matching_pairs,
    number_of_matches,
    quality,
)
from gemel.common.errors import ErrorCode
from tests.carole.refusals import refusal

SCORED = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.5000001, 0.9, 1.0]), st.booleans()), min_size=1)


def arrays(pairs):
    return np.array([p for p, _ in pairs]), np.array([m for _, m in pairs])


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


@given(pairs=SCORED, more=st.integers(0, 3))
def test_no_threshold_does_better(pairs, more):
    probability, is_match = arrays(pairs)
    n_matches = int(is_match.sum()) + more
    chosen, best = best_threshold(probability, is_match, n_matches)
    assert quality(is_match[probability >= chosen], n_matches) == best
    for threshold in set(probability):
        other = quality(is_match[probability >= threshold], n_matches)
        assert best.f1 > other.f1 or (best.f1 == other.f1 and chosen >= threshold)


def test_without_pairs_the_best_is_to_link_nothing():
    best = best_threshold(np.zeros(0), np.zeros(0, dtype=bool), 3)
    assert best == (1.0, quality(np.zeros(0, dtype=bool), 3))


def test_matches_of_two_files():
    person_a, person_b = np.array([3, 3, 5, -1, 8]), np.array([3, 5, 3, -1, 9])
    assert number_of_matches(person_a, person_b) == 5
    row_a, row_b = (index.ravel() for index in np.indices((5, 5)))
    is_match = matching_pairs(person_a, person_b, row_a, row_b)
    assert is_match.sum() == 5
    assert not is_match[18]  # the two records of unknown persons


def test_invalid_input_is_refused():
    with refusal(ErrorCode.PARAMETER, "at least the 2 matches among the pairs, got 1"):
        quality(np.array([True, True]), 1)
    for probability, is_match, what in (
        ([np.nan], [True], "1 NaN values"),
        ([0.5], [True, False], "one probability and one truth per pair"),
    ):
        with refusal(ErrorCode.PARAMETER, what):
            best_threshold(np.array(probability), np.array(is_match), 3)


@given(pairs=SCORED, more=st.integers(0, 3), unscored=st.sampled_from([0, 17]))
def test_area_is_the_integral_over_every_class(pairs, more, unscored):
    probability, is_match = arrays(pairs)
    n_matches = int(is_match.sum()) + more
    if n_matches == 0:
        assert expected_precision_recall(probability, is_match, 0).auc == 0.0
        return
    area, before, true_before = 0.0, 0, 0
    classes = [is_match[probability == p] for p in sorted(set(probability), reverse=True)]
    if unscored:
        classes.append(np.arange(unscored) < more)
    for members in classes:
        n, h = len(members), members.mean()
        n0, t0 = before, true_before
        area += quad(lambda k, h=h, n0=n0, t0=t0: (t0 + h * k) / (n0 + k) if n0 + k else h, 0, n)[0] * h / n_matches
        before, true_before = before + n, true_before + int(members.sum())
    curve = expected_precision_recall(probability, is_match, n_matches, unscored)
    assert curve.auc == pytest.approx(area, abs=1e-7)
    assert (np.diff(curve.recall) >= 0).all()
    points = set(zip(curve.recall, curve.precision, strict=True))
    assert len(points) == len(curve.recall)


def test_trapezia_across_ties_flatter():
    """Ten sure matches, then a large class with few: the curve falls at once, the trapezium slowly."""
    probability = np.array([0.9] * 10 + [0.1] * 1000)
    is_match = np.array([True] * 10 + [True] * 20 + [False] * 980)
    curve = expected_precision_recall(probability, is_match, 30)
    assert curve.auc_trapezium > curve.auc + 0.1
    np.testing.assert_allclose(curve.precision, [1.0, 30 / 1010])
    np.testing.assert_allclose(curve.recall, [1 / 3, 1.0])
    assert curve.auc_trapezium == pytest.approx(1 / 3 + 2 / 3 * (1 + 30 / 1010) / 2)


def test_perfect_and_hopeless_orders():
    is_match = np.array([True, True, False, False])
    assert expected_precision_recall(np.array([0.9, 0.8, 0.2, 0.1]), is_match, 2).auc == pytest.approx(1.0)
    uninformed = expected_precision_recall(np.full(4, 0.5), is_match, 2)
    assert uninformed.auc == pytest.approx(0.5)
    assert uninformed.auc_trapezium == pytest.approx(0.5)


def test_matches_that_blocking_lost_cost_area_unless_the_rest_is_one_class():
    probability, is_match = np.array([0.9, 0.8]), np.array([True, True])
    assert expected_precision_recall(probability, is_match, 4).auc == pytest.approx(0.5)
    whole = expected_precision_recall(probability, is_match, 4, n_unscored=98)
    assert whole.recall[-1] == 1.0
    assert 0.5 < whole.auc < 0.6


@given(pairs=SCORED)
def test_calibration_sums_up_class_by_class(pairs):
    probability, is_match = arrays(pairs)
    curve = calibration(probability, is_match)
    assert curve.expected[-1] == pytest.approx(probability.sum())
    assert curve.observed[-1] == is_match.sum()
    for threshold, expected, observed in zip(
        sorted(set(probability), reverse=True), curve.expected, curve.observed, strict=True
    ):
        assert expected == pytest.approx(probability[probability >= threshold].sum())
        assert observed == is_match[probability >= threshold].sum()


def test_the_gap_of_calibration_has_a_sign():
    is_match = np.array([True] * 5 + [False] * 5)
    assert calibration(np.full(10, 0.5), is_match).largest_gap == pytest.approx(0.0)
    assert calibration(np.full(10, 0.9), is_match).largest_gap == pytest.approx(0.8)
    assert calibration(np.full(10, 0.1), is_match).largest_gap == pytest.approx(-0.8)
    assert calibration(np.zeros(0), np.zeros(0, dtype=bool)).largest_gap == 0.0
