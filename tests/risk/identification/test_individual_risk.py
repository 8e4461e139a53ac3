"""Individual risk by survey weights: closed forms, brute force, an exact law of populations; weights that are none."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nbinom

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.identification.assessment.beside_keys import BesideKeys
from gemel.risk.identification.assessment.file_assessment import assess
from gemel.risk.identification.individual_risk import expected_reciprocal_of_sampled, implied_fraction, individual_risk
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.reader import read_weights
from gemel.risk.report.identification import render
from tests.risk.identification.small_files import dependent_columns


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


def test_a_class_has_the_risk_of_its_weights_and_the_file_their_sum():
    file = KeyFile.from_columns({"a": list("xxyz")}, 0.1)
    found = individual_risk(file, np.array([18.0, 92.0, 17.0, 0.5]))
    q = 2 / 110 / (1 - 2 / 110)
    pair, single = q - q**2 * math.log(55), math.log(17) / 16
    assert found.records.tolist() == pytest.approx([pair, pair, single, 1.0])
    assert found.expected == pytest.approx(2 * pair + single + 1)
    assert found.short == 1  # half a person stands for one record


def test_without_weights_each_record_stands_for_one_over_the_fraction():
    file = KeyFile.from_columns({"a": list("xxyz")}, 0.1)
    assert individual_risk(file).records.tolist() == individual_risk(file, np.full(4, 10.0)).records.tolist()


def test_where_missing_agrees_with_all_the_class_is_all_that_agree():
    file = KeyFile.from_columns({"a": ["x", "x", None, "y"]}, 0.1, missing="any")
    weights = np.array([2.0, 3.0, 5.0, 7.0])
    expected = expected_reciprocal_of_sampled([3, 3, 4, 2], [3 / 10, 3 / 10, 4 / 17, 2 / 12])
    assert individual_risk(file, weights).records == pytest.approx(expected)


def test_it_is_right_on_average_where_a_class_has_any_number_of_people_as_likely():
    # The posterior is that of a prior 1/F: populations drawn from it have the risk that is claimed.
    p, largest = 0.3, 4_000
    F = np.arange(1, largest + 1)
    for f in (1, 2, 5):
        joint = (1.0 / F) * np.exp([_log_binomial(n, f, p) for n in F])
        assert expected_reciprocal_of_sampled([f], [p])[0] == pytest.approx((joint / F).sum() / joint.sum(), rel=1e-9)


def _log_binomial(n: int, f: int, p: float) -> float:
    if n < f:
        return -math.inf
    ways = math.lgamma(n + 1) - math.lgamma(f + 1) - math.lgamma(n - f + 1)
    return ways + f * math.log(p) + (n - f) * math.log1p(-p)


def test_an_assessment_has_the_truth_beside_it_and_warns_of_scaled_weights():
    rng = np.random.default_rng(5)
    whole = dependent_columns(3_000, rng)
    chosen = rng.permutation(3_000)[:300]
    file = KeyFile.from_columns({n: v[chosen] for n, v in whole.items()}, population=whole)
    found = assess(file, weights=np.full(300, 10.0))
    own = found["individual_risk"]
    F = file.population_sizes
    assert own["true_reidentifications"] == pytest.approx((1 / F[file.of_record]).sum())
    assert all(r["individual"] > 0 for r in found["highest_risk_records"])
    assert "Individual risk from the survey weights" in render(found)
    assert not [w for w in found["warnings"] if w["code"] == "weights_contradict_fraction"]
    scaled = assess(file, weights=np.full(300, 1.0), records=False)
    assert [w for w in scaled["warnings"] if w["code"] == "weights_contradict_fraction"]


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
