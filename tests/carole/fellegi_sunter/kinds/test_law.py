"""The law of strangers: its distribution beside plain sums, its graph beside the search of the models library."""

from itertools import combinations, product
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.fellegi_sunter.kinds import law
from gemel.carole.fellegi_sunter.kinds.law import (
    MIN_GAIN,
    EstimationMask,
    Structure,
    Tables,
    choose,
    coarse,
    counted,
    estimated,
    independent,
)
from gemel.carole.fellegi_sunter.settings import FieldLevels, RuleFields
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.graphs import Graph
from gemel.risk.models.greedy_search import greedy
from gemel.risk.models.scores import HyperDirichlet
from tests.carole.fellegi_sunter.kinds.laws import EVERY, GRAPHS, LEVELS, alone, missing_some, random_distribution


def latent(rng, n=3000, n_levels=(2, 3, 2, 3, 2)):
    """Vectors in which fields 0, 1 and 2 follow a hidden class, 3 follows 2 a little, and 4 follows nothing."""
    hidden = rng.random(n) < 0.4
    gamma = np.column_stack([rng.integers(0, k, n) for k in n_levels]).astype(np.int8)
    for q in range(3):
        follows = hidden & (rng.random(n) < 0.7)
        gamma[follows, q] = n_levels[q] - 1
    gamma[(gamma[:, 2] == 1) & (rng.random(n) < 0.2), 3] = 0
    return gamma, [FieldLevels(f"f{q}", k) for q, k in enumerate(n_levels)]


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_greedy_search_of_the_models_library_where_nothing_is_missing(seed):
    gamma, fields = latent(np.random.default_rng(seed))
    chosen = choose(gamma, np.ones(len(gamma)), fields, 5, min_gain=1e-10)
    counts = SparseCounts.from_records(gamma.astype(np.int64), [field.n_levels for field in fields])
    found = greedy(HyperDirichlet(counts))
    best = {tuple(sorted(pair)) for pair in found.best.graph.edges}
    assert set(chosen.graph.edges) == best
    assert {(0, 1), (0, 2), (1, 2)} <= best


@pytest.mark.parametrize(("largest", "maximum"), [(2, 4), (3, 7)])
def test_cliques_stay_small(largest, maximum):
    rng = np.random.default_rng(1)
    together = rng.random(4000) < 0.5
    gamma = np.column_stack([np.where(rng.random(4000) < 0.9, together, ~together) for _ in range(5)]).astype(np.int8)
    chosen = choose(gamma, np.ones(4000), [FieldLevels(str(q), 2) for q in range(5)], largest)
    assert max(clique.bit_count() for clique in chosen.graph.cliques) == largest
    assert len(chosen.edges) == maximum
    assert [edge.gain for edge in chosen.edges] == sorted((edge.gain for edge in chosen.edges), reverse=True)


def test_independent_fields_have_no_edge():
    """Over fifty files of independent fields: an edge needs odds of twenty."""
    rng = np.random.default_rng(3)
    fields = [FieldLevels(str(q), 8) for q in range(5)]
    edges = sum(
        len(choose(rng.integers(0, 8, (500, 5)).astype(np.int8), np.ones(500), fields, 4).edges) for _ in range(50)
    )
    assert edges <= 5


def test_missing_values_do_not_hide_the_present_ones():
    rng = np.random.default_rng(4)
    gamma, fields = latent(rng, 20_000)
    holes = np.where(rng.random(gamma.shape) < 0.3, np.int8(-1), gamma).astype(np.int8)
    weight = np.ones(len(gamma))
    found = {edge.fields for edge in choose(holes, weight, fields, 4).edges}
    assert {(0, 1), (0, 2), (1, 2)} <= found
    assert not any(4 in pair for pair in found)


def test_being_found_by_one_of_two_rules_is_no_dependence():
    """Only pairs that agree on field 0 or on field 1 are there, so that both never disagree."""
    rng = np.random.default_rng(5)
    gamma = (rng.random((20_000, 4)) < 0.8).astype(np.int8)
    mask = (gamma[:, 0] + 2 * gamma[:, 1]).astype(np.uint32)
    gamma, mask = gamma[mask > 0], mask[mask > 0]
    fields = [FieldLevels(str(q), 2) for q in range(4)]
    rules = [RuleFields("zero", (0,)), RuleFields("one", (1,))]
    weight = np.ones(len(gamma))
    assert (0, 1) in {edge.fields for edge in choose(gamma, weight, fields, 4).edges}
    masked = Tables(gamma, weight, [2] * 4, EstimationMask(mask, rules), 1.0)
    assert all(masked.bayes_factor(0, v, w) < MIN_GAIN for v, w in combinations(range(4), 2))


def test_three_levels_stand_for_many():
    gamma = np.array([[0, 0, 0], [3, 1, 0], [4, 1, 1], [6, 2, 1], [7, 2, -1]], dtype=np.int8)
    assert coarse(gamma, np.ones(5), [8, 3, 2]).tolist() == [[0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 2, 1], [2, 2, -1]]
    assert coarse(np.zeros((2, 1), dtype=np.int8), np.ones(2), [1]).tolist() == [[0], [0]]


