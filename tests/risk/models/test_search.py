"""Searches against the exact posterior: enumeration, MC3 and its moves, annealing, greedy search, Occam's window."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import gamma

from gemel.common.errors import GemelError
from gemel.risk.models.annealing import anneal
from gemel.risk.models.chains import Chain
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.defaults import search
from gemel.risk.models.enumeration import enumerate_models
from gemel.risk.models.graphs import Graph, empty_graph
from gemel.risk.models.greedy_search import greedy, move_changes, occam_window
from gemel.risk.models.junction_trees import JunctionTree
from gemel.risk.models.mc3_search import mc3
from gemel.risk.models.precision_search import (
    GammaPrior,
    GridScores,
    enumerate_with_precision,
    mc3_with_precision,
    search_precision,
)
from gemel.risk.models.result import SearchResult, make_result, n_pairs, normalised_weights, split_r_hat
from gemel.risk.models.scores import HyperDirichlet
from tests.risk.models.definition import log_marginal_likelihood
from tests.risk.models.examples import can_toggle, random_counts, random_decomposable

OTHERS: list[dict[str, Any]] = [{"double_share": 0.0}, {"double_share": 0.8}, {"temperatures": 2, "hottest": 4.0}]
CYCLE = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])


def by_graph(found: SearchResult) -> dict[tuple[int, ...], float]:
    return {model.graph.adjacency: model.weight for model in found}


def total_variation(found: SearchResult, exact: SearchResult) -> float:
    weights, other = by_graph(found), by_graph(exact)
    return sum(abs(weights.get(g, 0) - other.get(g, 0)) for g in weights.keys() | other.keys()) / 2


@pytest.fixture(scope="module")
def scores(oracle_counts: SparseCounts) -> HyperDirichlet:
    return HyperDirichlet(oracle_counts)


@pytest.fixture(scope="module")
def exact(scores: HyperDirichlet) -> SearchResult:
    return enumerate_models(scores)


def test_exact_posterior_is_the_oracle(oracle: dict[str, Any], exact: SearchResult) -> None:
    listed = {frozenset(map(tuple, model["edges"])): model for model in oracle["graphs"]}
    assert len(exact) == len(listed) == 61
    for model in exact:
        expected = listed[frozenset(model.graph.edges)]
        assert model.log_score == pytest.approx(expected["logml"], abs=1e-9)
        assert model.weight == pytest.approx(expected["post"], abs=1e-8)
    assert np.allclose(exact.edge_inclusion, oracle["edge_inclusion"], atol=1e-8)
    assert list(exact[0].graph.edges) == [tuple(e) for e in oracle["map_edges"]]
    assert exact.best == exact[0]


@pytest.mark.parametrize("moves", [40_000, pytest.param(250_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("how", [{}, {"double_share": 0.0}, {"temperatures": 3, "hottest": 5.0}, {"thin": 3}])
def test_mc3_agrees_with_the_exact_posterior(
    how: dict[str, Any], moves: int, scores: HyperDirichlet, exact: SearchResult
) -> None:
    """Its error falls with the root of the moves: .006 after 250,000."""
    found = mc3(scores, np.random.default_rng(20), moves=moves, chains=4, burn_in=5000, **how)
    times = (250_000 / moves) ** 0.5
    assert found.proposed == 4 * moves
    assert total_variation(found, exact) < 0.006 * times
    assert np.abs(found.edge_inclusion - exact.edge_inclusion).max() < 0.006 * times
    assert found.r_hat < 1 + 0.01 * times
    assert found.edge_spread < 0.02 * times
    assert found.visited == len(found) > 8
    assert 0.1 < found.acceptance < 0.5
    assert 0 < found.refused < found.proposed
    assert all(0.2 < rate < 1 for rate in found.swap_rate)
    assert len(found.swap_rate) == how.get("temperatures", 1) - 1
    for model in found:
        assert scores.graph(model.graph) == pytest.approx(model.log_score, abs=1e-6)


@pytest.mark.parametrize("how", [{}, *(pytest.param(how, marks=pytest.mark.long) for how in OTHERS)])
def test_the_target_is_uniform_over_graphs(how: dict[str, Any]) -> None:
    """With next to no data every one of the 822 graphs on five nodes is about as likely as any other.

    A prior over junction forests would favour graphs with many of them. Each graph's expected visits are 730; the
    largest of 822 deviations stays below what is allowed (the chain's error is about 3 times a binomial's).
    """
    counts = SparseCounts.from_records(np.zeros((1, 5), dtype=int), [2] * 5)
    few = HyperDirichlet(counts, precision=1e6)
    exact = enumerate_models(few)
    assert exact.weights.max() / exact.weights.min() < 1.001
    found = mc3(few, np.random.default_rng(3), moves=300_000, chains=2, **how)
    assert found.visited == 822
    assert found.weights.min() * 822 > 0.7
    assert found.weights.max() * 822 < 1.3
    assert total_variation(found, exact) < 0.04


def test_annealing_finds_the_mode_every_time(scores: HyperDirichlet, exact: SearchResult) -> None:
    found = [anneal(scores, np.random.default_rng(seed), moves=20_000).best.graph for seed in range(20)]
    assert sum(graph == exact.best.graph for graph in found) == 20


def test_annealing_finds_the_mode_without_the_final_climb(scores: HyperDirichlet, exact: SearchResult) -> None:
    for seed in range(20):
        chain = Chain(scores, empty_graph(scores.counts.names), np.random.default_rng(seed), betas=(0.05,))
        chain.run(20_000, growth=200 ** (1 / 20_000))
        assert chain.best == exact.best.graph
        assert chain.ladder.betas[0] == pytest.approx(10)


def test_several_annealing_runs_are_one_result(scores: HyperDirichlet) -> None:
    found = anneal(scores, np.random.default_rng(0), moves=2000, runs=5, coldest=5.0)
    assert found.trace.shape == (5, 2000)
    assert found.proposed == 10_000
    assert found.weights.sum() == pytest.approx(1)


def test_moves_mix_where_single_edges_do_not() -> None:
    """A variable that copies either of two equal ones: from one explanation to the other by single edges is a long way.

    z leans on x, and y is x with errors so few that joining z to both costs much: single-edge chains cross seldom.
    The exact posterior is known; double moves and tempering find it from either end.
    """
    rng = np.random.default_rng(8)
    x = rng.integers(0, 12, 400)
    y = x.copy()
    swapped = rng.random(400) < 0.01
    y[swapped] = rng.integers(0, 12, int(swapped.sum()))
    noise = rng.random((2, 400)) < 0.3
    z, w = (np.where(noisy, rng.integers(0, 12, 400), x) for noisy in noise)
    scores = HyperDirichlet(SparseCounts.from_records(np.stack([x, y, z, w], axis=1), [12] * 4))
    exact = enumerate_models(scores)
    crossings = {}
    for name, how in {
        "single": {"double_share": 0.0},
        "double": {"double_share": 0.5},
        "tempered": {"double_share": 0.0, "temperatures": 8, "hottest": 60.0},
    }.items():
        found = mc3(scores, np.random.default_rng(2), moves=40_000, chains=4, **how)  # type: ignore[arg-type]
        crossings[name] = total_variation(found, exact)
    assert crossings["double"] < 0.02
    assert crossings["tempered"] < 0.1
    assert crossings["single"] > 5 * crossings["double"]


def test_greedy_and_occam_find_the_mode(scores: HyperDirichlet, exact: SearchResult) -> None:
    assert greedy(scores).best.graph == exact.best.graph
    window = occam_window(scores, ratio=20, bridge=1000)
    inside = exact.log_scores >= exact.log_scores[0] - np.log(20)
    assert [model.graph for model in window] == [exact.graph(i) for i in np.flatnonzero(inside)]
    assert np.allclose(window.weights, normalised_weights(exact.log_scores[inside]))


@settings(max_examples=15)
@given(st.integers(3, 7), st.integers(0, 2**32 - 1))
def test_scores_of_all_moves(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = HyperDirichlet(random_counts(tuple(rng.integers(2, 5, n).tolist()), 80, rng), cache_limit=1024)
    graph = random_decomposable(n, rng)
    changes = move_changes(scores, graph)
    for v in range(n):
        for w in range(v):
            change = changes[n_pairs(v) + w]
            assert np.isnan(change) != can_toggle(graph, v, w)
            if not np.isnan(change):
                assert change == pytest.approx(scores.graph(graph.toggled(v, w)) - scores.graph(graph), abs=1e-8)
    best = greedy(scores)
    assert np.nanmax(move_changes(scores, best.graph(0))) <= 1e-9


def test_a_full_record_of_models_still_counts_edges() -> None:
    counts = SparseCounts.from_records(np.zeros((1, 6), dtype=int), [2] * 6)
    scores = HyperDirichlet(counts, precision=1e6)
    found = mc3(scores, np.random.default_rng(0), moves=200_000, chains=2, model_limit=1024)
    exact = enumerate_models(scores)
    assert 0.5 < found.unrecorded < 1
    assert found.visited <= 1024
    assert np.abs(found.edge_inclusion - exact.edge_inclusion).max() < 0.03


def test_memory_limits_change_no_answer() -> None:
    counts = random_counts((2,) * 11, 40, np.random.default_rng(5))
    wide_scores = HyperDirichlet(counts, 300.0)
    wide = mc3(wide_scores, np.random.default_rng(1), moves=30_000, chains=1)
    narrow_scores = HyperDirichlet(counts, 300.0, cache_limit=1024)
    narrow = mc3(narrow_scores, np.random.default_rng(1), moves=30_000, chains=1)
    assert narrow_scores.tables_counted > wide_scores.tables_counted > 512  # the small cache was emptied on the way
    assert narrow_scores.work.cached_sets.nbytes + narrow_scores.work.cached_scores.nbytes == 16 * 1024
    assert np.array_equal(wide.keys, narrow.keys)
    assert np.array_equal(wide.weights, narrow.weights)
    assert wide.visited > 512  # the record of models has grown


def test_r_hat() -> None:
    rng = np.random.default_rng(0)
    assert split_r_hat(rng.normal(size=(4, 1000))) == pytest.approx(1, abs=0.01)
    assert split_r_hat(rng.normal(size=(4, 1000)) + np.arange(4)[:, None]) > 1.3
    assert split_r_hat(np.linspace(0, 1, 1000)[None] + rng.normal(size=(1, 1000)) * 0.1) > 1.3
    assert split_r_hat(np.ones((3, 100))) == 1
    assert split_r_hat(np.repeat([[1.0], [2.0]], 100, axis=1)) == np.inf
    assert np.isnan(split_r_hat(np.ones((2, 3))))


def test_results(exact: SearchResult) -> None:
    kept = exact.heaviest(0.9)
    assert sum(model.weight for model in kept) == pytest.approx(1)
    assert len(kept) == int(np.searchsorted(np.cumsum(exact.weights), 0.9)) + 1
    with pytest.raises(GemelError, match=r"must sum to 1, .*sum 0\.9"):
        make_result("x", ("a", "b"), exact.keys[:1], np.zeros(1), np.array([0.9]), visited=1)


def test_bad_searches(scores: HyperDirichlet) -> None:
    rng = np.random.default_rng(0)
    names = scores.counts.names
    cycle = Graph(CYCLE.adjacency, names)
    for method in (
        lambda start: mc3(scores, rng, start=start),
        lambda start: anneal(scores, rng, start=start),
        lambda start: greedy(scores, start),
        lambda start: occam_window(scores, start=start),
    ):
        with pytest.raises(GemelError, match="start: the graph must be decomposable"):
            method(cycle)
    for wrong in ({"moves": 0}, {"chains": 0}, {"thin": 0}, {"burn_in": -1}, {"temperatures": 0}, {"hottest": 0.5}):
        (name,) = wrong
        with pytest.raises(GemelError, match=f"{name}: must be at least"):
            mc3(scores, rng, **wrong)  # type: ignore[arg-type]
    single = HyperDirichlet(SparseCounts.from_records([[0], [1]], [2]))
    for call, message in (
        (lambda: greedy(scores, empty_graph(3)), "data's variables"),
        (lambda: mc3(scores, rng, start=empty_graph(3)), "data's variables"),
        (lambda: mc3(scores, rng, double_share=1.0), "less than 1"),
        (lambda: anneal(scores, rng, hottest=0.1, coldest=1.0), "must fall"),
        (lambda: occam_window(scores, ratio=1e6, model_limit=2), "limit"),
        (lambda: mc3(single, rng), "at least two variables"),
    ):
        with pytest.raises(GemelError, match=message):
            call()


def test_the_default_is_exact_to_six_variables() -> None:
    rng = np.random.default_rng(0)
    six, seven = (HyperDirichlet(random_counts((2,) * n, 100, rng)) for n in (6, 7))
    assert len(search(six, rng)) == 18_154
    sampled = search(seven, rng, moves=2000, chains=2)
    assert (sampled.method, sampled.proposed) == ("MC3", 4000)


# A gamma prior on the precision: against integrals over it by quadrature, enumeration, and cases known exactly.


def test_a_table_s_scores_at_all_precisions_are_those_at_each(oracle_counts):
    precisions = np.array([0.003, 1.0, 7.5, 4000.0])
    grid = GridScores(oracle_counts, precisions)
    for variables in range(16):
        plain = [log_marginal_likelihood(oracle_counts, variables, float(a)) for a in precisions]
        np.testing.assert_allclose(grid.table(variables), plain, rtol=1e-10, atol=1e-9)


def test_the_posterior_of_models_is_the_integral_over_the_precision(oracle_counts):
    """The definition's likelihood times the gamma density by adaptive quadrature, for the six heaviest models."""
    shape, rate = 2.0, 0.5
    found = enumerate_with_precision(oracle_counts, GammaPrior(shape, rate))
    peak = found.search.best.log_score

    def integral(graph: Graph) -> float:
        tree = JunctionTree.of(graph)

        def density(log_alpha: float) -> float:
            alpha = math.exp(log_alpha)
            score = sum(log_marginal_likelihood(oracle_counts, c, alpha) for c in tree.cliques) - sum(
                log_marginal_likelihood(oracle_counts, s, alpha) for s in tree.separators
            )
            return math.exp(score - peak) * alpha * float(gamma.pdf(alpha, shape, scale=1 / rate))

        return float(quad(density, math.log(1e-3), math.log(1e4), points=[0.0, 2.0], epsrel=1e-7)[0])

    graphs = [model.graph for model in found.search.heaviest(1.0, at_most=6)]
    expected = np.array([integral(graph) for graph in graphs])
    weights = by_graph(found.search)
    got = np.array([weights[graph.adjacency] for graph in graphs])
    assert got.sum() > 0.7
    np.testing.assert_allclose(got / got.sum(), expected / expected.sum(), rtol=1e-5)
    scores = {model.graph.adjacency: model.log_score for model in found.search}
    assert scores[graphs[0].adjacency] == pytest.approx(math.log(expected[0]) + peak, abs=1e-5)


