"""EM for incomplete tables against the oracle, a dense definition, and what must hold of any EM."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gemel.common.errors import GemelError
from gemel.risk.models import expectation_step
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.expectation_step import ExpectationStep
from gemel.risk.models.fitted import fit
from gemel.risk.models.graphs import Graph, complete_graph, empty_graph
from gemel.risk.models.incomplete import IncompleteCounts, fit_incomplete
from gemel.risk.models.joint_distribution import JointDistribution, JointVariable
from gemel.risk.models.junction_trees import JunctionTree
from tests.risk.models.definition import expected_counts
from tests.risk.models.examples import all_cells, counts_of_table, random_counts, random_decomposable


def test_the_two_by_two_table(shared: Path) -> None:
    oracle = json.loads((shared / "oracles" / "bounds_em_czech.json").read_text())["em_2x2"]
    rows = [(i, j, oracle["both"][i][j]) for i in range(2) for j in range(2)]
    rows += [(i, -1, oracle["row_only"][i]) for i in range(2)] + [(-1, j, oracle["col_only"][j]) for j in range(2)]
    data = IncompleteCounts.from_records([row[:2] for row in rows], (2, 2), weights=[row[2] for row in rows])
    found = fit_incomplete(data, tolerance=1e-13)
    assert found.converged
    assert np.allclose(found.model.marginal([0, 1]), oracle["theta"], atol=1e-10)
    assert found.log_likelihood[-1] == pytest.approx(oracle["loglik"], abs=1e-9)


def dense_em(
    records: NDArray[np.int64], weights: NDArray[np.float64], levels: tuple[int, ...], graph: Graph, steps: int
) -> NDArray[np.float64]:
    """Fuchs' EM on the full table: what the sparse one must do, a step for a step."""
    counts_of = counts_of_table
    full = np.full(levels, 1 / np.prod(levels))
    for _ in range(steps):
        expected = np.zeros(levels)
        for record, weight in zip(records, weights, strict=True):
            at = tuple(slice(None) if x < 0 else slice(int(x), int(x) + 1) for x in record)
            expected[at] += weight * full[at] / full[at].sum()
        model = fit(counts_of(expected), graph)
        full = np.exp(model.log_probability(all_cells(levels))).reshape(levels)
    return full


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_sparse_em_is_the_dense_one(seed: int, saturated: bool) -> None:
    """With every cell of every clique possible the two start alike, and every step is the same."""
    rng = np.random.default_rng(seed)
    levels = (2, 3, 2, 2)
    graph = complete_graph(4) if saturated else random_decomposable(4, rng)
    records = all_cells(levels)[rng.integers(0, 24, 50)]
    records[rng.random(records.shape) < 0.3] = -1
    records = np.concatenate([records, np.full((1, 4), -1)])  # a record of which nothing is known: all cells possible
    weights = rng.random(len(records)) + 0.1
    data = IncompleteCounts.from_records(records, levels, weights=weights)
    found = fit_incomplete(data, graph, max_iterations=7, tolerance=1e-15)
    assert len(found.log_likelihood) <= 7
    expected = dense_em(records, weights, levels, graph, len(found.log_likelihood))
    assert np.allclose(np.exp(found.model.log_probability(all_cells(levels))), expected.ravel(), atol=1e-10)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_an_expectation_step_is_that_of_its_definition(seed: int, in_parts: bool) -> None:
    """Also where the records are too many to be prepared together, and after the probabilities have moved."""
    rng = np.random.default_rng(seed)
    levels = (2, 3, 2, 4, 2)
    graph = random_decomposable(5, rng)
    records = all_cells(levels)[rng.integers(0, 96, 25)]
    records[rng.random(records.shape) < 0.4] = -1
    data = IncompleteCounts.from_records(records, levels, weights=rng.random(25) + 0.1)
    counts = random_counts(levels, 200, rng)
    cliques = fit(counts, graph, "posterior mean").cliques
    with patch.object(expectation_step, "BATCH_ROWS", 20 if in_parts else expectation_step.BATCH_ROWS):
        step = ExpectationStep(JunctionTree.of(graph), cliques, data.records)
        for precision in (1.0, 30.0):
            model = fit(counts, graph, "posterior mean", precision)
            found, log_likelihood = step.expected([factor.values for factor in model.cliques], data.weights)
            tables, expected = expected_counts(model, data)
            assert log_likelihood == pytest.approx(expected, rel=1e-10)
            for values, factor, table in zip(found, model.cliques, tables, strict=True):
                np.testing.assert_allclose(values, table[tuple(factor.cells.T)], atol=1e-10)


def test_records_that_the_model_excludes_are_counted() -> None:
    graph = Graph.from_edges(2, [(0, 1)])
    only = fit(SparseCounts.from_records(np.array([[0, 0], [1, 1]]), (2, 2)), graph)
    step = ExpectationStep(only.tree, only.cliques, np.array([[0, 1], [0, -1]], dtype=np.int32))
    with pytest.raises(GemelError, match=r"excludes a record.*1 with probability 0"):
        step.expected([factor.values for factor in only.cliques], np.ones(2))


@settings(max_examples=6)
@given(st.integers(0, 2**32 - 1))
def test_the_likelihood_never_falls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels = (3, 2, 4, 2, 3)
    codes = random_counts(levels, 80, rng).cells.copy()
    codes[rng.random(codes.shape) < 0.25] = -1
    data = IncompleteCounts.from_records(codes, levels)
    found = fit_incomplete(data, random_decomposable(5, rng), tolerance=1e-4, max_iterations=25)
    assert min(np.diff(found.log_likelihood), default=0) > -1e-9
    known = data.weights @ found.model.log_marginal(data.records)
    assert known >= found.log_likelihood[-1] - 1e-9


