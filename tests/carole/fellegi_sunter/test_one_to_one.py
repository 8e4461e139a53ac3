"""Link probabilities under one-to-one, against the enumeration of every matching."""

import math
from collections import Counter
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemel.carole.fellegi_sunter import candidate_graph as candidate_graph_module
from gemel.carole.fellegi_sunter import one_to_one
from gemel.carole.fellegi_sunter import prior as fixed_point
from gemel.carole.fellegi_sunter.candidate_graph import candidate_graph, in_ranges, ranges
from gemel.carole.fellegi_sunter.link_rule import optimal_assignment
from gemel.carole.fellegi_sunter.one_to_one import Competition, uncontested
from gemel.carole.fellegi_sunter.prior import BetaBipartite
from gemel.carole.fellegi_sunter.propagation import Propagation
from gemel.common.errors import GemelError
from tests.carole.fellegi_sunter.enumeration import enumerated
from tests.carole.fellegi_sunter.populations import link_probabilities


def propagated(a, b, log_ratio, log_prior_odds=0.0):
    messages = Propagation(candidate_graph(np.array(a), np.array(b)), np.array(log_ratio, dtype=float))
    settled = messages.run(log_prior_odds)
    assert settled.unsettled == 0
    beliefs = messages.beliefs()
    assert settled.expected_links == pytest.approx(beliefs.probability.sum(), abs=1e-6)
    return beliefs


@st.composite
def forests(draw):
    """Candidate graphs without a cycle: each new record hangs on one that is there, or starts a tree."""
    rows, columns, edges = [], [], []
    for k in range(draw(st.integers(1, 9))):
        is_row = draw(st.booleans())
        others = columns if is_row else rows
        if others:
            other = draw(st.sampled_from(others))
            edges.append((k, other) if is_row else (other, k))
        (rows if is_row else columns).append(k)
    return edges


@given(edges=forests().filter(bool), seed=st.integers(0, 2**32))
def test_exact_on_trees(edges, seed):
    a, b = zip(*edges, strict=True)
    log_ratio = np.random.default_rng(seed).normal(0, 6, len(a))
    beliefs = propagated(a, b, log_ratio - 0.7, 0.7)
    exact, log_sum = enumerated(a, b, log_ratio)
    np.testing.assert_allclose(beliefs.probability, exact, atol=1e-6)
    assert beliefs.log_weight_sum == pytest.approx(log_sum, abs=1e-5)


@given(seed=st.integers(0, 2**32), shape=st.tuples(st.integers(1, 4), st.integers(1, 4)))
def test_close_on_graphs_with_cycles(seed, shape):
    rng = np.random.default_rng(seed)
    a, b = np.nonzero(rng.random(shape) < 0.8)
    log_ratio = rng.normal(0, 3, len(a))
    beliefs = propagated(a, b, log_ratio)
    exact, log_sum = enumerated(a, b, log_ratio)
    marginal = beliefs.probability
    # The largest that a search found is .45; Bethe's sum of weights is short of the exact one by 2 ** (n / 2) at most.
    assert np.abs(marginal - exact).max(initial=0) < 0.46
    assert -1e-6 <= log_sum - beliefs.log_weight_sum <= min(shape) / 2 * math.log(2) + 1e-6
    for side in (a, b):
        assert np.bincount(side, marginal).max(initial=0) < 1 + 1e-6


def test_the_average_error_on_cycles_is_small():
    rng = np.random.default_rng(11)
    errors = []
    for _ in range(200):
        a, b = np.nonzero(rng.random((4, 4)) < 0.6)
        log_ratio = rng.normal(0, 4, len(a))
        errors.append(np.abs(propagated(a, b, log_ratio).probability - enumerated(a, b, log_ratio)[0]))
    assert np.concatenate(errors).mean() < 0.006


def test_weights_of_any_size_do_not_overflow():
    a, b = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 2])
    beliefs = propagated(a, b, [600.0, -600.0, 550.0, 400.0, 650.0])
    np.testing.assert_allclose(beliefs.probability, [1, 0, 0, 1, 1], atol=1e-9)