def test_mc3_agrees_with_enumeration(oracle_counts):
    prior = GammaPrior(1.0, 0.2, lowest=0.01, highest=300.0, per_decade=10)
    exact = enumerate_with_precision(oracle_counts, prior)
    found = mc3_with_precision(oracle_counts, np.random.default_rng(3), prior, moves=60_000, chains=2, stretch=20)
    assert total_variation(found.search, exact.search) < 0.03
    # Draws of the precision follow each other closely only by way of the graph: 6,000 of them, nearly independent.
    assert np.abs(np.cumsum(found.posterior) - np.cumsum(exact.posterior)).max() < 0.03
    assert found.mean == pytest.approx(exact.mean, rel=0.06)
    np.testing.assert_allclose(found.search.edge_inclusion, exact.search.edge_inclusion, atol=0.03)
    assert found.search.r_hat < 1.02
    scores = {model.graph.adjacency: model.log_score for model in exact.search}
    for model in found.search:
        assert model.log_score == pytest.approx(scores[model.graph.adjacency], abs=1e-9)


def test_one_record_leaves_the_prior_as_it_was():
    """Its likelihood is one over the number of cells, whatever graph and precision."""
    counts = SparseCounts.from_records(np.zeros((1, 4), dtype=np.int32), [2, 3, 2, 4], ["a", "b", "c", "d"])
    prior = GammaPrior(2.0, 0.5, per_decade=5)
    exact = enumerate_with_precision(counts, prior)
    np.testing.assert_allclose(exact.posterior, np.exp(prior.grid()[1]), atol=1e-12)
    np.testing.assert_allclose(exact.search.weights, 1 / 61)
    assert exact.mean == pytest.approx(4.0, rel=1e-3)
    low, high = exact.interval()
    assert low == pytest.approx(gamma.ppf(0.025, 2, scale=2), rel=0.6)
    assert high == pytest.approx(gamma.ppf(0.975, 2, scale=2), rel=0.6)


