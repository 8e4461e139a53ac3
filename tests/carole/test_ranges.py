"""Every probability lies in [0, 1] and is finite, however extreme the weights, counts and probabilities before it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gemel.carole.assessment.cell_risk import by_frequency, ends
from gemel.carole.assessment.inferred_values import expected_share
from gemel.carole.assessment.measures import Measure, entry
from gemel.carole.evaluation.check_field import CheckedPairs, false_links
from gemel.carole.evaluation.quality_estimate import DecoyCount, precision_by_decoys
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.link_rule import within_rate
from gemel.carole.fellegi_sunter.model import corrected, match_weights, probability, probability_of, shares
from gemel.risk.identification.population_spectrum import Pitman, Spectrum

PROBABILITIES = st.one_of(st.sampled_from([0.0, 5e-324, 1e-17, 1 - 2**-53, 1.0]), st.floats(0, 1))
INSIDE = st.one_of(st.sampled_from([1e-300, 1e-17, 1e-9, 0.5, 1 - 1e-9, 1 - 2**-53]), st.floats(1e-12, 1 - 1e-12))
COUNTS = st.one_of(st.just(0.0), st.floats(-3, 15).map(lambda power: float(10.0**power)))
ASSIGNMENTS = ["one_to_one", "greedy", "many_to_one", "one_to_many", "none"]


def in_range(*values):
    for value in values:
        found = np.asarray(value)
        assert np.isfinite(found).all(), found
        assert ((found >= 0.0) & (found <= 1.0)).all(), found


@given(
    weight=arrays(np.float64, st.integers(1, 30), elements=st.one_of(st.floats(-60, 60), st.floats(-3000, 3000))),
    assignment=st.sampled_from(ASSIGNMENTS),
    recall=st.one_of(st.just(1.0), st.floats(1e-6, 1)),
    expected=st.one_of(st.none(), st.floats(1e-9, 40)),
    seed=st.integers(0, 999),
)
def test_link_probabilities(weight, assignment, recall, expected, seed):
    places = np.random.default_rng(seed).choice(64, len(weight), replace=False)
    links = LinkPosterior(assignment, places // 8, places % 8, 8, 8, expected_matches=expected, recall=recall)
    found = links.probabilities(weight)
    in_range(found.probability)
    assert np.isfinite(found.expected_links)


@given(
    density=st.floats(-3, 3.5),
    sizes=st.tuples(st.integers(1, 60), st.integers(1, 60)),
    assignment=st.sampled_from([*ASSIGNMENTS, "clusters"]),
    seed=st.integers(0, 999),
)
def test_chance_to_meet(density, sizes, assignment, seed):
    rng, n = np.random.default_rng(seed), int(10**density * min(sizes))
    links = LinkPosterior(assignment, rng.integers(0, sizes[0], n), rng.integers(0, sizes[1], n), *sizes)
    chosen = rng.random(n) < 0.9
    meeting, at_random = links.meeting(chosen)
    in_range(at_random)
    assert not (meeting & ~chosen).any()


@given(arrays(np.float64, st.integers(1, 9), elements=st.floats(allow_nan=False)))
def test_logistic_function(log_odds):
    in_range(probability(log_odds))


@given(m=INSIDE, u=INSIDE, p=INSIDE)
def test_match_probabilities(m, u, p):
    gamma = np.array([[0, 0], [1, 0], [1, 1], [-1, 1]], dtype=np.int8)
    tables = [np.tile([1.0 - value, value], (2, 1)) for value in (m, u)]
    in_range(probability_of(match_weights(gamma, *tables), p))


@given(counts=arrays(np.float64, (3, 3), elements=COUNTS), m=PROBABILITIES, p=INSIDE, prior=st.sampled_from([0.0, 1.0]))
def test_levels_of_others(counts, m, p, prior):
    valid = np.array([[True, True, True], [True, True, False], [True, False, False]])
    believed = np.array([[m, 1 - m, 0.0], [m, 1 - m, 0.0], [1.0, 0.0, 0.0]])
    counts = np.where(valid, counts, 0.0)
    for found in (shares(counts, valid, prior), corrected(counts, believed, p, valid, prior)):
        in_range(found)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)


@given(arrays(np.float64, st.integers(1, 30), elements=PROBABILITIES), st.floats(1e-9, 0.999))
def test_links_within_a_rate(chances, rate):
    links, threshold = within_rate(chances, np.arange(len(chances)), rate)
    in_range(threshold)
    assert not len(links) or (1 - chances[links]).mean() <= rate + 1e-12


@given(
    decoys=st.integers(1, 10**6), linked=st.floats(0, 1), records=st.integers(1, 10**8), links=st.integers(1, 10**8),
    missed=COUNTS, seed=st.integers(0, 99),
)  # fmt: skip
def test_precision_by_decoys(decoys, linked, records, links, missed, seed):
    number = int(decoys * linked)
    side = DecoyCount(decoys, number, number // 2, records, min(records, links))
    found = precision_by_decoys([side, side], links, missed, np.random.default_rng(seed))
    if found is not None:
        in_range(found.lower, found.value, found.upper)
        assert found.lower <= found.upper


@settings(max_examples=20)
@given(
    agreeing=PROBABILITIES, sure=st.sampled_from([0.9, 1 - 2**-53, 1.0]), rest=PROBABILITIES, seed=st.integers(0, 99)
)
def test_false_links_by_a_check_field(agreeing, sure, rest, seed):
    rng = np.random.default_rng(seed)
    likeness = rng.integers(0, 3, (150, 4)).astype(np.int8)
    pairs = CheckedPairs(
        likeness, likeness.sum(axis=1).astype(np.float64), (rng.random(150) <= agreeing).astype(np.int8)
    )
    other = CheckedPairs(likeness, -pairs.weight, (rng.random(150) > agreeing).astype(np.int8))
    found = false_links(pairs, np.where(np.arange(150) < 100, sure, rest), other, 0.5, rng)
    if found is not None:
        in_range(found.lower, found.share, found.upper, found.m, found.u)


@given(arrays(np.float64, st.integers(1, 40), elements=PROBABILITIES))
def test_expected_shares(chances):
    found = expected_share([chances], "")
    in_range(found.lower, found.value, found.upper)
    assert found.lower <= found.value <= found.upper


@given(
    counts=st.lists(st.integers(1, 2000), min_size=1, max_size=30), alpha=st.floats(-20, 0.999),
    theta=st.floats(0.1, 1e6), times=st.floats(0, 6),
)  # fmt: skip
def test_largest_risk_of_a_record(counts, alpha, theta, times):
    people = int(sum(counts) * 10**times)
    law = by_frequency(Spectrum.of(np.asarray(counts)), Pitman(alpha, theta - alpha, float(sum(counts))), people)
    low, high = ends(law, people)
    in_range(low, high)
    assert low <= high


def test_rounding_breaches_no_limit():
    measure = Measure(1.0, "all", no_interval="exact")
    assert not entry("subtraction", measure, 1.0 - 1e-12, None)["breached"]
    assert entry("subtraction", measure, 1.0 - 1e-6, None)["breached"]


def test_a_measure_without_an_interval_says_why():
    with pytest.raises(Exception, match="why it needs none"):
        entry("subtraction", Measure(1.0, "all"), None, None)
