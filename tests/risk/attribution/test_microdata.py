"""k-anonymity and its kin against their definitions, attributions from a joint model, and utility."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gemel.common.errors import GemelError
from gemel.risk.attribution.inference import beliefs
from gemel.risk.attribution.microdata import (
    attributions,
    classes,
    diversities,
    encode,
    k_anonymity,
    l_diversity,
    t_closeness,
)
from gemel.risk.attribution.release import Table, Variable
from gemel.risk.attribution.utility import hellinger, total_variation, utility
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.fitted import FittedModel, fit
from gemel.risk.models.graphs import Graph
from gemel.risk.models.queries import divergence_terms

Codes = NDArray[np.int64]

files = st.integers(1, 30).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 2)), min_size=n, max_size=n).map(
        lambda rows: np.asarray(rows, dtype=np.int64)
    )
)


def grouped(file: Codes) -> dict[tuple[int, ...], list[int]]:
    found: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for *key, value in file.tolist():
        found[tuple(key)].append(value)
    return found


@given(files)
def test_measures_are_their_definitions(file: Codes) -> None:
    groups = classes(file[:, :-1], file[:, -1], 3)
    plain = grouped(file)
    whole = np.bincount(file[:, -1], minlength=3) / len(file)
    shares = {k: np.bincount(v, minlength=3) / len(v) for k, v in plain.items()}
    assert k_anonymity(groups) == min(len(v) for v in plain.values())
    assert l_diversity(groups) == min(len(set(v)) for v in plain.values())
    entropy = min(-sum(p * np.log(p) for p in s if p) for s in shares.values())
    assert l_diversity(groups, "entropy") == pytest.approx(np.exp(entropy))
    assert t_closeness(groups) == pytest.approx(max(np.abs(s - whole).sum() / 2 for s in shares.values()))
    far = max(sum(abs((s - whole)[: i + 1].sum()) for i in range(2)) / 2 for s in shares.values())
    assert t_closeness(groups, ordered=True) == pytest.approx(far)
    found = attributions(groups, 0.75)
    assert found.records(found.positive) == sum(len(v) for v in plain.values() if len(set(v)) == 1)
    occurring = set(file[:, -1].tolist())
    assert found.records(found.negative) == sum(len(v) for v in plain.values() if set(v) != occurring)
    likely = sum(len(plain[k]) for k, s in shares.items() if ((s >= 0.75) & (s > whole)).any())
    assert found.records(found.approximate) == likely


@given(files, st.sampled_from([0.5, 1.0, 2.0, 3.0]))
def test_recursive_diversity(file: Codes, c: float) -> None:
    """(c, l)-diversity: r_1 < c (r_l + ... + r_m)."""
    smallest = 3
    for values in grouped(file).values():
        r = sorted(np.bincount(values, minlength=3), reverse=True)
        holds = [l for l in (1, 2, 3) if all(r[0] < c * sum(r[j - 1 :]) for j in range(1, l + 1))]  # noqa: E741
        smallest = min(smallest, max(holds, default=0))
    assert diversities(classes(file[:, :-1], file[:, -1], 3).sensitive, "recursive", c).min() == smallest


def test_k_anonymous_files_may_still_tell() -> None:
    """Four records that agree on key and on value: 4-anonymous, and a certain attribution (T11 chapter 3)."""
    keys, values = np.zeros((4, 1), dtype=np.int64), np.ones(4, dtype=np.int64)
    groups = classes(keys, values, 2)
    assert k_anonymity(groups) == 4
    assert attributions(groups).positive.all()
    assert l_diversity(groups) == 1


def test_encoding_of_text() -> None:
    codes, levels = encode([["b", "a", "b"], ["x", "y", "y"]])
    assert codes.tolist() == [[1, 0], [0, 1], [1, 1]]
    assert levels == [("a", "b"), ("x", "y")]


VARIABLES = (Variable("area", ("1", "2")), Variable("age", ("y", "o")), Variable("ill", ("no", "yes")))


def fitted(table: Table) -> FittedModel:
    """The model of a complete graph: its joint table is the table's shares."""
    data = SparseCounts.from_records(table.records(), table.counts.shape, table.names)
    return fit(data, Graph.from_edges(table.names, combinations(table.names, 2)))


@given(st.lists(st.integers(0, 6), min_size=8, max_size=8).filter(lambda x: sum(x) > 0))
def test_conditionals_are_those_of_the_table(counts: list[int]) -> None:
    table = Table(VARIABLES, np.asarray(counts).reshape(2, 2, 2))
    model = fitted(table)
    rows = np.asarray([[a, b] for a in (0, 1) for b in (0, 1)])
    found = beliefs(model, "ill", ("age", "area"), rows, rows[:, 0])
    for (age, area), p in zip(rows.tolist(), found.posterior, strict=True):
        cell = table.counts[area, age]
        assert p == pytest.approx(cell / cell.sum() if cell.sum() else found.prior)
    assert found.prior == pytest.approx(table.counts.sum(axis=(0, 1)) / table.total)
    assert np.allclose(found.posterior.sum(axis=1), 1)


def test_beliefs_of_records() -> None:
    table = Table(VARIABLES, np.asarray([[[9, 1], [5, 5]], [[10, 0], [0, 10]]]))
    records = table.records()
    found = beliefs(fitted(table), "ill", ("area", "age"), records[:, :2], records[:, 2])
    claims, right = found.claims(0.9)
    assert claims == 30
    assert right == pytest.approx(29 / 30)
    assert found.ruled_out(0.0) == 20
    assert found.factor[0] == pytest.approx((0.9 / 0.1) / (24 / 16))
    assert found.divergence[records[:, 1] == 1][0] == pytest.approx(
        divergence_terms(np.full(2, 0.5), found.prior).sum()
    )
    assert found.confidence.max() == 1


def test_divergences() -> None:
    assert divergence_terms(np.array([1.0, 0.0]), np.array([0.0, 1.0])).sum() == pytest.approx(1)
    assert divergence_terms(np.array([0.5, 0.5]), np.array([0.5, 0.5])).sum() == 0
    assert hellinger([1, 0], [0, 5]) == 1
    assert hellinger([1, 3], [2, 6]) == pytest.approx(0, abs=1e-7)
    assert total_variation([1, 1], [3, 1]) == pytest.approx(0.25)
    assert hellinger([0, 0], [1, 0]) == 1


def test_utility_of_a_table() -> None:
    found = utility([4, 0, 2, 1], [3, 3, 3, -1])
    assert [found[name] for name in ("chi_square", "absolute")] == pytest.approx([1 / 4 + 1 / 2, 5 / 3])
    assert (found["invented"], found["withheld"]) == (3, 1)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(GemelError, match="one row of key values"):
        classes(np.zeros((2, 1), dtype=np.int64), np.zeros(3, dtype=np.int64))
    with pytest.raises(GemelError, match="outside"):
        classes(np.zeros((1, 1), dtype=np.int64), np.asarray([4]), 2)
    groups = classes(np.zeros((2, 1), dtype=np.int64), np.asarray([0, 1]))
    with pytest.raises(GemelError, match="threshold"):
        attributions(groups, 0)
