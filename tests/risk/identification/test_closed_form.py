"""Closed forms of decomposable models against full tables, least squares, and Poisson populations."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import gamma

from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.criterion import (
    averaged_h1,
    averaged_h2,
    coefficients,
    h1,
    h2,
    minimum_error,
    precision_of_closed_form,
    precision_of_fit,
)
from gemel.risk.identification.loglinear.fitting import ClosedForm, Margins, fit_margins, graph_of, support
from gemel.risk.identification.loglinear.model_choice import cliques_of, decomposable_path
from gemel.risk.identification.loglinear.risk import log_linear_risk
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.graphs import Graph, empty_graph, members


@st.composite
def decomposable_models(draw):
    """A sparse table of four or five variables and a decomposable graph over them."""
    levels = draw(st.lists(st.integers(2, 4), min_size=4, max_size=5))
    rows = draw(st.lists(st.tuples(*[st.integers(0, n - 1) for n in levels]), min_size=1, max_size=40))
    table = SparseCounts.from_records(np.array(rows), levels)
    graph = empty_graph(table.names)
    pairs = [(v, w) for v in range(len(levels)) for w in range(v)]
    for v, w in draw(st.permutations(pairs))[: draw(st.integers(0, len(pairs)))]:
        if graph.can_add(v, w):
            graph = graph.toggled(v, w)
    return table, graph


def generators_of(graph: Graph) -> list[tuple[int, ...]]:
    return [tuple(members(clique)) for clique in graph.cliques]


@given(decomposable_models(), st.floats(0.02, 0.9))
def test_closed_forms_are_the_fit_over_the_whole_support(model, fraction):
    table, graph = model
    generators = generators_of(graph)
    fit = fit_margins(table, generators, tolerance=1e-10, max_rounds=50)
    form = ClosedForm(Margins(table), graph)
    assert form.means == pytest.approx(fit.means[fit.observed > 0], rel=1e-6)
    assert form.n_cells == len(support(table, generators))
    cells = form.visit(np.random.default_rng(1))
    assert cells.exact
    assert np.sort(cells.means) == pytest.approx(np.sort(fit.means), rel=1e-6)
    by_closed = precision_of_closed_form(form, cells, table.counts, fraction, (0.0, 0.0))
    by_squares = precision_of_fit(fit, generators, table.levels, fraction)
    assert by_closed.tau == pytest.approx(by_squares.tau, rel=1e-4, abs=1e-5)
    assert by_closed.criterion == pytest.approx(by_squares.criterion, rel=1e-4, abs=1e-4)


@settings(max_examples=20)
@given(decomposable_models())
def test_the_variance_of_a_log_mean_is_that_of_the_information_matrix(model):
    table, graph = model
    generators = generators_of(graph)
    fit = fit_margins(table, generators, tolerance=1e-10, max_rounds=50)
    blocks = []
    for generator in generators:
        _, group = np.unique(fit.cells[:, list(generator)], axis=0, return_inverse=True)
        blocks.append(np.eye(group.max() + 1)[group.ravel()])
    design = np.hstack(blocks)
    inverse = np.linalg.pinv(design.T @ (fit.means[:, None] * design))
    expected = np.einsum("ij,jk,ik->i", design, inverse, design)
    form = ClosedForm(Margins(table), graph)
    assert form.spread == pytest.approx(expected[fit.observed > 0], rel=1e-6, abs=1e-9)
    assert np.sort(form.visit(np.random.default_rng(1)).spread) == pytest.approx(np.sort(expected), rel=1e-6, abs=1e-9)


def some_table(n: int, levels: list[int], seed: int) -> SparseCounts:
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 3, n)
    columns = [np.minimum(rng.poisson(0.3 + hidden * rng.random(), n), k - 1) for k in levels]
    return SparseCounts.from_records(np.column_stack(columns), levels)


def test_drawn_cells_stand_for_all_of_them():
    """Sums over 1,024 drawn cells, 300 times: right on average, and as uncertain as they say."""
    table = some_table(400, [5, 6, 4, 5], 3)
    graph = Graph.from_edges(table.names, [(0, 1), (1, 2), (2, 3)])
    form = ClosedForm(Margins(table), graph)
    whole = form.visit(np.random.default_rng(0))
    values = coefficients(whole.means, 0.1)[1]
    exact = [whole.total(whole.means**2 * np.exp(-whole.means))[0], form.explained(whole, values[0])]
    found = []
    for seed in range(300):
        some = form.visit(np.random.default_rng(seed), exact=0, drawn=1024)
        assert not some.exact
        total, error = some.total(some.means**2 * np.exp(-some.means))
        found.append([total, form.explained(some, coefficients(some.means, 0.1)[1][0]), error])
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    assert (np.abs(mean[:2] - exact) < 4 * spread[:2] / math.sqrt(300)).all()
    assert 0.85 * mean[2] < spread[0] < 1.15 * mean[2]


def test_criteria_of_a_decomposable_model_are_those_of_the_full_support():
    table = some_table(500, [4, 5, 6, 3], 7)
    file = KeyFile.from_columns({str(q): np.repeat(table.cells[:, q], table.counts.astype(int)) for q in range(4)}, 0.1)
    found = log_linear_risk(file, [("0", "1", "2"), ("2", "3")])
    fit = fit_margins(file.table(), [(0, 1, 2), (2, 3)], tolerance=1e-10)
    assert pytest.approx(minimum_error(fit.means, fit.observed, 0.1), rel=1e-8) == (found.B1, found.B2)
    assert found.graph is not None
    assert found.precision.drawn == (0.0, 0.0)


def test_terms_that_are_no_cliques_have_no_closed_form():
    assert graph_of([(0, 1), (1, 2), (0, 2)], "abc") is None  # a triangle without its three-way term
    assert graph_of([(0, 1), (1, 2), (2, 3), (0, 3)], "abcd") is None  # a cycle
    assert graph_of([(0, 1, 2), (2, 3)], "abcd").edges == ((0, 1), (0, 2), (1, 2), (2, 3))


@pytest.mark.parametrize("L", [1e-8, 1e-3, 0.2, 3.0, 80.0])
@pytest.mark.parametrize("v", [1e-12, 1e-4, 0.3, 1.0, 2.5])
def test_risks_averaged_over_a_gamma_law(L, v):
    found = averaged_h1(np.array([L]), np.array([v]))[0], averaged_h2(np.array([L]), np.array([v]))[0]
    if v < 1e-6:
        expected = h1(np.array([L]))[0], h2(np.array([L]))[0]
    else:
        law = gamma(1 / v, scale=v * L)
        points = [law.ppf(q) for q in (0.01, 0.1, 0.5, 0.9, 0.99)]
        ends = (law.ppf(1e-13), law.ppf(1 - 1e-13))
        expected = tuple(
            quad(lambda x, h=h: law.pdf(x) * h(np.array([x]))[0], *ends, points=points, limit=400)[0] for h in (h1, h2)
        )
        if v > 1:  # the density has a pole at 0, where both risks are 1
            expected = tuple(e + law.cdf(ends[0]) for e in expected)
    assert found == pytest.approx(expected, rel=2e-5)


def poisson_sample(rng: np.random.Generator, shares: list[np.ndarray], size: float, fraction: float):
    """A Poisson population whose keys are independent, and a Bernoulli sample of it: sample columns and true counts."""
    lam = size * np.multiply.outer(np.multiply.outer(shares[0], shares[1]), shares[2])
    F = rng.poisson(lam)
    f = rng.binomial(F, fraction)
    cells = np.argwhere(f > 0)
    return np.repeat(cells, f[f > 0], axis=0), F[tuple(cells.T)][f[f > 0] == 1]


def test_standard_deviations_and_the_bias_of_the_criterion_where_the_model_holds():
    """400 Poisson populations: intervals of tau hold the truth in 95 % (a band that fails one run in 10,000: .905 to
    .985), B has the stated bias and deviation (the latter to a fifth: measured, it is a tenth too large, and Skinner
    and Shlomo's for fixed means a fifth)."""
    rng = np.random.default_rng(5)
    shares = [rng.dirichlet(np.full(n, 0.8)) for n in (9, 11, 12)]
    fraction, held, criteria, stated, biases = 0.1, [], [], [], []
    for _ in range(400):
        rows, F = poisson_sample(rng, shares, 6_000, fraction)
        file = KeyFile.from_columns({str(q): rows[:, q] for q in range(3)}, fraction)
        found = log_linear_risk(file, "independence")
        own = found.precision
        for r, truth in ((1, (F == 1).sum()), (2, (1 / F).sum())):
            low, high = own.interval(r, (found.tau1, found.tau2)[r - 1 : r], len(F), 0.95)
            held.append(low <= truth <= high)
        criteria.append([found.B1, found.B2])
        stated.append(own.criterion)
        biases.append(own.criterion_bias)
    covered = np.reshape(held, (-1, 2)).mean(axis=0)
    assert (covered > 0.905).all(), covered
    assert (covered < 0.985).all(), covered
    spread, mean = np.std(criteria, axis=0, ddof=1), np.mean(criteria, axis=0)
    assert spread == pytest.approx(np.mean(stated, axis=0), rel=0.2)
    assert (np.mean(biases, axis=0) < 0).all()
    assert (np.abs(mean - np.mean(biases, axis=0)) < 4 * spread / math.sqrt(400)).all(), (mean, np.mean(biases, axis=0))


def test_the_path_goes_from_independence_to_the_saturated_model():
    table = some_table(500, [4, 5, 6, 3], 7)
    path = decomposable_path(table)
    assert [len(graph.edges) for graph in path] == list(range(7))
    assert all(graph.is_decomposable for graph in path)
    assert all(set(before.edges) < set(after.edges) for before, after in pairwise(path))
    assert cliques_of(path[-1]) == [("0", "1", "2", "3")]
