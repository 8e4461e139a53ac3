"""Every method of protection on records that lack values: what it promises holds, and its counts are the file's."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.protection.changes import Levels, Methods, numeric
from gemel.risk.protection.numbers import add_noise, microaggregate, round_to
from gemel.risk.protection.policy import Policy
from gemel.risk.protection.protected_file import protect
from gemel.risk.protection.request import Request
from tests.risk.protection.small_files import TOWNS, typed

WAGES = """k,wage,bonus
a,2013,101
b,2170,118
a,2290,137
b,2405,
a,,4711.77
b,2511,160
a,2698,175
"""
"""Two records lack one of the two numbers."""


def command(folder: Path, records: str, options: str) -> str:
    """What `gemel risk protect` prints."""
    (folder / "records.csv").write_text(records)
    limits = "--fraction .1 --max-record-risk 1 --no-frontier"
    with chdir(folder):
        return typed(f"gemel risk protect records.csv --keys k {limits} {options} --out out.csv")


@pytest.mark.parametrize("options", ["--microaggregate wage,bonus --group 3", "--noise wage=.1,bonus=.1"])
def test_no_number_leaves_as_it_was_because_its_record_lacks_another(tmp_path: Path, options: str) -> None:
    printed = command(tmp_path, WAGES, options)
    made = pl.read_csv(tmp_path / "out.csv")
    before = pl.read_csv(tmp_path / "records.csv")
    for name in ("wage", "bonus"):
        assert made[name].is_null().equals(before[name].is_null())
        assert not set(made[name].drop_nulls().to_list()) & set(before[name].drop_nulls().to_list())
        assert f"{name}: " in printed
    log = json.loads((tmp_path / "out.log.json").read_text())
    assert [(c["variable"], c["values"]) for c in log["changes"]] == [("wage", 6), ("bonus", 6)]


@pytest.mark.parametrize(
    ("options", "because"),
    [
        ("--microaggregate wage,bonus --group 3", "fewer than 3 records have it"),
        ("--noise wage=.1,bonus=.1", "no noise can be added to it"),
    ],
)
def test_a_number_that_cannot_be_protected_is_suppressed_and_named(tmp_path: Path, options: str, because: str) -> None:
    rows = [f"{'ab'[i % 2]},{2000 + 7 * i * i},{'77' if i < 2 else ''}" for i in range(8)]
    printed = command(tmp_path, "k,wage,bonus\n" + "\n".join(rows), f"{options} --json out.json --report out.html")
    made = pl.read_csv(tmp_path / "out.csv")
    assert made["bonus"].null_count() == 8
    assert made["wage"].null_count() == 0
    assert "bonus: suppression of numbers" in printed
    assert because in printed
    assert "2 values" in printed
    for path, find in (("out.log.json", lambda d: d), ("out.json", lambda d: d["log"])):
        changes = find(json.loads((tmp_path / path).read_text()))["changes"]
        (own,) = [c for c in changes if c["method"] == "suppression of numbers"]
        assert (own["variable"], own["values"], own["parameter"]["because"]) == ("bonus", 2, because)
    assert "suppression of numbers" in (tmp_path / "out.html").read_text()


TABLES = st.tuples(st.integers(4, 40), st.integers(1, 4), st.floats(0.0, 0.9), st.integers(0, 2**32 - 1))


def table(shape: tuple[int, int, float, int]) -> np.ndarray:
    n, width, share, seed = shape
    rng = np.random.default_rng(seed)
    numbers = np.exp(rng.normal(size=(n, width)) * 2.0) * 10.0 ** rng.integers(-2, 5, width)
    if seed % 3 == 0:
        numbers = np.round(numbers)  # values that many records have
    numbers[rng.random(numbers.shape) < share] = np.nan
    return numbers


@given(TABLES, st.integers(2, 6))
def test_no_mean_is_of_fewer_numbers_than_the_group(shape: tuple[int, int, float, int], k: int) -> None:
    numbers = table(shape)
    there = ~np.isnan(numbers)
    if there.sum(axis=0).max() < k:
        with pytest.raises(GemelError, match="records with the number that most records have"):
            microaggregate(numbers, k)
        return
    made, groups = microaggregate(numbers, k)
    np.testing.assert_array_equal(groups >= 0, ~np.isnan(made))
    for v in range(numbers.shape[1]):
        if there[:, v].sum() < k:
            assert np.isnan(made[:, v]).all()
            continue
        np.testing.assert_array_equal(np.isnan(made[:, v]), ~there[:, v])
        np.testing.assert_allclose(np.nansum(made[:, v]), np.nansum(numbers[:, v]))
        for g in np.unique(groups[there[:, v], v]):
            own = groups[:, v] == g
            assert own.sum() >= k
            np.testing.assert_allclose(made[own, v], numbers[own, v].mean())
            assert len(np.unique(made[own, v])) == 1


@given(TABLES, st.floats(0.001, 2.0))
def test_every_number_has_noise_or_is_suppressed(shape: tuple[int, int, float, int], share: float) -> None:
    numbers = table(shape)
    made = add_noise(numbers, share, np.random.default_rng(shape[3]))
    assert not (made == numbers).any()
    for before, after in zip(numbers.T, made.T, strict=True):
        there = ~np.isnan(before)
        varies = len(np.unique(before[there])) > 1
        np.testing.assert_array_equal(~np.isnan(after), there & varies)


def test_noise_of_records_that_lack_numbers_keeps_means_and_covariances() -> None:
    rng = np.random.default_rng(17)
    numbers = rng.multivariate_normal([10.0, -3.0, 2.0], [[4.0, 1.5, 0.5], [1.5, 1.0, 0.2], [0.5, 0.2, 2.0]], 60_000)
    numbers[rng.random(numbers.shape) < 0.3] = np.nan
    made = add_noise(numbers, 0.5, rng)
    for a in range(3):
        for b in range(3):
            both = ~np.isnan(numbers[:, [a, b]]).any(axis=1)
            before, after = np.cov(numbers[both][:, [a, b]].T), np.cov(made[both][:, [a, b]].T)
            np.testing.assert_allclose(after, before, rtol=0.06, atol=0.03)
    np.testing.assert_allclose(np.nanmean(made, axis=0), np.nanmean(numbers, axis=0), atol=0.05)
    alone = np.isnan(numbers[:, 1:]).all(axis=1) & ~np.isnan(numbers[:, 0])
    left = np.corrcoef(numbers[alone, 0], made[alone, 0])[0, 1]
    assert left == pytest.approx(1 / np.sqrt(1.5), abs=0.02)


def test_covariances_of_pairs_that_fit_no_law_become_one_that_does() -> None:
    x = np.arange(30.0)
    numbers = np.full((90, 3), np.nan)  # 1 with 2 and 2 with 3 rise together, 1 with 3 against each other
    for start, a, b, sign in ((0, 0, 1, 1), (30, 1, 2, 1), (60, 0, 2, -1)):
        numbers[start : start + 30, a] = x
        numbers[start : start + 30, b] = sign * x
    made = add_noise(numbers, 0.2, np.random.default_rng(1))
    np.testing.assert_array_equal(np.isnan(made), np.isnan(numbers))
    assert not (made == numbers).any()


def test_numbers_too_large_for_noise_or_rounding() -> None:
    numbers = np.array([[1e16], [1e16 + 2], [1e16 + 4]])
    assert np.isnan(add_noise(numbers, 1e-9, np.random.default_rng(1))).all()
    np.testing.assert_array_equal(round_to(np.array([3e18, -3e18, np.nan]), 1e-3), [3e18, -3e18, np.nan])


METHODS = st.fixed_dictionaries(
    {
        "records": st.integers(12, 40),
        "share": st.floats(0.0, 0.8),
        "missing": st.sampled_from(["any", "level"]),
        "blank": st.sampled_from(["", "NA", ".", " NA ", None]),
        "numbers": st.sampled_from(["microaggregate", "noise", "round", "all"]),
        "keys": st.sampled_from(["pram", "swap", "neither"]),
        "fixed": st.booleans(),
        "ends": st.booleans(),
        "k": st.sampled_from([None, 2, 3]),
        "seed": st.integers(0, 2**32 - 1),
    }
)


def records_with_gaps(how: dict[str, Any]) -> pl.DataFrame:
    rng = np.random.default_rng(how["seed"])
    n = how["records"]
    columns = {
        "age": rng.integers(18, 90, n).astype(str),
        "sex": rng.choice(["f", "m"], n),
        "town": rng.choice(["leeds", "york", "kent", "dover"], n),
        "wage": np.round(rng.lognormal(7, 1, n), 1).astype(str),
        "bonus": np.round(rng.lognormal(4, 1, n)).astype(int).astype(str),
        "note": rng.choice(["x", "y"], n),
    }
    found = {}
    for name, values in columns.items():
        gone = rng.random(n) < how["share"]
        gone[: 4 if name in ("age", "sex", "town") else 0] = False  # a key has two values at least
        blank = how["blank"]
        if name in ("age", "sex", "town", "note") and blank is not None:
            blank = blank.strip()  # of a key a text is its value as it stands, spaces and all
        found[name] = [blank if g else v for g, v in zip(gone, values.tolist(), strict=True)]
    found["age"][:2], found["sex"][:2] = ["20", "70"], ["f", "m"]
    found["town"][:4] = ["leeds", "york", "kent", "dover"]
    return pl.DataFrame(found, schema=dict.fromkeys(found, pl.String))


@given(METHODS)
def test_every_method_keeps_its_promise_whatever_is_missing(how: dict[str, Any]) -> None:
    records = records_with_gaps(how)
    numbers, keys = how["numbers"], how["keys"]
    both = {"wage": 0.2, "bonus": 0.2}
    methods = Methods(
        pram={"sex": 0.5, "age": 0.5} if keys == "pram" else {},
        swap={"town": 0.8} if keys == "swap" else {},
        within=("sex",) if keys == "swap" else (),
        microaggregate=("wage", "bonus") if numbers in ("microaggregate", "all") else (),
        noise=both if numbers in ("noise", "all") else {},
        rounding=dict.fromkeys(both, 50.0) if numbers in ("round", "all") else {},
    )
    ends: dict[str, Any] = {"top": {"age": 60}, "bottom": {"age": 30}} if how["ends"] else {"widths": {"age": (20,)}}
    levels = Levels(rows={"town": (TOWNS, "t")}, fixed={"age": 1, "town": 0} if how["fixed"] else {}, **ends)
    blanks = ("", "NA", ".")
    request = Request(
        ("age", "sex", "town"), 0.2, Policy(k=how["k"]), levels, methods, how["missing"], missing_values=blanks
    )
    there = ~np.isnan(numeric(records, ["wage", "bonus"], "test", blanks))
    if methods.microaggregate and there.sum(axis=0).max() < methods.group:
        with pytest.raises(GemelError, match="records with the number that most records have"):
            protect(records, request, np.random.default_rng(how["seed"]), frontier=False)
        return
    made = protect(records, request, np.random.default_rng(how["seed"]), frontier=False)
    changes: dict[tuple[str, str], int] = {}
    for c in made.log["changes"]:
        changes[c["variable"], c["method"]] = changes.get((c["variable"], c["method"]), 0) + c["values"]
    assert made.frame["note"].equals(records["note"])
    check_numbers(records, made.frame, methods, changes, blanks)
    check_keys(records, made.frame, request, made.log, changes)


def check_numbers(
    records: pl.DataFrame,
    made: pl.DataFrame,
    methods: Methods,
    changes: dict[tuple[str, str], int],
    blanks: tuple[str, ...],
) -> None:
    for name in ("wage", "bonus"):
        before, after = (numeric(f, [name], "test", blanks)[:, 0] for f in (records, made))
        there, kept = ~np.isnan(before), ~np.isnan(after)
        assert not (kept & ~there).any()
        assert changes.get((name, "suppression of numbers"), 0) == (there & ~kept).sum()
        single = len([m for m in (methods.microaggregate, methods.noise, methods.rounding) if name in m])
        if methods.microaggregate and single == 1:
            own = after[kept]
            assert all((own == value).sum() >= methods.group for value in own)
            assert there.sum() >= methods.group or not kept.any()
            assert changes[name, "microaggregation"] == (before[kept] != own).sum()
        if methods.noise and single == 1:
            assert (before[kept] != after[kept]).all()
            assert changes[name, "correlated noise"] == kept.sum()
        if methods.rounding:
            assert (after[kept] % 50.0 == 0).all()
        if methods.rounding and single == 1:
            assert (np.abs(after - before)[kept] <= 25.0).all()
            assert (kept == there).all()
            assert changes[name, "rounding"] == (before[kept] != after[kept]).sum()


def check_keys(
    records: pl.DataFrame, made: pl.DataFrame, request: Request, log: Any, changes: dict[tuple[str, str], int]
) -> None:
    table = request.table(records)
    for q, (name, h) in enumerate(zip(table.names, table.hierarchies, strict=True)):
        there = table.codes[:, q] >= 0
        if name not in made.columns:
            assert changes[name, "left out"] == there.sum()
            continue
        level = log["codebook"][name]["level"]
        published = made[name].to_numpy()
        kept = np.array([value is not None for value in published])
        assert not (kept & ~there).any()
        assert changes.get((name, "local suppression"), 0) == (there & ~kept).sum()
        assert {str(v) for v in published[kept]} <= set(h.labels[level])
        plain = np.array(h.labels[level], dtype=object)[h.groups[level][table.codes[:, q]]]
        random = name in (*request.methods.pram, *request.methods.swap)
        if not random:  # what a record shows is the group of its own value, and the group is as the level says
            assert (published[kept] == plain[kept]).all()
            own = np.array(h.levels[0], dtype=object)[table.codes[:, q]]
            assert changes.get((name, "global recoding"), 0) == (own[kept] != plain[kept]).sum()
        elif level == 0:
            moved = (published[kept] != plain[kept]).sum()
            given = changes[name, "PRAM" if name in request.methods.pram else "swapping"]
            assert moved <= given
            assert moved == given or not kept[there].all()
        if name in request.methods.swap and level == 0 and kept[there].all():
            assert sorted(published[kept]) == sorted(plain[there])


def test_keys_with_missing_values_are_coarsened_and_swapped_among_those_that_have_one() -> None:
    """The same checks where nothing is left to chance: half of the values of every key are missing."""
    how = {"records": 40, "share": 0.5, "blank": "NA", "seed": 5}
    records = records_with_gaps(how)
    methods = Methods(swap={"town": 1.0})
    levels = Levels(rows={"town": (TOWNS, "t")}, top={"age": 60}, fixed={"age": 1, "sex": 0, "town": 0})
    request = Request(("age", "sex", "town"), 0.2, levels=levels, methods=methods)
    made = protect(records, request, np.random.default_rng(3), frontier=False)
    for name in request.keys:
        np.testing.assert_array_equal(made.frame[name].is_null(), records[name] == "NA")
    assert (made.frame["town"] != records["town"]).sum() > 5
    over = records["age"].cast(pl.Int64, strict=False) >= 60
    assert made.frame["age"].filter(over).n_unique() == 1


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (["1", "inf", "3", "4"], "1 values that are none"),
        (["1", "n/a", "x", "4"], "2 values that are none"),
        (["1", "1e200", "3", "4"], "1 larger ones"),
    ],
)
def test_numbers_that_are_none_or_too_large_are_refused(column: list[str], words: str) -> None:
    frame = pl.DataFrame({"k": ["a", "b", "a", "b"], "wage": column})
    with pytest.raises(GemelError, match=words):
        protect(frame, Request(("k",), 0.1, methods=Methods(noise={"wage": 0.1})), np.random.default_rng(1))


@pytest.mark.parametrize("weight", ["NA", "", "nan", "0", "-1", "inf"])
def test_a_weight_that_is_missing_or_none_is_refused(weight: str) -> None:
    frame = pl.DataFrame({"k": ["a", "b", "a", "b"], "w": ["10", "12", weight, "9"]})
    with pytest.raises(GemelError, match=r"--weights, column w: the column must hold|survey weights must be"):
        protect(frame, Request(("k",), 0.1, weights="w"), np.random.default_rng(1))


def test_texts_that_mean_missing_are_those_that_are_named() -> None:
    frame = pl.DataFrame({"k": ["a", "b"] * 4, "wage": ["1", "2", ".", "4", "5", "6", "NaN", "9"]})
    request = Request(("k",), 0.1, methods=Methods(microaggregate=("wage",)), missing_values=("", "."))
    made = protect(frame, request, np.random.default_rng(1), frontier=False)
    np.testing.assert_array_equal(made.frame["wage"].is_null(), [False, False, True, False, False, False, True, False])
    with pytest.raises(GemelError, match="1 values that are none"):
        protect(frame, Request(("k",), 0.1, methods=Methods(microaggregate=("wage",))), np.random.default_rng(1))
