"""The input of all identification measures: coding, cells, agreement under both meanings of missing, bad input."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks._public_populations import ADULT
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.identification.assessment.beside_keys import copied_share
from gemel.risk.identification.file_level import dis, file_dis, population_measures
from gemel.risk.identification.key_file import KeyFile
from tests.risk.identification.small_files import identified

COLUMNS = {"age": [1, 2, 2, 10], "sex": ["f", "m", None, "f"]}


def tables(largest: int = 3, keys: int = 3, records: int = 12, missing: bool = False):
    """Small tables of text values, some of them missing."""
    value = st.integers(0, largest).map(str)
    if missing:
        value = st.one_of(value, st.none())
    row = st.tuples(*[value] * keys)
    return st.lists(row, min_size=1, max_size=records).map(
        lambda rows: {f"v{q}": [row[q] for row in rows] for q in range(keys)}
    )


def agree(a, b) -> bool:
    return all(x == y or x < 0 or y < 0 for x, y in zip(a, b, strict=True))


def test_whole_numbers_keep_their_order_as_labels():
    file = KeyFile.from_columns(COLUMNS, 0.1)
    assert file.labels == (("1", "2", "10"), ("f", "m", "(missing)"))
    assert file.codes.tolist() == [[0, 0], [1, 1], [1, 2], [2, 0]]
    assert file.population_total == pytest.approx(40)


def test_numbers_stored_as_floats_are_whole_again_and_nan_is_missing():
    file = KeyFile.from_columns({"x": np.array([1.0, np.nan, 3.0])}, 0.5, missing="any")
    assert file.labels == (("1", "3"),)
    assert file.codes[:, 0].tolist() == [0, -1, 1]


def test_missing_means_what_was_chosen():
    as_level = KeyFile.from_columns(COLUMNS, 0.1)
    as_any = KeyFile.from_columns(COLUMNS, 0.1, missing="any")
    assert as_level.frequency.tolist() == [1, 1, 1, 1]
    assert as_any.frequency.tolist() == [1, 2, 2, 1]
    assert as_any.uniques.tolist() == [0, 3]
    with pytest.raises(GemelError, match="missing values agree with all"):
        as_any.table()


@given(tables(missing=True))
def test_frequencies_are_counts_of_agreeing_records(columns):
    file = KeyFile.from_columns(columns, 0.5, missing="any")
    plain = [sum(agree(a, b) for b in file.codes) for a in file.codes]
    assert file.frequency.tolist() == plain


@given(tables(missing=True, records=20), st.data())
def test_population_counts_are_those_of_people_who_agree(columns, data):
    n = len(columns["v0"])
    chosen = data.draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True))
    sample = {k: [v[i] for i in chosen] for k, v in columns.items()}
    for missing in ("level", "any"):
        file = KeyFile.from_columns(sample, population=columns, missing=missing)
        people = np.repeat(file.population_cells, file.population_counts, axis=0)
        plain = [sum(agree(a, b) for b in people) for a in file.cells]
        assert file.population_sizes.tolist() == plain
        assert file.fraction == len(chosen) / n


@given(tables())
def test_leaving_keys_out_is_the_file_without_them(columns):
    file = KeyFile.from_columns(columns, 0.5, population=columns)
    fewer = file.only(["v2", "v0"])
    plain = KeyFile.from_columns({k: columns[k] for k in ("v2", "v0")}, 0.5, population=columns)
    assert fewer.counts.tolist() == plain.counts.tolist()
    assert fewer.population_sizes.tolist() == plain.population_sizes.tolist()


def test_the_table_has_the_keys_that_vary():
    table = KeyFile.from_columns({"a": ["x", "x", "y"], "b": ["z"] * 3}, 0.5).table()
    assert table.names == ("a",)
    assert table.counts.tolist() == [2, 1]
    with pytest.raises(GemelError, match="no key variable has two levels"):
        KeyFile.from_columns({"b": ["z"] * 3}, 0.5).table()


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        *((COLUMNS, {"fraction": fraction}, "sampling fraction") for fraction in (0.0, -0.1, 1.01, float("nan"))),
        (COLUMNS, {"fraction": None}, "a sampling fraction is needed"),
        ({}, {}, "at least one key"),
        ({"a": []}, {}, "no records"),
        ({"a": ["secret", "x"], "b": ["y"]}, {}, "one length"),
        ({"a": ["secret"]}, {"population": {"b": ["x"]}}, "no column a"),
        ({"a": ["secret", "x"]}, {"population": {"a": ["secret"]}}, "smaller than the sample"),
        ({"a": ["secret", "secret"]}, {"population": {"a": ["secret", "x", "x"]}}, "1 such combinations"),
        ({"a": ["secret"]}, {"missing": "guess"}, "`level` or `any`"),
    ],
)
def test_bad_input_is_reported_without_a_value(columns, options, words):
    with pytest.raises(GemelError, match=words) as caught:
        KeyFile.from_columns(columns, **{"fraction": 0.5} | options)
    assert "secret" not in str(caught.value)
    codes = {"no records": ErrorCode.EMPTY_SOURCE, "no column a": ErrorCode.FIELD_MISSING}
    assert caught.value.code == codes.get(words, ErrorCode.PARAMETER)


def test_warnings_name_keys_that_distinguish_no_one_or_everyone():
    rng = np.random.default_rng(1)
    file = KeyFile.from_columns({"income": rng.normal(size=100).round(6), "country": ["here"] * 100}, 0.1)
    assert file.warnings() == [
        result_warning("key_nearly_unique", key="income", values=100, records=100),
        result_warning("key_constant", key="country"),
    ]


def test_a_fraction_that_the_population_contradicts_is_noted():
    whole = pl.DataFrame(list(product("ab", range(50))), schema=["a", "b"], orient="row")
    part = whole[::4]
    file = KeyFile.from_columns(part.to_dict(), 0.5, population=whole.to_dict())
    *_, warning = file.warnings()
    assert warning.code == "fraction_contradicted"
    assert "one of them is wrong" in warning.text


# People who are in a file more than once are noticed by the columns that are no keys.

KEYS = ADULT.keys["6 keys"]


def sample(twice: int) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    own = ADULT.records()[rng.choice(48_842, 2_400, replace=False)].with_columns(number=pl.int_range(2_400))
    again = own[rng.choice(2_400, twice, replace=False)].with_columns(number=pl.int_range(2_400, 2_400 + twice))
    return pl.concat([own, again]).sample(fraction=1.0, shuffle=True, seed=1)


def test_the_share_is_that_of_pairs_alike_in_everything():
    file = KeyFile.from_columns({"a": ["x", "x", "y", "y", "z", "z", "z", "w"]}, 0.1)
    assert copied_share(file, np.array([1, 1, 2, 3, 4, 4, 4, 5], dtype=np.uint64)) == 0.5
    assert copied_share(KeyFile.from_columns({"a": ["x", "y"]}, 0.1), np.array([1, 1], dtype=np.uint64)) == 0.0


@pytest.mark.parametrize(("twice", "noticed"), [(0, False), (48, True)])
def test_copies_are_noticed_although_records_are_numbered(tmp_path: Path, twice: int, noticed: bool):
    sample(twice).write_csv(tmp_path / "adult.csv")
    found = identified(tmp_path / "adult.csv", f"--keys {','.join(KEYS)} --fraction 0.05 --models occam")
    assert ("agree in all" in found.output) == noticed


# File measures: the oracle, plain sums over people, the inequalities of T11 chapter 5, coverage of the interval.


def test_the_oracle(eusilc):
    file, oracle = eusilc
    found, by_population = file_dis(file), population_measures(file)
    assert (file.n_records, len(file.cells)) == (oracle["n"], oracle["n_cells_nonzero"])
    assert len(file.uniques) == found.uniques == oracle["n_su"]
    assert found.pairs == oracle["n_cells_with_count_2"]
    measured = (found.value, *by_population.values())
    names = ("DIS_est", "true_PrPU", "true_PrPU_SU", "true_PrCM_UM", "true_PrCM_SU")
    assert measured == pytest.approx(tuple(oracle[name] for name in names), rel=1e-12)
    assert found.low < by_population["Pr(CM | UM)"] < found.high


@given(st.lists(st.integers(0, 7), min_size=1, max_size=30), st.data())
def test_measures_are_averages_over_people(people, data):
    drawn = data.draw(st.lists(st.integers(0, len(people) - 1), min_size=1, unique=True))
    sample = [people[i] for i in drawn]
    file = KeyFile.from_columns({"x": sample}, population={"x": people})
    pu, pu_given_su, cm_given_um, cm_given_su = population_measures(file).values()
    unique = [i for i in drawn if sample.count(people[i]) == 1]
    assert pu == pytest.approx(sum(people.count(x) == 1 for x in people) / len(people))
    if unique:
        chances = [1 / people.count(people[i]) for i in unique]
        assert cm_given_su == pytest.approx(np.mean(chances))
        assert pu_given_su == pytest.approx(np.mean([c == 1 for c in chances]))
        matching = [i for i in range(len(people)) if sample.count(people[i]) == 1]
        assert cm_given_um == pytest.approx(len(unique) / len(matching))
        assert cm_given_su >= cm_given_um - 1e-12
        assert cm_given_su >= pu_given_su
    else:
        assert (cm_given_su, pu_given_su, cm_given_um, file_dis(file).value) == (0, 0, 0, 0)


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
