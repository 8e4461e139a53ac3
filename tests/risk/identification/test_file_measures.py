"""File measures: the oracle, plain sums over people, the inequalities of T11 chapter 5, coverage of the interval."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.identification.file_level import dis, file_dis, file_measures
from gemel.risk.identification.key_file import KeyFile


@pytest.fixture(scope="module")
def eusilc(shared):
    oracle = json.loads((shared / "oracles" / "tau_eusilcP_pi0.05.json").read_text())
    keys = oracle["keys"]
    sample = pl.read_csv(shared / "oracles" / "tau_eusilcP_sample_pi0.05.csv", columns=keys)
    population = pl.read_csv(shared / "oracles" / "tau_eusilcP_population_keys.csv", columns=keys)
    return KeyFile.from_columns(sample.to_dict(), oracle["pi"], population=population.to_dict()), oracle


def test_the_oracle(eusilc):
    file, oracle = eusilc
    found = file_measures(file)
    assert found.n_records == oracle["n"]
    assert found.n_cells == oracle["n_cells_nonzero"]
    assert found.n_uniques == oracle["n_su"]
    assert found.dis.pairs == oracle["n_cells_with_count_2"]
    assert found.dis.value == pytest.approx(oracle["DIS_est"], rel=1e-12)
    assert found.pu == pytest.approx(oracle["true_PrPU"], rel=1e-12)
    assert found.pu_given_su == pytest.approx(oracle["true_PrPU_SU"], rel=1e-12)
    assert found.cm_given_um == pytest.approx(oracle["true_PrCM_UM"], rel=1e-12)
    assert found.cm_given_su == pytest.approx(oracle["true_PrCM_SU"], rel=1e-12)
    assert found.dis.low < found.cm_given_um < found.dis.high


@given(st.lists(st.integers(0, 7), min_size=1, max_size=30), st.data())
def test_measures_are_averages_over_people(people, data):
    drawn = data.draw(st.lists(st.integers(0, len(people) - 1), min_size=1, unique=True))
    sample = [people[i] for i in drawn]
    file = KeyFile.from_columns({"x": sample}, population={"x": people})
    found = file_measures(file)
    unique = [i for i in drawn if sample.count(people[i]) == 1]
    assert found.pu == pytest.approx(sum(people.count(x) == 1 for x in people) / len(people))
    if unique:
        chances = [1 / people.count(people[i]) for i in unique]
        assert found.cm_given_su == pytest.approx(np.mean(chances))
        assert found.pu_given_su == pytest.approx(np.mean([c == 1 for c in chances]))
        matching = [i for i in range(len(people)) if sample.count(people[i]) == 1]
        assert found.cm_given_um == pytest.approx(len(unique) / len(matching))
        assert found.cm_given_su >= found.cm_given_um - 1e-12
        assert found.cm_given_su >= found.pu_given_su
    else:
        assert (found.cm_given_su, found.pu_given_su, found.cm_given_um, found.dis.value) == (0, 0, 0, 0)


def test_edges_of_dis_are_defined():
    assert dis(0, 5, 1, 0.1).value == 0.0
    assert dis(5, 0, 0, 0.1).value == 1.0
    assert 0 < dis(5, 0, 0, 0.1).low < 0.3
    assert dis(5, 5, 1, 1.0) == dis(5, 0, 0, 1.0).__class__(1.0, 1.0, 1.0, 0.95, 5, 5)
    one = file_dis(KeyFile.from_columns({"x": ["a"]}, 0.01))
    assert (one.value, one.high) == (1.0, 1.0)
    for bad in ((-1, 1, 1, 0.1), (1, 1, 1, 0.0), (1, 1, 1, 1.5)):
        with pytest.raises(GemelError):
            dis(*bad)
    with pytest.raises(GemelError, match="confidence"):
        dis(1, 1, 1, 0.5, level=1.0)


def test_where_missing_agrees_with_all_the_counts_of_counts_are_shares_of_records():
    columns = {"x": ["a", "a", None, "b"]}
    assert file_dis(KeyFile.from_columns(columns, 0.1)).uniques == 2
    wide = file_dis(KeyFile.from_columns(columns, 0.1, missing="any"))
    assert (wide.uniques, wide.pairs) == (0, 0.5)  # only b agrees with one other


def test_the_interval_covers():
    """600 Poisson files of one population; 95 % nominal, measured .93 to .95: fewer than .915 would be a fault.

    A binomial count at .94 with 600 trials falls under .915 with probability .008.
    """
    rng = np.random.default_rng(7)
    F = rng.poisson(rng.gamma(0.4, 8.0, 6_000))
    pi, covered, tried = 0.1, 0, 600
    for _ in range(tried):
        f = rng.binomial(F, pi)
        n1, n2, n3 = ((f == r).sum() for r in (1, 2, 3))
        truth = n1 / F[f == 1].sum()
        found = dis(n1, n2, n3, pi)
        covered += found.low <= truth <= found.high
    assert covered / tried > 0.915
