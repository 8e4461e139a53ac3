"""Interval disclosure and linkage by distance: their definitions over all pairs, known perturbations, the command."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import entropy, wasserstein_distance

from gemel.common.errors import GemelError
from gemel.risk.identification.assessment.beside_keys import _regression, auc, logit_rank_plot
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.numeric_risk import (
    linked_by_distance,
    numeric_risk_document,
    within_percent,
    within_ranks,
)
from gemel.risk.identification.privacy_models import diversity, k_anonymity, sensitive_classes
from tests.risk.identification.small_files import identified, refusal

PAIRS = st.lists(st.tuples(*[st.integers(-3, 3)] * 4), min_size=1, max_size=25)


@given(PAIRS)
def test_linkage_against_all_distances(rows):
    values = np.array(rows, dtype=np.float64)
    original, protected = values[:, :2], values[:, 2:]
    nearest, second = linked_by_distance(original, protected)
    scale = np.array([s if s > 0 else 1.0 for s in original.std(axis=0)])
    for i in range(len(values)):
        distance = np.sqrt((((original - protected[i]) / scale) ** 2).sum(axis=1)).round(9)
        closer, as_near = (distance < distance[i]).sum(), (distance == distance[i]).sum()
        places = range(closer + 1, closer + as_near + 1)  # its own is at each of them as likely
        assert nearest[i] == pytest.approx((1 in places) / as_near)
        assert second[i] == pytest.approx((2 in places) / as_near)


@given(PAIRS, st.sampled_from([0.0, 10.0, 30.0]))
def test_intervals_against_their_definition(rows, percent):
    original, protected = np.array(rows, dtype=np.float64).T[:2]
    steps = int(percent / 100 * len(rows))
    ordered = sorted(protected.tolist())
    by_rank, by_value = within_ranks(original, protected, percent), within_percent(original, protected, percent)
    for i in range(len(rows)):
        places = [k for k, value in enumerate(ordered) if value == protected[i]]
        low, high = ordered[max(places[0] - steps, 0)], ordered[min(places[-1] + steps, len(rows) - 1)]
        assert by_rank[i] == (low <= original[i] <= high)
        assert by_value[i] == (abs(protected[i] - original[i]) <= percent / 100 * abs(original[i]))


def test_known_perturbations():
    rng = np.random.default_rng(7)
    x = rng.lognormal(3, 1, (400, 2))
    columns = {"income": x[:, 0], "wealth": x[:, 1]}
    same = numeric_risk_document(columns, columns)
    assert (same["linked_nearest"], same["linked_second"], same["unchanged_records"]) == (1, 0, 400)
    assert all(i["by_value"] == i["by_rank"] == 1 for v in same["variables"] for i in v["intervals"])
    order = rng.permutation(400)
    shuffled = numeric_risk_document(columns, {name: values[order] for name, values in columns.items()})
    assert shuffled["linked_nearest"] < 0.03  # 1 of 400 on average
    noisy = {name: values + rng.normal(0, values.std() / 10, 400) for name, values in columns.items()}
    some = numeric_risk_document(columns, noisy)
    assert shuffled["linked_nearest"] < some["linked_nearest"] < 1
    mean = {name: np.full(400, values.mean()) for name, values in columns.items()}
    none = numeric_risk_document(columns, mean)
    assert none["linked_nearest"] == pytest.approx(1 / 400)  # one point for all: the person nearest to it is right


def test_missing_numbers_are_left_out_and_counted():
    x = {"a": np.array([1.0, 2.0, np.nan, 5.0])}
    found = numeric_risk_document(x, {"a": np.array([1.0, np.nan, 3.0, 5.0])})
    assert (found["records"], found["records_with_missing"], found["linked_nearest"]) == (2, 2, 1)
    for wrong, words in (
        ({"a": np.array([1.0, 2.0])}, "2 records for 4|4 records for 2"),
        ({"a": np.array([1.0, np.inf, 2.0, 3.0])}, "finite"),
        ({"a": np.full(4, np.nan)}, "every record lacks"),
    ):
        with pytest.raises(GemelError, match=words):
            numeric_risk_document(x, wrong)


def test_the_command_with_an_original(tmp_path):
    rng = np.random.default_rng(1)
    rows = pl.DataFrame({"sex": rng.integers(0, 2, 80), "income": rng.normal(100, 20, 80).round(2)})
    rows.write_parquet(tmp_path / "original.parquet")
    rows.with_columns((pl.col("income") / 10).round(0) * 10).write_csv(tmp_path / "r.csv")
    base, original = "--keys sex --fraction 0.1 --numeric income", tmp_path / "original.parquet"
    done = identified(tmp_path / "r.csv", f"{base} --original {original}")
    found = done.document["numeric_risk"]
    assert 1 / 80 < found["linked_nearest"] < 1
    assert found["variables"][0]["intervals"][2]["by_value"] > 0.8  # rounding to tens of about 100
    assert "linked by distance" in done.output
    assert "against their originals" in done.page
    assert "--original" in refusal(tmp_path / "r.csv", base)
    rows.with_columns(pl.lit("much").alias("income")).write_csv(tmp_path / "text.csv")
    assert "80 that are not" in refusal(tmp_path / "r.csv", f"{base} --original {tmp_path / 'text.csv'}")


# Logit rank plots and AUC: known slopes, invariance, counting pairs, odd input.

CASES = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=40)


@given(CASES)
def test_auc_counts_pairs(cases):
    s, y = (np.array(x) for x in zip(*cases, strict=True))
    wins = [(a > b) + 0.5 * (a == b) for a in s[y] for b in s[~y]]
    found = auc(s, y)
    assert found == pytest.approx(np.mean(wins)) if wins else np.isnan(found)


@given(CASES)
def test_a_monotone_transformation_changes_nothing(cases):
    s, y = (np.array(x) for x in zip(*cases, strict=True))
    plain, stretched = logit_rank_plot(s, y, points=5), logit_rank_plot(np.exp(s) + 3, y, points=5)
    assert stretched.logit == pytest.approx(plain.logit)
    assert auc(s, y) == pytest.approx(auc(s**3, y), nan_ok=True)


def test_the_slope_is_that_of_the_logits():
    """With P(event) = expit(2 t - 1) at rank logit t, the plot is the line 2 t - 1.

    40,000 records: standard errors under .07 inside (-2, 2); tolerance .3.
    """
    rng = np.random.default_rng(1)
    n = 40_000
    share = np.arange(1, n + 1) / (n + 1)
    t = np.log(share / (1 - share))
    y = rng.random(n) < 1 / (1 + np.exp(1 - 2 * t))
    found = logit_rank_plot(np.arange(n), y, points=19)
    inside = np.abs(found.t) < 2
    assert found.logit[inside] == pytest.approx(2 * found.t[inside] - 1, abs=0.3)
    assert found.slope == pytest.approx(2, abs=0.1)
    assert (np.diff(found.logit) > 0).all()


def test_a_score_of_chance_is_flat_and_a_better_one_is_steeper():
    rng = np.random.default_rng(2)
    y = rng.random(4_000) < 0.3
    scores = [rng.random(4_000) + weight * y for weight in (0.0, 0.3, 1.0)]
    slopes = [logit_rank_plot(s, y).slope for s in scores]
    areas = [auc(s, y) for s in scores]
    assert abs(slopes[0]) < 0.1
    assert slopes[0] < slopes[1] < slopes[2]
    assert areas[0] == pytest.approx(0.5, abs=0.03)
    assert areas == sorted(areas)


def test_the_regression_is_the_maximum():
    rng = np.random.default_rng(3)
    x, trials = rng.normal(size=30), rng.integers(1, 9, 30).astype(float)
    events = rng.binomial(trials.astype(int), 0.4).astype(float)
    best = minimize(lambda v: (trials * np.logaddexp(0, v[0] + v[1] * x) - events * (v[0] + v[1] * x)).sum(), [0, 0])
    assert _regression(x, trials, events) == pytest.approx(tuple(best.x), abs=2e-3)


def test_one_kind_only_stays_finite_and_bad_input_is_refused():
    assert np.isfinite(logit_rank_plot([1.0, 2.0, 3.0], [1, 1, 1], points=3).logit).all()
    assert np.isnan(auc([1.0, 2.0], [0, 0]))
    for scores, events in (([], []), ([1.0], [1, 0]), ([np.nan], [1]), ([1.0], [0.5])):
        with pytest.raises(GemelError):
            auc(scores, events)
    with pytest.raises(GemelError, match="positive"):
        logit_rank_plot([1.0], [1], points=0)


# k-anonymity and its kin against their definitions record by record, with both meanings of missing; the command.

VALUES = st.one_of(st.none(), st.sampled_from("abc"))
RECORDS = st.lists(st.tuples(VALUES, VALUES, st.sampled_from(["1", "2", "10"])), min_size=1, max_size=25)


def classes_of(rows, missing: str) -> list[list[int]]:
    """By the definition: for each record, which records agree with it on the keys."""

    def agree(a, b) -> bool:
        return a == b or (missing == "any" and None in (a, b))

    return [[j for j, other in enumerate(rows) if all(map(agree, own[:2], other[:2]))] for own in rows]


@given(RECORDS, st.sampled_from(["level", "any"]))
def test_counts_are_their_definitions(rows, missing):
    file = KeyFile.from_columns({"x": [r[0] for r in rows], "y": [r[1] for r in rows]}, 0.1, missing=missing)
    own = classes_of(rows, missing)
    assert file.frequency.min() == min(map(len, own))
    assert k_anonymity(file) == {k: sum(len(c) < k for c in own) for k in (2, 3, 5)}
    groups = sensitive_classes(file, [r[2] for r in rows], "s")
    assert list(groups.levels) == sorted({r[2] for r in rows}, key=int)
    measured = diversity(groups, ordered=True)
    place = {label: k for k, label in enumerate(groups.levels)}
    values = np.array([place[r[2]] for r in rows])
    counts = [np.bincount(values[c], minlength=len(place)) for c in own]
    assert measured["l_distinct"] == min(len(set(values[c])) for c in own)
    below = {el: sum(len(set(values[c])) < el for c in own) for el in (2, 3, 5)}
    assert measured["violations"] == [{"l": el, "records": n, "share": n / len(rows)} for el, n in below.items()]
    assert measured["l_entropy"] == pytest.approx(min(np.exp(entropy(n)) for n in counts))
    whole = np.bincount(values) / len(values)
    assert measured["t"] == pytest.approx(max(np.abs(n / n.sum() - whole).sum() / 2 for n in counts))
    steps = max(len(place) - 1, 1)
    far = max(wasserstein_distance(values[c], values) / steps for c in own)
    assert measured["t_ordered"] == pytest.approx(far, abs=1e-12)
    recursive = []
    for n in counts:
        sizes = sorted(n.tolist(), reverse=True)
        holds = [sizes[0] < 2.0 * sum(sizes[el:]) for el in range(len(sizes))]
        recursive.append(next((el for el, good in enumerate(holds) if not good), len(holds)))
    assert measured["l_recursive"] == min(recursive)


def test_a_missing_sensitive_value_is_a_value_numbers_are_in_order_and_wrong_input_is_named():
    file = KeyFile.from_columns({"x": ["a", "a", "a", "b"]}, 0.1)
    groups = sensitive_classes(file, ["10.5", "9", None, "9"], "income")
    assert groups.levels == ("9", "10.5", "(missing)")
    assert groups.sensitive.tolist() == [[1, 1, 1], [1, 0, 0]]
    with pytest.raises(GemelError, match="one value for each record"):
        sensitive_classes(file, ["1"], "income")


def test_the_command_reports_them(tmp_path):
    rows = ["x,y,illness,income", *(f"{i % 3},{i % 2},{'flu' if i % 5 else ''},{i % 4}" for i in range(60))]
    (tmp_path / "r.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = identified(tmp_path / "r.csv", "--keys x,y --fraction 0.1 --sensitive illness --ordinal income")
    found = done.document["privacy_models"]
    assert found["smallest_class"] == 10
    illness, income = found["sensitive"]
    assert (illness["l_distinct"], illness["t_ordered"]) == (2, None)
    assert income["t_ordered"] == pytest.approx(1 / 6)
    assert "0 (0.00%) for k = 5; smallest class 10" in done.output
    assert "income, worst class" in done.output
    assert "t-closeness" in done.page