def test_levels_that_are_seldom_reached_are_the_higher_ones():
    gamma = np.array([[0], [1], [2], [3], [7], [-1]], dtype=np.int8)
    assert coarse(gamma, np.array([90.0, 20.0, 5.0, 1.0, 0.1, 9.0]), [8]).T.tolist() == [[0, 0, 1, 1, 2, -1]]
    assert coarse(gamma, np.array([900.0, 20.0, 5.0, 1.0, 0.1, 9.0]), [8]).T.tolist() == [[0, 1, 1, 1, 2, -1]]


def test_strangers_whose_names_are_somewhat_alike_together_are_seen():
    """A third of the values of two fields of eight levels follow each other, all in the lower half."""
    rng = np.random.default_rng(8)
    gamma = np.minimum(rng.geometric(0.85, (20_000, 3)) - 1, 7).astype(np.int8)
    follows = rng.random(len(gamma)) < 0.3
    gamma[follows, 1] = gamma[follows, 0]
    fields = [FieldLevels(str(q), 8) for q in range(3)]
    assert [edge.fields for edge in choose(gamma, np.ones(len(gamma)), fields, 4).edges] == [(0, 1)]


def test_tables_count_what_is_there():
    gamma = np.array([[0, 1], [0, 1], [1, -1], [1, 0]], dtype=np.int8)
    table = counted((1, 0), gamma, np.array([1.0, 2.0, 4.0, 0.5]), [2, 2], None)
    assert table.tolist() == [[0.0, 0.5], [3.0, 0.0]]


def test_families_come_after_their_parents_who_know_each_other():
    graph = Graph.from_edges(6, [(0, 1), (1, 2), (0, 2), (2, 3), (4, 5)])
    seen: set[int] = set()
    edges = set()
    for field, parents in Structure(graph).families:
        assert set(parents) <= seen
        assert graph.is_complete(sum(1 << q for q in parents))
        seen.add(field)
        edges |= {tuple(sorted((field, parent))) for parent in parents}
    assert edges == set(graph.edges)
    assert independent(3).families == ((0, ()), (1, ()), (2, ())) or len(independent(3).families) == 3


# The distribution.


@given(st.integers(0, 2**32), st.sampled_from(GRAPHS), st.sampled_from([0, 20, law.MAX_SUMMED]))
def test_missing_fields_are_summed_out(seed, edges, kept):
    with mock.patch.object(law, "MAX_SUMMED", kept):
        _missing_fields_are_summed_out(np.random.default_rng(seed), edges)


def _missing_fields_are_summed_out(rng, edges):
    distribution = random_distribution(edges, rng)
    whole = np.exp(distribution.log_probability(EVERY))
    assert whole.sum() == pytest.approx(1, rel=1e-12)
    gamma = missing_some(rng, 12, 0.4)
    found = np.exp(distribution.log_probability(gamma))
    for vector, value in zip(gamma, found, strict=True):
        fits = ((vector == -1) | (vector == EVERY)).all(axis=1)
        assert value == pytest.approx(whole[fits].sum(), rel=1e-9)


@pytest.mark.parametrize("edges", GRAPHS)
def test_many_pairs_give_the_tables_back(edges):
    rng = np.random.default_rng(1)
    truth = random_distribution(edges, rng)
    whole = np.exp(truth.log_probability(EVERY))
    back = estimated(truth.structure, EVERY, 1e9 * whole, alone(truth), LEVELS, 1.0)
    np.testing.assert_allclose(np.exp(back.log_probability(EVERY)), whole, rtol=1e-6)


def test_levels_never_seen_together_use_the_estimate_of_each():
    """Parents 0 and 1 both raise field 2; they were never 1 together, where the two effects are joined."""
    structure = Structure(Graph.from_edges(3, [(0, 1), (0, 2), (1, 2)]))
    gamma = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1]], dtype=np.int8)
    weight = np.array([900.0, 100.0, 50.0, 50.0, 50.0, 50.0])
    by_field = np.array([[0.9, 0.1], [0.9, 0.1], [0.83, 0.17]])
    found = estimated(structure, gamma, weight, by_field, (2, 2, 2), 1.0)
    joint = np.exp(found.log_probability(np.array(list(product((0, 1), repeat=3)), dtype=np.int8))).reshape(2, 2, 2)
    given = joint[:, :, 1] / joint.sum(axis=2)
    assert joint.sum() == pytest.approx(1)
    assert given[0, 1] == pytest.approx(0.5, abs=0.03)
    assert given[1, 1] > given[0, 1]


def test_nothing_learnt_is_the_fields_by_themselves():
    structure = Structure(Graph.from_edges(2, [(0, 1)]))
    by_field = np.array([[0.3, 0.7], [0.9, 0.1]])
    nothing = np.zeros((0, 2), dtype=np.int8)
    found = estimated(structure, nothing, np.zeros(0), by_field, (2, 2), 1.0)
    every = np.array(list(product((0, 1), repeat=2)), dtype=np.int8)
    assert np.exp(found.log_probability(every)).tolist() == pytest.approx([0.27, 0.03, 0.63, 0.07])
