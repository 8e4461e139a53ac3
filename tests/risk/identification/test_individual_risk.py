"""Individual risk by survey weights: closed forms, brute force, an exact law of populations; weights that are none."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, nbinom

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.identification.assessment.beside_keys import BesideKeys
from gemel.risk.identification.assessment.file_assessment import assess
from gemel.risk.identification.individual_risk import (
    Units,
    expected_reciprocal_of_sampled,
    implied_fraction,
    individual_risk,
    unit_risk_document,
)
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.reader import read_weights
from gemel.risk.report.identification import render
from tests.risk.identification.small_files import identified, refusal, sampled_file


@given(st.integers(1, 60), st.floats(0.02, 1.0))
def test_it_is_the_mean_over_the_negative_binomial_law(f, p):
    h = np.arange(f, int(nbinom.isf(1e-16, f, p)) + f + 2)
    plain = float((nbinom.pmf(h - f, f, p) / h).sum())
    assert expected_reciprocal_of_sampled([f], [p])[0] == pytest.approx(plain, rel=1e-10)


@given(st.integers(1, 3_000), st.floats(-12, 0))
def test_the_identity_of_its_integral_holds_for_any_sampling_fraction(f, exponent):
    p = 10.0**exponent
    # Of u^(f-1) (1 + c u) / (1 + c u): I_f + c I_(f+1) = 1/f, whichever of the three forms each is found by.
    own, following = expected_reciprocal_of_sampled([f, f + 1], p)
    assert own + (1.0 - p) / p * following == pytest.approx(1.0 / f, rel=1e-12)
    assert 0 < following < own <= 1 / f


def test_the_closed_forms_of_its_authors():
    p = np.array([0.002, 0.05, 0.3, 0.7, 0.99])
    q = p / (1 - p)
    log = np.log(1 / p)
    for f, closed in ((1, q * log), (2, q - q**2 * log), (3, q / 2 - q**2 + q**3 * log)):
        assert expected_reciprocal_of_sampled(f, p) == pytest.approx(closed, rel=1e-9)
    assert expected_reciprocal_of_sampled([1, 7], 1.0).tolist() == [1, 1 / 7]


def test_a_class_has_the_risk_of_its_weights_by_default_1_over_the_fraction_and_the_file_their_sum():
    file = KeyFile.from_columns({"a": list("xxyz")}, 0.1)
    found = individual_risk(file, np.array([18.0, 92.0, 17.0, 0.5]))
    q = 2 / 110 / (1 - 2 / 110)
    pair, single = q - q**2 * math.log(55), math.log(17) / 16
    assert found.records.tolist() == pytest.approx([pair, pair, single, 1.0])
    assert found.expected == pytest.approx(2 * pair + single + 1)
    assert found.short == 1  # half a person stands for one record
    assert individual_risk(file).records.tolist() == individual_risk(file, np.full(4, 10.0)).records.tolist()


def test_where_missing_agrees_with_all_the_class_is_all_that_agree():
    file = KeyFile.from_columns({"a": ["x", "x", None, "y"]}, 0.1, missing="any")
    weights = np.array([2.0, 3.0, 5.0, 7.0])
    expected = expected_reciprocal_of_sampled([3, 3, 4, 2], [3 / 10, 3 / 10, 4 / 17, 2 / 12])
    assert individual_risk(file, weights).records == pytest.approx(expected)


def test_it_is_right_on_average_where_a_class_has_any_number_of_people_as_likely():
    # The posterior is that of a prior 1/F: populations drawn from it have the risk that is claimed.
    F = np.arange(1, 4_001)
    for f in (1, 2, 5):
        joint = binom.pmf(f, F, 0.3) / F
        assert expected_reciprocal_of_sampled([f], [0.3])[0] == pytest.approx((joint / F).sum() / joint.sum(), rel=1e-9)


def test_an_assessment_has_the_truth_beside_it_and_warns_of_scaled_weights():
    file = sampled_file(300, 3_000, 5)
    found = assess(file, weights=np.full(300, 10.0))
    own = found["individual_risk"]
    F = file.population_sizes
    assert own["true_reidentifications"] == pytest.approx((1 / F[file.of_record]).sum())
    assert all(r["individual"] > 0 for r in found["highest_risk_records"])
    assert "Individual risk from the survey weights" in render(found)
    scaled = assess(file, weights=np.full(300, 1.0), records=False)
    for document, warned in ((found, False), (scaled, True)):
        assert ("weights_contradict_fraction" in {w["code"] for w in document["warnings"]}) == warned


@pytest.mark.parametrize(("low", "high", "warned"), [(0.5, 0.6, True), (0.1, 0.4, False), (0.0, 0.1, True)])
def test_it_is_compared_with_the_calibrated_tau2(low, high, warned):
    file = KeyFile.from_columns({"a": list("xxyz")}, 0.1)  # two uniques of risk log(17)/16
    calibrated = {"name": "tau2, calibrated", "low": low, "high": high}
    found = {"file": {}, "warnings": [], "highest_risk_records": [], "measures": [calibrated], "left_out": []}
    BesideKeys().assess(file, np.full(4, 17.0), {}, found, lambda assessed, what, make: make())
    assert ("individual_risk_contradicted" in {w.code for w in found["warnings"]}) == warned


def test_weights_of_zero_negative_or_missing_are_counted(tmp_path):
    path = tmp_path / "r.csv"
    pl.DataFrame({"w": ["1.5", "0", "-2", "", "many", "2"]}).write_csv(path)
    with pytest.raises(GemelError, match="numbers above 0") as caught:
        read_weights(path, "w")
    assert caught.value.code == ErrorCode.SOURCE
    assert "2 missing or no numbers, 1 zero, 1 negative" in str(caught.value)
    assert str(path) in str(caught.value)


def test_the_fraction_that_weights_imply():
    assert implied_fraction(np.array([10.0, 30.0])) == 0.05
    with pytest.raises(GemelError, match="fewer people than there are records"):
        implied_fraction(np.array([0.5, 0.5]))


# Unit risk: against every outcome of identifying members, units as records, the command on units.


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1)), min_size=1, max_size=8))
def test_any_member_against_every_outcome(members):
    units = Units.of([h for h, _ in members])
    found = units.any_member(np.array([r for _, r in members]))
    names = list(dict.fromkeys(h for h, _ in members))
    expected = dict.fromkeys(names, 0.0)
    for outcome in product((False, True), repeat=len(members)):
        chance = np.prod([r if hit else 1 - r for (_, r), hit in zip(members, outcome, strict=True)])
        for name in names:
            if any(hit and h == name for (h, _), hit in zip(members, outcome, strict=True)):
                expected[name] += chance
    assert found.tolist() == pytest.approx([expected[n] for n in names], abs=1e-12)


RECORDS = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("xyz"), st.sampled_from("fm")), min_size=1, max_size=20)


@given(RECORDS)
def test_units_as_records_against_their_definition(rows):
    file = KeyFile.from_columns({"a": [r[1] for r in rows], "s": [r[2] for r in rows]}, 0.1)
    weights = np.arange(2.0, len(rows) + 2)
    found = unit_risk_document(file, [r[0] for r in rows], weights, {})
    members: dict[int, list[int]] = {}
    for i, row in enumerate(rows):
        members.setdefault(row[0], []).append(i)
    kinds = {h: tuple(sorted(rows[i][1:] for i in own)) for h, own in members.items()}
    heavy = {h: float(np.mean(weights[own])) for h, own in members.items()}
    number = Counter(kinds.values())
    risks = {}
    for h, kind in kinds.items():
        people = sum(heavy[o] for o in members if kinds[o] == kind)
        risks[h] = expected_reciprocal_of_sampled([number[kind]], [number[kind] / people])[0]
    own = found["by_composition"]
    assert own["expected_units"] == pytest.approx(sum(risks.values()))
    assert own["expected_people"] == pytest.approx(sum(len(members[h]) * r for h, r in risks.items()))
    assert own["uniques"] == sum(n == 1 for n in number.values())
    assert found["units"] == len(members)
    single = individual_risk(file, weights).records
    plain = [1 - np.prod(1 - single[own]) for own in members.values()]
    assert found["any_member"]["expected_units"] == pytest.approx(sum(plain))


def test_keys_of_units_must_be_those_of_all_members():
    units = Units.of(["1", "1", "2"])
    assert units.constant(np.array([3, 3, 5], dtype=np.int32), "region").tolist() == [3, 5]
    with pytest.raises(GemelError, match="same for all members") as caught:
        units.constant(np.array([3, 4, 5], dtype=np.int32), "region")
    assert "1 units whose members differ" in str(caught.value)
    with pytest.raises(GemelError, match="2 records without"):
        Units.of(["1", None, ""])


def test_the_command_on_units(tmp_path):
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 5, 80)
    rows = pl.DataFrame(
        {
            "house": np.repeat(np.arange(80), sizes),
            "hsize": np.repeat(sizes, sizes),
            "region": np.repeat(rng.integers(0, 3, 80), sizes),
            "age": rng.integers(0, 6, sizes.sum()),
            "w": np.repeat(rng.uniform(5, 50, 80), sizes),
        }
    )
    rows.write_csv(tmp_path / "r.csv")
    path = tmp_path / "r.csv"
    done = identified(path, "--keys region,age --weights w --unit house --unit-keys region,hsize")
    found = done.document
    assert found["file"]["fraction"] == pytest.approx(len(rows) / rows["w"].sum())
    assert found["file"]["fraction_from"] == "weights"
    own = found["unit_risk"]
    assert own["units"] == 80
    assert own["by_keys"]["keys"] == ["region", "hsize"]
    assert 0 < own["by_keys"]["expected_units"] < own["by_composition"]["expected_units"] < 80
    assert "from the weights" in done.output
    assert "unit, any member" in done.output
    assert "the unit&#39;s keys: region, hsize" in done.page
    assert "--unit" in refusal(path, "--keys age --fraction 0.1 --unit-keys region")


def test_units_are_taken_to_be_sampled_whole():
    file = KeyFile.from_columns({"a": list("xxyy")}, 0.1)
    with_units = BesideKeys(unit=["1", "1", "2", "3"]).with_units(file)
    assert with_units.units_of_cells.tolist() == [1, 2]  # the pair of one unit, and that of two
    assert BesideKeys().with_units(file) is file
