"""Fitted models and their inference against the full joint table, which is small here."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gemel.common.errors import GemelError
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.enumeration import enumerate_models
from gemel.risk.models.factors import Factor
from gemel.risk.models.fitted import Estimate, FittedModel, calibrated, fit
from gemel.risk.models.graphs import Graph, complete_graph, empty_graph
from gemel.risk.models.queries import ModelAverage, jensen_shannon, sample
from gemel.risk.models.scores import HyperDirichlet
from research._networks import divergence_from_data
from tests.risk.models.definition import to_table
from tests.risk.models.examples import all_cells, random_counts, random_decomposable

ESTIMATES: tuple[Estimate, ...] = ("maximum likelihood", "posterior mean")


def joint(model: FittedModel) -> NDArray[np.float64]:
    return np.exp(model.log_probability(all_cells(model.levels))).reshape(model.levels)


def drawn_model(seed: int, n: int, estimate: Estimate, records: int = 40) -> tuple[SparseCounts, FittedModel]:
    rng = np.random.default_rng(seed)
    counts = random_counts(tuple(rng.integers(2, 5, n).tolist()), records, rng)
    return counts, fit(counts, random_decomposable(n, rng), estimate)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.sampled_from(ESTIMATES))
def test_inference_is_the_full_joint_summed(seed: int, n: int, estimate: Estimate) -> None:
    rng = np.random.default_rng(seed)
    counts, model = drawn_model(seed, n, estimate)
    full = joint(model)
    assert full.sum() == pytest.approx(1)
    for clique in model.cliques:  # the estimate itself
        observed = to_table(counts.marginal([counts.names[v] for v in clique.variables]))
        prior = 1 / observed.size if estimate == "posterior mean" else 0.0
        assert np.allclose(clique.table(), (observed + prior) / (40 + prior * observed.size))
    roles = rng.integers(0, 3, n)  # requested, given, neither
    requested = rng.permutation(np.flatnonzero(roles == 0)).tolist()
    evidence = {int(v): int(rng.integers(0, model.levels[v])) for v in np.flatnonzero(roles == 1)}
    part = full[tuple(evidence.get(v, slice(None)) for v in range(n))]
    left = [v for v in range(n) if v not in evidence]
    table = part.sum(axis=tuple(i for i, v in enumerate(left) if v not in requested))
    table = np.transpose(table, np.argsort(np.argsort(requested)))
    assert model.probability(evidence) == pytest.approx(part.sum(), abs=1e-14)
    if part.sum() > 0:
        assert np.allclose(model.marginal(requested, evidence), table / part.sum(), atol=1e-12)
    else:
        with pytest.raises(GemelError, match="evidence is impossible"):
            model.marginal(requested, evidence)
    records = all_cells(model.levels)[rng.integers(0, full.size, 60)]
    records[rng.random(records.shape) < 0.4] = -1
    sums = [full[tuple(slice(None) if x < 0 else int(x) for x in record)].sum() for record in records]
    assert np.allclose(np.exp(model.log_marginal(records)), sums, atol=1e-13)


def test_maximum_likelihood_keeps_observed_margins_and_beats_its_neighbours() -> None:
    counts, model = drawn_model(1, 4, "maximum likelihood", 300)
    best = float(counts.counts @ model.log_probability(counts.cells))
    assert np.allclose(model.marginal(counts.names[:1]), to_table(counts.marginal(counts.names[:1])) / counts.total)
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = random_counts(counts.levels, 300, rng)
        assert best > float(counts.counts @ fit(other, model.graph, "posterior mean").log_probability(counts.cells))
    saturated = fit(counts, complete_graph(counts.names))
    assert best <= float(counts.counts @ saturated.log_probability(counts.cells))


def test_parameters() -> None:
    counts = random_counts((2, 3, 4), 50, np.random.default_rng(0))
    assert fit(counts, empty_graph(3)).parameters == 1 + 2 + 3
    assert fit(counts, complete_graph(3)).parameters == 23
    assert fit(counts, Graph.from_edges(3, [(0, 1), (1, 2)])).parameters == 5 + 11 - 2


def test_a_model_of_very_many_cells() -> None:
    """40 variables of 10 levels: nothing of the size of the table is made."""
    rng = np.random.default_rng(6)
    counts = random_counts((10,) * 40, 2000, rng)
    model = fit(counts, Graph.from_edges(40, [(v, v + 1) for v in range(39)]), "posterior mean")
    assert np.isfinite(model.log_probability(counts.cells)).all()
    ends = model.marginal([0, 39])
    chain = model.marginal([0])
    for v in range(39):
        step = model.marginal([v, v + 1])
        chain = (
            chain @ (step / step.sum(axis=1, keepdims=True))
            if chain.ndim == 2
            else np.diag(chain) @ (step / step.sum(axis=1, keepdims=True))
        )
    assert np.allclose(ends, chain, atol=1e-12)
    records = counts.cells.copy()
    records[:, 5:35] = -1
    assert np.isfinite(model.log_marginal(records)).all()


def test_a_clique_too_large_for_posterior_means_is_no_trouble_for_maximum_likelihood() -> None:
    counts = random_counts((10,) * 12, 500, np.random.default_rng(0))
    model = fit(counts, complete_graph(12))
    assert np.allclose(np.exp(model.log_probability(counts.cells)), counts.counts / 500)
    with pytest.raises(GemelError, match="use maximum likelihood"):
        fit(counts, complete_graph(12), "posterior mean")


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_calibration_of_any_potentials(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels = tuple(rng.integers(2, 4, 5).tolist())
    graph = random_decomposable(5, rng)
    full, factors = np.ones(levels), []
    for v, w in [*graph.edges, *((v, v) for v in range(5))]:
        variables = (w, v) if v != w else (v,)
        table = rng.random([levels[x] for x in variables])
        factors.append(Factor.from_table(variables, table))
        order = np.argsort(variables)
        shape = [levels[x] if x in variables else 1 for x in range(5)]
        full = full * np.transpose(table, order).reshape(shape)
    model = calibrated(graph, levels, factors)
    assert np.allclose(joint(model), full / full.sum(), atol=1e-13)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_products_of_factors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels = (2, 3, 2, 4)
    tables, factors = [], []
    for _ in range(2):
        kept = np.flatnonzero(rng.random(4) < 0.6).tolist()
        table = rng.random([levels[v] for v in kept]) * (rng.random([levels[v] for v in kept]) < 0.7)
        factors.append(Factor.from_table(kept, np.asarray(table)))
        tables.append(np.asarray(table).reshape([levels[v] if v in kept else 1 for v in range(4)]))
    product = factors[0] * factors[1]
    every = sorted(set(factors[0].variables) | set(factors[1].variables))
    expected = (tables[0] * tables[1]).reshape([levels[v] for v in every])
    assert product.variables == tuple(every)
    assert np.allclose(product.table(), expected)
    assert (product.values != 0).all()
    half = every[::2]
    axes = tuple(i for i, v in enumerate(every) if v not in half)
    assert np.allclose(product.marginal(half).table(), expected.sum(axis=axes))


def test_samples_have_the_models_frequencies() -> None:
    """200,000 records of 96 cells: the divergence of a true sample has mean (cells - 1) / (8 n ln 2)."""
    rng = np.random.default_rng(11)
    counts = random_counts((2, 3, 4, 2, 2), 60, rng)
    for edges in ([], [(0, 1), (1, 2), (3, 4)], [(0, 1), (0, 2), (1, 2), (2, 3)]):
        model = fit(counts, Graph.from_edges(5, edges))
        drawn = sample(model, 200_000, rng)
        assert (model.log_probability(drawn) > -np.inf).all()
        observed = SparseCounts.from_records(drawn, model.levels)
        assert divergence_from_data(observed, model) < 3 * 95 / (8 * 200_000 * np.log(2))
    with pytest.raises(GemelError, match="not be negative"):
        sample(model, -1, rng)


def test_model_averages() -> None:
    rng = np.random.default_rng(2)
    counts = random_counts((2, 3, 2, 2), 80, rng)
    result = enumerate_models(HyperDirichlet(counts))
    average = ModelAverage.of(result, counts, "posterior mean", share=0.95)
    assert 1 < len(average.models) < 61
    full = sum(w * joint(model) for w, model in zip(average.weights, average.models, strict=True))
    assert np.allclose(average.marginal([3, 0], {1: 2}), full[:, 2].sum(axis=1).T / full[:, 2].sum())


def test_divergences() -> None:
    rng = np.random.default_rng(9)
    counts = random_counts((2, 3, 4, 2), 50, rng)
    p, q = fit(counts, empty_graph(4)), fit(counts, complete_graph(4))
    a, b = joint(p), joint(q)
    m = (a + b) / 2
    expected = sum((x[x > 0] * np.log2(x[x > 0] / m[x > 0])).sum() for x in (a, b)) / 2
    exact = jensen_shannon(p, q)
    assert exact.bits == pytest.approx(expected)
    assert exact.standard_error == 0
    assert jensen_shannon(q, p).bits == pytest.approx(expected)
    assert divergence_from_data(counts, p) == pytest.approx(expected)  # the saturated model is the data
    assert jensen_shannon(p, p).bits == 0
    estimate = jensen_shannon(p, q, limit=1, rng=rng)
    assert abs(estimate.bits - expected) < 4 * estimate.standard_error < 0.05
    disjoint = [fit(SparseCounts.from_records([[i, i]], (2, 2)), empty_graph(2)) for i in range(2)]
    assert jensen_shannon(disjoint[0], disjoint[1]).bits == pytest.approx(1)
    with pytest.raises(GemelError, match="give a generator"):
        jensen_shannon(p, q, limit=1)
    with pytest.raises(GemelError, match="same variables"):
        jensen_shannon(p, disjoint[0])


def test_bad_models() -> None:
    counts = random_counts((2, 3, 2, 2), 30, np.random.default_rng(0))
    cycle = Graph.from_edges(range(4), nx.cycle_graph(4).edges)
    with pytest.raises(GemelError, match="must be decomposable"):
        fit(counts, cycle)
    with pytest.raises(GemelError, match="data's variables in their order"):
        fit(counts, empty_graph("abcd"))
    with pytest.raises(GemelError, match="'maximum likelihood' or"):
        fit(counts, empty_graph(4), "median")  # type: ignore[arg-type]
    model = fit(counts, empty_graph(4))
    for call, message in (
        (lambda: model.marginal([7]), "unknown variable"),
        (lambda: model.marginal([0, 0]), "given twice"),
        (lambda: model.marginal([0], {0: 1}), "both requested and given"),
        (lambda: model.marginal([0], {1: 3}), "0 to 2"),
        (lambda: model.log_probability([[0, 0, 0]]), "one column for each variable"),
        (lambda: model.log_probability([[0, 3, 0, 0]]), "variable 1: codes must be 0 to 2"),
        (lambda: model.log_probability([[0, -1, 0, 0]]), "variable 1: codes must be 0 to 2"),
        (lambda: ModelAverage([model, model], [0.5, 0.6]), "must sum to 1, got sum 1.1"),
        (lambda: ModelAverage([model, model], [1.5, -0.5]), "not be negative"),
        (lambda: ModelAverage([], []), "at least one model"),
        (lambda: ModelAverage([model, fit(counts.marginal([0, 1]), empty_graph(2))], [0.5, 0.5]), "same variables"),
    ):
        with pytest.raises(GemelError, match=message):
            call()
    pair = Factor.from_table((0, 1), np.ones((2, 3)))
    with pytest.raises(GemelError, match="must be in one clique"):
        calibrated(empty_graph(2), (2, 3), [pair])


def test_every_pair_of_a_forest() -> None:
    """Variables of different components are independent; queries across them travel over empty separators."""
    counts = random_counts((2, 3, 2, 3), 60, np.random.default_rng(4))
    model = fit(counts, Graph.from_edges(4, [(0, 1), (2, 3)]), "posterior mean")
    for v, w in itertools.product((0, 1), (2, 3)):
        assert np.allclose(model.marginal([v, w]), np.outer(model.marginal([v]), model.marginal([w])))