def plain_messages(a, b, log_weight, rounds=20_000):
    """Marginals by messages along all pairs, each record's sent in turn, until none changes: the definition."""
    weight = np.exp(log_weight)
    to_a = np.ones(len(a))
    before = np.zeros(len(a))
    for _ in range(rounds):
        claims = weight * to_a
        to_b = 1 / (1 + np.bincount(a, claims)[a] - claims)
        claims = weight * to_b
        to_a = 1 / (1 + np.bincount(b, claims)[b] - claims)
        odds = weight * to_a * to_b
        if np.abs(odds / (1 + odds) - before).max() < 1e-12:
            return before
        before = odds / (1 + odds)
    raise AssertionError("the definition has not converged")


@given(
    seed=st.integers(0, 2**32),
    n_rows=st.integers(2, 60),
    n_columns=st.integers(2, 60),
    density=st.sampled_from([0.05, 0.3, 1.0]),
    level=st.sampled_from([-8.0, -4.0, -1.0, 2.0]),
    matches=st.sampled_from([0.0, 6.0, 12.0]),
)
def test_as_messages_along_all_pairs(seed, n_rows, n_columns, density, level, matches):
    """Weak pairs, strong ones, and dozens between: sums over weak pairs leave the fixed point where it was."""
    rng = np.random.default_rng(seed)
    chosen = (rng.random((n_rows, n_columns)) < density) | np.eye(n_rows, n_columns, dtype=bool)
    a, b = np.nonzero(chosen)
    log_weight = rng.normal(level, 2, len(a)) + np.where(a == b, matches, 0)
    beliefs = propagated(a, b, log_weight - 1.5, 1.5)
    np.testing.assert_allclose(beliefs.probability, plain_messages(a, b, log_weight), atol=2e-6)


def test_messages_start_from_where_they_were_and_end_in_the_same_place():
    rng = np.random.default_rng(5)
    a, b = np.nonzero(rng.random((30, 30)) < 0.1)
    messages = Propagation(candidate_graph(a, b), rng.normal(0, 3, len(a)))
    messages.run(-2.0)
    first = messages.beliefs().probability
    messages.run(5.0)
    messages.run(-2.0)
    np.testing.assert_allclose(messages.beliefs().probability, first, atol=1e-6)


def test_pairs_that_are_weighed_again_have_the_messages_of_a_first_start():
    """Matches and strangers exchanged: what was strong is weak, and the reverse."""
    rng = np.random.default_rng(6)
    a, b = (index.ravel() for index in np.indices((80, 80)))
    one = np.where(a == b, 9.0, -5.0) + rng.normal(0, 1, len(a))
    other = np.where(a == 79 - b, 9.0, -5.0) + rng.normal(0, 1, len(a))
    messages = Propagation(candidate_graph(a, b), one)
    messages.run(0.0)
    messages.weigh(other)
    assert messages.run(0.0).unsettled == 0
    np.testing.assert_allclose(messages.beliefs().probability, propagated(a, b, other).probability, atol=1e-6)


