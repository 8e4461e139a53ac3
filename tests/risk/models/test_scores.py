"""Rows found and numbered by their keys: by a table of all keys, and by sorting, as the definition says."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.models import scores as kernels
from gemel.risk.models.counts import SparseCounts, distinct_rows, is_dense, total_by_row
from gemel.risk.models.factors import Factor, match_rows
from gemel.risk.models.graphs import Graph, members
from gemel.risk.models.junction_trees import JunctionTree
from gemel.risk.models.scores import HyperDirichlet
from tests.risk.models.definition import log_marginal_likelihood, to_table
from tests.risk.models.examples import counts_of_table, random_counts

LEVELS = {"table": (3, 2, 4), "sorted": (3000, 2, 4000), "numbered": (2**40, 2, 2**40)}
"""Of three columns: few keys, many, and more than 64 bits hold. Codes are the first's, spread over the levels."""


@st.composite
def rows(draw, size: int = 3):
    codes = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)).map(lambda row: row[:size])
    return np.array(draw(st.lists(codes, max_size=25)), dtype=np.int64).reshape(-1, size)


def spread(codes: np.ndarray, levels: tuple[int, ...]) -> np.ndarray:
    """The same rows, equal where they were and in the same order, with codes up to the last level."""
    few = LEVELS["table"][: codes.shape[1]]
    return codes * [(n - 1) // (small - 1) for n, small in zip(levels, few, strict=False)]


def test_each_way_is_taken() -> None:
    dense = {
        name: is_dense(int(np.prod([int(n) for n in levels], dtype=object)), 50) for name, levels in LEVELS.items()
    }
    assert dense == {"table": True, "sorted": False, "numbered": False}


@pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
@given(codes=rows())
def test_distinct_rows_are_the_sorted_set_at_their_first_places(levels: tuple[int, ...], codes: np.ndarray) -> None:
    cells = spread(codes, levels)
    listed = [tuple(row) for row in cells.tolist()]
    expected = sorted(set(listed))
    first, number = distinct_rows(cells, levels)
    assert first.tolist() == [listed.index(row) for row in expected]
    assert number.tolist() == [expected.index(row) for row in listed]
    found, sums = total_by_row(cells, np.arange(1.0, len(cells) + 1), levels)
    assert [tuple(row) for row in found.tolist()] == expected
    assert sums.tolist() == [sum(i + 1 for i, row in enumerate(listed) if row == each) for each in expected]


@pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
@given(codes=rows(), others=rows())
def test_a_row_is_found_where_it_is_among_others(
    levels: tuple[int, ...], codes: np.ndarray, others: np.ndarray
) -> None:
    cells, among = spread(codes, levels), spread(np.unique(others, axis=0)[::-1], levels)
    listed = among.tolist()
    expected = [listed.index(row) if row in listed else -1 for row in cells.tolist()]
    assert match_rows(cells, among, levels).tolist() == expected


@pytest.mark.parametrize("levels", LEVELS.values(), ids=LEVELS)
@given(ours=rows(2), theirs=rows(2))
def test_a_product_joins_the_rows_that_agree(levels: tuple[int, ...], ours: np.ndarray, theirs: np.ndarray) -> None:
    """Of f(x, y) and g(x, z): each pair of rows with the same x, once."""
    few = (levels[0], levels[1])
    tables = []
    for codes in (ours, theirs):
        cells = spread(np.unique(codes, axis=0), few)
        tables.append((cells, np.arange(2.0, len(cells) + 2)))
    f, g = (Factor((0, v), few, *table) for v, table in zip((1, 2), tables, strict=True))
    product = f * g
    expected = {
        (a[0], a[1], b[1]): float(x * y)
        for a, x in zip(tables[0][0].tolist(), tables[0][1], strict=True)
        for b, y in zip(tables[1][0].tolist(), tables[1][1], strict=True)
        if a[0] == b[0]
    }
    assert len(product.values) == len(expected)
    assert {tuple(row): value for row, value in zip(product.cells.tolist(), product.values.tolist(), strict=True)} == (
        expected
    )


# Sparse counts and marginal likelihoods: the oracle, the plain definition, the sequential predictive product.


def test_all_61_models_of_the_oracle(oracle: dict[str, Any], oracle_counts: SparseCounts) -> None:
    scores = HyperDirichlet(oracle_counts)
    assert len(oracle["graphs"]) == 61
    for model in oracle["graphs"]:
        graph = Graph.from_edges(4, model["edges"])
        assert scores.graph(graph) == pytest.approx(model["logml"], abs=1e-9)
        assert {tuple(members(c)) for c in graph.cliques} == {tuple(c) for c in model["cliques"]}


def predictive_product(
    records: list[tuple[int, ...]], levels: tuple[int, ...], graph: Graph, precision: float
) -> float:
    """The sum over records of the log probability of each given those before it: chain rule, no gamma function."""
    tree = JunctionTree.of(graph)
    sets = [(tuple(members(c)), 1) for c in tree.cliques] + [(tuple(members(s)), -1) for s in tree.separators]
    seen: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    total = 0.0
    for number, record in enumerate(records):
        for variables, sign in sets:
            cell = tuple(record[v] for v in variables)
            prior = precision / math.prod(levels[v] for v in variables)
            total += sign * math.log((seen[variables, cell] + prior) / (number + precision))
        for variables in {variables for variables, _ in sets}:
            seen[variables, tuple(record[v] for v in variables)] += 1
    return total


def test_score_is_the_sequential_predictive_product(oracle: dict[str, Any], oracle_counts: SparseCounts) -> None:
    rng = np.random.default_rng(7)
    rows = np.repeat(oracle_counts.cells, oracle_counts.counts.astype(int), axis=0)
    records = [tuple(int(x) for x in row) for row in rng.permutation(rows)]
    for precision in (1.0, 3.5):
        scores = HyperDirichlet(oracle_counts, precision)
        for model in oracle["graphs"]:
            graph = Graph.from_edges(4, model["edges"])
            expected = predictive_product(records, oracle_counts.levels, graph, precision)
            assert scores.graph(graph) == pytest.approx(expected, abs=1e-9)


@given(st.integers(1, 7), st.integers(1, 300), st.floats(0.01, 50), st.booleans(), st.integers(0, 2**32 - 1))
def test_compiled_counting_is_the_definition(n: int, records: int, precision: float, whole: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels = tuple(rng.integers(2, 9, n).tolist())
    codes = np.stack([rng.integers(0, k, records) for k in levels], axis=1)
    weights = rng.integers(1, 200, records).astype(float) if whole else rng.random(records) + 0.01
    counts = SparseCounts.from_records(codes, levels, weights=weights)
    scores = HyperDirichlet(counts, precision)
    for variables in range(1 << n):
        expected = log_marginal_likelihood(counts, variables, precision)
        assert scores.table(variables) == pytest.approx(expected, rel=1e-10, abs=1e-8)
        assert kernels.count_and_score(scores.data, scores.work, variables) == scores.table(variables)


def test_a_table_of_more_cells_than_numbers() -> None:
    """60 variables of 10 levels: cells are renumbered as they are counted, and only occupied ones exist."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 10, (500, 60))
    counts = SparseCounts.from_records(np.concatenate([codes, codes[:100]]), [10] * 60)
    assert math.prod(counts.levels) == 10**60
    assert len(counts.counts) == 500
    assert counts.counts.sum() == 600
    scores = HyperDirichlet(counts)
    everything = (1 << 60) - 1
    prior = 1e-60
    expected = math.lgamma(1) - math.lgamma(601) + 500 * math.log(prior) + 100 * math.log1p(prior)
    assert scores.table(everything) == pytest.approx(expected, rel=1e-12)
    assert scores.table(everything) == pytest.approx(log_marginal_likelihood(counts, everything), rel=1e-12)
    assert max(array.nbytes for array in scores.work) < 100_000


def test_sixteen_variables_with_billions_of_cells() -> None:
    levels = (2, 3, 4, 5, 2, 8, 3, 2, 2, 4, 10, 3, 4, 5, 6, 7)
    counts = random_counts(levels, 6000, np.random.default_rng(1))
    assert math.prod(counts.levels) > 2e9
    scores = HyperDirichlet(counts)
    for variables in (0xFFFF, 0x0F0F, 0x00FF, 0b101):
        assert scores.table(variables) == pytest.approx(log_marginal_likelihood(counts, variables), abs=1e-7)


def test_the_cache_counts_each_table_once_and_has_a_limit() -> None:
    counts = random_counts((2, 3, 2, 4, 2, 3, 2, 2, 3, 2, 2), 50, np.random.default_rng(0))
    scores = HyperDirichlet(counts)
    first = [scores.table(variables) for variables in range(1, 2048)]
    assert scores.tables_counted == 2047
    assert [scores.table(variables) for variables in range(1, 2048)] == first
    assert scores.tables_counted == 2047
    small = HyperDirichlet(counts, cache_limit=1024)
    assert [small.table(variables) for variables in range(1, 2048)] == first
    assert small.work.cached_sets.nbytes + small.work.cached_scores.nbytes == 16 * 1024


def test_records_tables_and_margins_agree() -> None:
    rng = np.random.default_rng(4)
    table = rng.integers(0, 3, (2, 3, 4)).astype(float)
    from_table = counts_of_table(table, "xyz")
    records = np.repeat(np.argwhere(table > 0), table[table > 0].astype(int), axis=0)
    from_records = SparseCounts.from_records(rng.permutation(records), (2, 3, 4), "xyz")
    assert np.array_equal(from_table.cells, from_records.cells)
    assert np.array_equal(from_table.counts, from_records.counts)
    assert np.array_equal(to_table(from_records.marginal("zx")), table.sum(axis=1).T)
    assert np.array_equal(to_table(from_records), table)
    assert from_records.marginal([]).counts.tolist() == [table.sum()]


def records_of(**changes: Any) -> dict[str, Any]:
    return {"records": [[0, 0], [1, 2]], "levels": (2, 3), "names": ("a", "b"), "weights": [1.0, 2.0]} | changes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"records": np.zeros((0, 2), dtype=int), "weights": []}, "at least one record"),
        ({"levels": (1, 3)}, "variable a: a variable must have at least two levels, got 1"),
        ({"weights": [1.0, -1.0]}, "weights: counts must be finite and not negative"),
        ({"weights": [1.0, np.nan]}, "weights: counts must be finite and not negative"),
        ({"weights": [0.0, 0.0]}, "at least one record with a positive count"),
        ({"weights": [1.0]}, "one weight for each record"),
        ({"records": [[0, 0], [1, 3]]}, "variable b: codes must be 0 to 2"),
        ({"records": [[0, -1], [1, 1]]}, "variable b: codes must be 0 to 2"),
        ({"records": [[0.5, 0], [1, 1]]}, "integer codes"),
        ({"records": [[0], [1]]}, "one column for each variable"),
        ({"names": ("a", "a")}, "different names"),
        ({"names": ("a",)}, "different names"),
    ],
)
def test_bad_records(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(GemelError, match=message):
        SparseCounts.from_records(**records_of(**changes))


def test_bad_margins_and_scores() -> None:
    counts = SparseCounts.from_records(**records_of())
    four, wide = (SparseCounts.from_records(np.zeros((1, n), dtype=int), [2] * n) for n in (4, 63))
    cycle = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    for call, message in (
        (lambda: counts.marginal(["a", "c"]), "unknown variable, got 'c'"),
        (lambda: counts.marginal("aa"), "given twice"),
        (lambda: HyperDirichlet(counts, 0.0), "precision must be positive"),
        (lambda: HyperDirichlet(counts).table(0b100), "unknown variable"),
        (lambda: HyperDirichlet(counts).graph(Graph.from_edges(3, ())), "data's variables"),
        (lambda: HyperDirichlet(four).graph(cycle), "must be decomposable"),
        (lambda: HyperDirichlet(wide), "at most 62 variables"),
    ):
        with pytest.raises(GemelError, match=message):
            call()