def test_a_grid_of_one_precision_is_the_search_without_a_prior(oracle_counts):
    prior = GammaPrior(lowest=1.0, highest=1.0 + 1e-9, per_decade=1)
    found = enumerate_with_precision(oracle_counts, prior)
    plain = by_graph(enumerate_models(HyperDirichlet(oracle_counts)))
    for graph, weight in by_graph(found.search).items():
        assert weight == pytest.approx(plain[graph], abs=1e-7)


def test_six_variables_and_fewer_are_exact_and_a_short_grid_is_reported(oracle_counts):
    found = search_precision(oracle_counts, np.random.default_rng(1))
    assert found.search.method == "exact enumeration"
    assert not found.grid_too_short
    assert search_precision(oracle_counts, np.random.default_rng(1), GammaPrior(highest=0.1)).grid_too_short


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"shape": 0.0}, "shape"),
        ({"rate": math.inf}, "rate"),
        ({"lowest": -1.0}, "lowest"),
        ({"lowest": 2.0, "highest": 1.0}, "highest"),
        ({"per_decade": 0}, "per_decade"),
        ({"per_decade": 10_000}, "per_decade"),
    ],
)
def test_priors_that_are_none_are_refused(settings, where):
    with pytest.raises(GemelError) as raised:
        GammaPrior(**settings)
    assert raised.value.where == where


def test_settings_of_the_chain_are_checked(oracle_counts):
    for chain, where in (({"moves": 0}, "moves"), ({"thin": 3}, "stretch"), ({"chains": 0}, "chains")):
        with pytest.raises(GemelError) as raised:
            mc3_with_precision(oracle_counts, np.random.default_rng(1), GammaPrior(), **chain)
        assert raised.value.where == where