def test_complete_records_need_one_step() -> None:
    counts = random_counts((2, 3, 4), 60, np.random.default_rng(0))
    data = IncompleteCounts.from_records(counts.cells, counts.levels, weights=counts.counts)
    graph = Graph.from_edges(3, [(0, 1), (1, 2)])
    for precision, estimate in ((0.0, "maximum likelihood"), (2.0, "posterior mean")):
        found = fit_incomplete(data, graph, precision=precision)
        expected = fit(counts, graph, estimate, 2.0)  # type: ignore[arg-type]
        assert len(found.log_likelihood) == 2  # the second sees that nothing changes
        cells = all_cells(counts.levels)
        assert np.allclose(np.exp(found.model.log_probability(cells)), np.exp(expected.log_probability(cells)))


def test_sparse_over_many_variables() -> None:
    """25 variables of 6 levels, about 1e19 cells; one variable in ten is missing from its record."""
    rng = np.random.default_rng(2)
    counts = random_counts((6,) * 25, 200, rng)
    codes = counts.cells.copy()
    codes[:, ::5][rng.random((len(codes), 5)) < 0.2] = -1
    data = IncompleteCounts.from_records(codes, counts.levels)
    found = fit_incomplete(
        data, Graph.from_edges(25, [(v, v + 1) for v in range(24)]), max_iterations=20, tolerance=1e-3
    )
    assert np.isfinite(found.log_likelihood).all()
    assert found.log_likelihood[-1] > found.log_likelihood[0]


def test_non_convergence_is_reported() -> None:
    data = IncompleteCounts.from_records([[0, -1], [-1, 1], [1, 1], [0, 0]], (2, 2))
    found = fit_incomplete(data, max_iterations=1)
    assert not found.converged
    assert len(found.log_likelihood) == 1


def test_bad_input() -> None:
    counted = IncompleteCounts.from_records
    data, four = counted([[0, -1], [1, 1]], (2, 2)), counted([[0, -1, 0, 0]], (2,) * 4)
    for call, message in (
        (lambda: counted([[-2, 0]], (2, 2)), "missing value is -1"),
        (lambda: counted([[0, 0]], (1, 2)), "two levels"),
        (lambda: counted([[0, 5]], (2, 2)), "codes must be"),
        (lambda: fit_incomplete(data, empty_graph("ab")), "data's variables"),
        (lambda: fit_incomplete(data, tolerance=0), "must be positive"),
        (lambda: fit_incomplete(four, Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])), "decomposable"),
        (lambda: fit_incomplete(counted([[-1] * 11 + [0]], (8,) * 12)), "smaller cliques"),
        (lambda: fit_incomplete(counted([[-1] * 11 + [0], [0] + [-1] * 11], (8,) * 12)), "smaller cliques"),
    ):
        with pytest.raises(GemelError, match=message):
            call()


# A joint distribution that was written is read back exactly, and nothing else is read.

NAMES = ("car", "home", "age")
LEVELS = (2, 3, 2)


def distribution() -> JointDistribution:
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(0, n, 200) for n in LEVELS], axis=1).astype(np.int32)
    codes[:, 1] = np.where(rng.random(200) < 0.7, codes[:, 0], codes[:, 1])
    counts = SparseCounts.from_records(codes, LEVELS, NAMES)
    model = fit(counts, Graph.from_edges(NAMES, [("car", "home"), ("home", "age")]), precision=1.0)
    variables = (
        JointVariable("car", "alice", 2),
        JointVariable("home", "bob", 3),
        JointVariable("age", "both", 2, coded=False),
    )
    return JointDistribution(variables, model, 200.0)


JOINT = distribution()


def test_round_trip_and_questions():
    back = JointDistribution.from_json(JOINT.to_json())
    assert back.variables == JOINT.variables
    assert (back.records, back.model.graph, back.model.estimate) == (200.0, JOINT.model.graph, JOINT.model.estimate)
    full = JOINT.table(NAMES)
    assert full.sum() == pytest.approx(1)
    np.testing.assert_array_equal(back.table(NAMES), full)
    given = back.table(["home"], {"car": 1})
    np.testing.assert_allclose(given, full[1].sum(axis=1) / full[1].sum())
    assert JOINT.held_by("bob") == ("home",)


def changed(change) -> str:
    document = json.loads(JOINT.to_json())
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        changed(lambda d: d.update(format=2)),
        changed(lambda d: d.update(records=-1)),
        changed(lambda d: d["variables"].pop()),
        changed(lambda d: d["variables"][0].update(name="home")),
        changed(lambda d: d["variables"][0].update(levels=1)),
        changed(lambda d: d["variables"][0].update(holder="carole")),
        changed(lambda d: d["variables"][0].update(labels=["x"])),
        changed(lambda d: d["edges"].pop()),
        changed(lambda d: d["edges"].append([0, 2])),
        changed(lambda d: d["cliques"].append(d["cliques"][0])),
        changed(lambda d: d["cliques"][0]["cells"][0].__setitem__(0, 9)),
        changed(lambda d: d["cliques"][0]["cells"].__setitem__(0, d["cliques"][0]["cells"][1])),
        changed(lambda d: d["cliques"][0]["probabilities"].__setitem__(0, 2.0)),
        changed(lambda d: d["cliques"][0]["probabilities"].__setitem__(0, -0.1)),
        changed(lambda d: d["cliques"][0]["probabilities"].reverse()),
    ],
)
def test_anything_else_is_refused(text: str):
    with pytest.raises(GemelError, match=r"joint distribution|decomposable"):
        JointDistribution.from_json(text)