def test_a_few_slow_components_keep_no_other_from_resting():
    """Two exchanges nearly as good as each other take hundreds of sweeps, one group of records in some thousands."""
    rng = np.random.default_rng(1)
    groups = 20_000
    rows, columns = rng.integers(1, 5, groups), rng.integers(1, 5, groups)
    group = np.repeat(np.arange(groups), rows * columns)
    cell = np.arange(len(group)) - np.repeat(np.cumsum(rows * columns) - rows * columns, rows * columns)
    there = rng.random(len(group)) < 0.7
    a = ((np.cumsum(rows) - rows)[group] + cell // columns[group])[there]
    b = ((np.cumsum(columns) - columns)[group] + cell % columns[group])[there]
    level = rng.choice([-6, -2, 0, 2, 5, 9], groups)[group[there]]
    log_ratio = level + np.round(rng.normal(0, 4, len(a)), 1)
    log_ratio[rng.random(len(a)) < 0.3] += 12
    messages = Propagation(candidate_graph(a, b), log_ratio)
    for odds in (-3.0, 0.0, 2.0, -1.0):
        settled = messages.run(odds)
        assert settled.unsettled == 0
        assert settled.worked_out < 40 * len(a)


def test_it_settles_where_nearly_every_record_has_a_match_and_hundreds_of_namesakes():
    """Four poor fields: passing messages along all pairs had not ended after 500 rounds."""
    rng = np.random.default_rng(12)
    n = 1000
    a, b = np.nonzero((rng.random((n, n)) < 0.2) | np.eye(n, dtype=bool))
    weight = np.where(a == b, rng.normal(12, 4, len(a)), rng.normal(0, 4, len(a)))
    reported = []
    found = link_probabilities(a, b, weight, n, n, progress=reported.append)
    assert found.converged
    assert reported == sorted(reported)
    assert reported[-1] == 1
    assert 900 < found.expected_links < 1000
    assert found.probability.sum() == pytest.approx(found.expected_links, abs=1e-2)
    messages = Propagation(candidate_graph(a, b), weight * np.log(2.0))
    settled = messages.run(found.log_prior_odds)
    assert settled.unsettled == 0
    assert settled.worked_out < 60 * len(a)


@pytest.mark.parametrize(("n_a", "n_b"), [(4, 3), (3, 3), (1, 5)])
def test_the_prior_is_a_distribution_over_matchings(n_a, n_b):
    prior = BetaBipartite(n_a, n_b, alpha=1.5, beta=0.7)
    larger, smaller = max(n_a, n_b), min(n_a, n_b)
    number = [math.comb(smaller, n) * math.perm(larger, n) for n in range(smaller + 1)]
    assert sum(k * math.exp(prior.log_density(n)) for n, k in enumerate(number)) == pytest.approx(1)


def test_one_more_link_has_the_odds_of_the_prior():
    prior = BetaBipartite(900, 600)
    for n in (3, 100, 595):
        exact = (n + 1) / ((900 - n) * (600 - n))
        assert prior.log_density(n + 1) - prior.log_density(n) == pytest.approx(math.log(exact))
        slope = (prior.log_density(n + 1e-4) - prior.log_density(n - 1e-4)) / 2e-4
        assert prior.log_odds(n) == pytest.approx(slope, abs=1e-5)
    assert math.isfinite(prior.log_odds(600))


def test_few_matches_leave_the_pairwise_probability():
    """Ten sure pairs and one doubtful among 10,000 x 10,000: one-to-one changes nothing."""
    rows = np.arange(11)
    log_ratio = np.array([40.0] * 10 + [math.log(1e8 / 10)])
    posterior = link_probabilities(rows, rows, log_ratio / math.log(2), 10_000, 10_000)
    assert posterior.expected_links == pytest.approx(10.5, abs=0.1)
    assert posterior.log_prior_odds == pytest.approx(math.log(10.5 / 1e8), abs=0.1)
    assert posterior.probability[10] == pytest.approx(0.5, abs=0.03)


def test_the_last_one_left_belongs_to_the_last_one_left():
    """99 of 100 records have a sure match; a weak pair of the two that remain is theirs, and pairwise it is not."""
    rows = np.arange(100)
    log_ratio = np.full(100, 30.0)
    log_ratio[99] = math.log(20)
    posterior = link_probabilities(rows, rows, log_ratio / math.log(2), 100, 100)
    pairwise = 20 * 100 / 1e4 / (1 + 20 * 100 / 1e4)
    assert pairwise < 0.2
    assert posterior.probability[99] > 0.9
    assert posterior.converged


@pytest.mark.parametrize("graphs", [10, pytest.param(30, marks=pytest.mark.long)])
def test_as_the_exact_posterior_over_matchings_and_numbers_of_links(graphs):
    """Five by five, all matchings enumerated under the prior itself: no mode, no Bethe."""
    rng = np.random.default_rng(3)
    worst = []
    for _ in range(graphs):
        weight = rng.normal(-2, 2, (5, 5))
        weight[np.diag_indices(5)] += np.where(rng.random(5) < 0.6, 9, 0)
        a, b = (index.ravel() for index in np.indices((5, 5)))
        log_prior = [BetaBipartite(5, 5).log_density(n) for n in range(6)]
        exact, _ = enumerated(a, b, weight.ravel() * math.log(2), log_prior)
        posterior = link_probabilities(a, b, weight.ravel(), 5, 5)
        worst.append(np.abs(posterior.probability - exact).max())
    assert np.median(worst) < 0.12


def test_records_that_compete_in_a_cycle_have_the_exact_probabilities():
    """Ten rings of four records a side within large files: the number of links is certain, their partners are not."""
    rng = np.random.default_rng(14)
    ring_a, ring_b = (index.ravel() for index in np.indices((4, 4)))
    a = np.concatenate([ring_a + 4 * k for k in range(10)])
    b = np.concatenate([ring_b + 4 * k for k in range(10)])
    weight = rng.normal(30, 2, len(a))
    posterior = link_probabilities(a, b, weight, 1000, 1000)
    for k in range(10):
        mine = slice(16 * k, 16 * (k + 1))
        exact, _ = enumerated(ring_a, ring_b, weight[mine] * np.log(2) + posterior.log_prior_odds)
        np.testing.assert_allclose(posterior.probability[mine], exact, atol=1e-3)
    by_propagation = propagated(a, b, weight * np.log(2.0), posterior.log_prior_odds).probability
    assert np.abs(by_propagation - posterior.probability).max() > 0.1


def test_work_is_bounded_and_what_ends_early_is_reported(monkeypatch):
    monkeypatch.setattr(fixed_point, "MAX_TERMS", 0.0)
    monkeypatch.setattr(fixed_point, "MAX_TERMS_PER_PAIR", 3.0)
    rng = np.random.default_rng(15)
    n = 300
    a, b = np.nonzero(rng.random((n, n)) < 0.2)
    posterior = link_probabilities(a, b, rng.normal(7, 1, len(a)), n, n)
    assert not posterior.converged
    assert "expected_links_not_converged" in {warning.code for warning in posterior.warnings}
    for side in (a, b):
        assert np.bincount(side, posterior.probability).max() < 1.05


def test_a_solution_nearby_is_the_one_found_from_both_ends(monkeypatch):
    rng = np.random.default_rng(16)
    n = 200
    a, b = np.nonzero((rng.random((n, n)) < 0.05) | np.eye(n, dtype=bool))
    weight = np.where(a == b, rng.normal(14, 4, len(a)), rng.normal(2, 3, len(a)))
    both = link_probabilities(a, b, weight, n, n)
    monkeypatch.setattr(one_to_one, "MANY_PAIRS", 100)
    for before in (-0.4, 0.4):
        competition = Competition(a, b)
        competition.probabilities(weight + before, BetaBipartite(n, n))
        nearby = competition.probabilities(weight, BetaBipartite(n, n), near=True)
        assert nearby.expected_links == pytest.approx(both.expected_links, abs=0.2)


def test_no_candidates():
    nobody = np.zeros(0, dtype=np.int64)
    posterior = link_probabilities(nobody, nobody, np.zeros(0), 10, 10)
    assert posterior.expected_links == 0
    assert len(posterior.probability) == 0
    assert posterior.converged


def test_invalid_input_is_refused():
    one = np.array([0])
    with pytest.raises(GemelError, match="finite match weights"):
        link_probabilities(one, one, np.array([np.nan]), 1, 1)
    with pytest.raises(GemelError, match="one length"):
        link_probabilities(one, one, np.zeros(2), 1, 1)


# Pairs that nothing excludes are answered at once: what messages along them would come to.


PAIRS = st.sets(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=30).map(sorted)


def rows(pairs):
    table = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@given(PAIRS)
def test_a_pair_is_uncontested_if_both_its_records_have_no_other(pairs):
    of_a, of_b = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    assert uncontested(*rows(pairs)).tolist() == [of_a[a] == of_b[b] == 1 for a, b in pairs]


@given(PAIRS, st.integers(0, 2**32), st.sampled_from([-4.0, 0.0, 3.0]), st.sampled_from([1, 2]))
def test_uncontested_pairs_are_as_messages_along_all_pairs(pairs, seed, odds, threads):
    a, b = rows(pairs)
    log_ratio = np.random.default_rng(seed).normal(0, 5, len(a))
    marginals = Competition(a, b, threads)
    marginals.weigh(log_ratio)
    settled = marginals.run(odds)
    whole = Propagation(candidate_graph(a, b), log_ratio)
    assert settled.expected_links == pytest.approx(whole.run(odds).expected_links, abs=1e-5)
    found, expected = marginals.beliefs(), whole.beliefs()
    np.testing.assert_allclose(found.probability, expected.probability, atol=1e-6)
    assert found.log_weight_sum == pytest.approx(expected.log_weight_sum, abs=1e-5)
    assert sorted(marginals.graph.order.tolist()) == np.flatnonzero(~uncontested(a, b)).tolist()


def test_exact_where_no_record_competes():
    a, b, log_ratio = np.arange(6), np.arange(6)[::-1].copy(), np.array([-800.0, -9.0, -1.0, 0.5, 7.0, 800.0])
    marginals = Competition(a, b)
    marginals.weigh(log_ratio)
    marginals.run(0.25)
    exact, _ = enumerated(a, b, np.clip(log_ratio, -600, 600) + 0.25)
    np.testing.assert_allclose(marginals.beliefs().probability, exact, atol=1e-12)


@given(PAIRS, st.integers(0, 2**32))
def test_the_optimal_assignment_takes_every_uncontested_gain(pairs, seed):
    a, b = rows(pairs)
    gain = np.random.default_rng(seed).normal(0, 1, len(a))
    chosen = optimal_assignment(a, b, gain)
    assert set(np.flatnonzero(uncontested(a, b) & (gain > 0))) <= set(chosen)
    assert chosen.tolist() == sorted(chosen.tolist())
    assert len(set(a[chosen])) == len(set(b[chosen])) == len(chosen)


# Work on parts of an array: the same parts, and results to the last bit, on any number of threads.


@given(st.lists(st.integers(1, 12), max_size=40), st.integers(1, 9), st.integers(1, 3))
def test_parts_follow_each_other_and_have_about_as_many(sizes, size, threads):
    first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    with patch.object(candidate_graph_module, "RANGE", size):
        parts = ranges(first)
    covered = in_ranges(parts, threads, lambda part: list(range(part.start, part.stop)))
    assert [place for part in covered for place in part] == list(range(len(sizes)))
    # Without its last element a part has fewer than it may have, so that none could have been cut again.
    assert all(first[part.stop - 1] - first[part.start] < size for part in parts)


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32), density=st.sampled_from([0.03, 0.1, 0.5]), size=st.sampled_from([20, 80]))
def test_probabilities_are_the_same_on_any_number_of_threads(seed, density, size):
    rng = np.random.default_rng(seed)
    a, b = np.nonzero((rng.random((40, 50)) < density) | np.eye(40, 50, dtype=bool))
    weights = [rng.normal(-2, 4, len(a)) + np.where(a == b, 6, 0) for _ in range(2)]
    prior, found = BetaBipartite(60, 60), []
    for threads, part in ((1, size), (3, size), (1, 1 << 18)):
        with patch.object(candidate_graph_module, "RANGE", part):
            competing = Competition(a, b, threads)
            found.append([competing.probabilities(weight, prior).probability for weight in weights])
    for one, several, whole in zip(*found, strict=True):
        assert one.tobytes() == several.tobytes()
        np.testing.assert_allclose(one, whole, atol=1e-12)
