"""A gamma prior on the precision: against integrals over it by quadrature, enumeration, and cases known exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma

from gemel.common.errors import GemelError
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.enumeration import enumerate_models
from gemel.risk.models.graphs import Graph
from gemel.risk.models.junction_trees import JunctionTree
from gemel.risk.models.precision_search import (
    GammaPrior,
    GridScores,
    enumerate_with_precision,
    mc3_with_precision,
    search_precision,
)
from gemel.risk.models.scores import HyperDirichlet
from tests.risk.models.definition import log_marginal_likelihood


def by_graph(found):
    return {model.graph.adjacency: model.weight for model in found}


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
    sampled, true = by_graph(found.search), by_graph(exact.search)
    assert sum(abs(sampled.get(g, 0) - true[g]) for g in true) / 2 < 0.03
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
    for settings, where in (({"moves": 0}, "moves"), ({"thin": 3}, "stretch"), ({"chains": 0}, "chains")):
        with pytest.raises(GemelError) as raised:
            mc3_with_precision(oracle_counts, np.random.default_rng(1), GammaPrior(), **settings)
        assert raised.value.where == where
