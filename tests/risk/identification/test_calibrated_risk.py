"""Calibrated risk: the definitions by brute force, the law against scipy's, populations whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, linprog
from scipy.stats import nbinom

from benchmarks._public_populations import ADULT, EUSILC_P, SES, PublicPopulation
from gemel.common.errors import GemelError
from gemel.risk.identification.calibration.crowding import COUNTED, ShapePrior, _likelihood, fit_crowding, neighbourhood
from gemel.risk.identification.calibration.records import (
    calibrated_risk,
    expected_reciprocal_with_company,
    greatest_means,
)
from gemel.risk.identification.file_level import file_dis
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.models.counts import SparseCounts


def sampled(everyone: pl.DataFrame, chosen: np.ndarray, **options: float) -> KeyFile:
    return KeyFile.from_columns(everyone[chosen].to_dict(), population=everyone.to_dict(), **options)


def sample_of(population: PublicPopulation, fraction: float, seed: int) -> KeyFile:
    everyone = population.key_columns("6 keys")
    chosen = np.random.default_rng(seed).choice(len(everyone), round(fraction * len(everyone)), replace=False)
    return sampled(everyone, chosen)


def people(file: KeyFile) -> np.ndarray:
    """Who share each sample unique's combination in the population."""
    return file.population_sizes[file.of_record[file.uniques]]


@given(st.integers(1, 4), st.integers(0, 2**31))
def test_the_neighbourhood_counts_the_other_records(n_keys, seed):
    rng = np.random.default_rng(seed)
    records = rng.integers(0, 3, (30, n_keys))
    table = SparseCounts.from_records(records, [3] * n_keys)
    found = neighbourhood(table)
    for j, cell in enumerate(table.cells):
        differ = (records != cell).sum(axis=1)
        one, two = (differ == 1).sum(), (differ == 2).sum()
        assert found[j, 2] == pytest.approx(np.log((one if n_keys > 1 else 0) + 0.5))
        assert found[j, 3] == pytest.approx(np.log((two if n_keys > 2 else 0) + 0.5))
        apart = records[differ > 0]
        each = [np.log((apart[:, k] == cell[k]).sum() + 0.5) for k in range(n_keys)]
        assert found[j, 0] == pytest.approx(sum(each) - (n_keys - 1) * np.log(len(apart) + 0.5))


def test_the_tree_is_the_one_of_greatest_information():
    rng = np.random.default_rng(3)
    a = rng.integers(0, 4, 400)
    b = np.where(rng.random(400) < 0.9, a, rng.integers(0, 4, 400))
    c = np.where(rng.random(400) < 0.8, b, rng.integers(0, 4, 400))
    records = np.stack([a, c, b], axis=1)
    table = SparseCounts.from_records(records, [4, 4, 4])
    found = neighbourhood(table)[:, 1]
    for j, cell in enumerate(table.cells):
        apart = records[(records != cell).any(axis=1)]
        pair = {
            (k, m): np.log(((apart[:, k] == cell[k]) & (apart[:, m] == cell[m])).sum() + 0.5)
            for k, m in combinations(range(3), 2)
        }
        middle = np.log((apart[:, 2] == cell[2]).sum() + 0.5)
        assert found[j] == pytest.approx(pair[0, 2] + pair[1, 2] - middle)


def test_the_likelihood_is_that_of_scipy_and_its_gradient_that_of_differences():
    rng = np.random.default_rng(5)
    X = np.concatenate([np.ones((40, 1)), rng.normal(size=(40, 2))], axis=1)
    y = rng.integers(0, COUNTED + 1, 40).astype(float)
    t = np.array([-0.4, 0.7, -0.2, 0.06, 0.9, 0.3])
    value, gradient = _likelihood(X, y, 0.1, t)
    eta = X @ t[:3]
    mu, a = np.exp(eta + t[3] * (eta - 0.1) ** 2), np.exp(t[4] + t[5] * eta)
    law = nbinom(a, a / (a + mu))
    assert value == pytest.approx(law.logpmf(y) - law.logcdf(COUNTED), rel=1e-9)
    numeric = approx_fprime(t, lambda t: _likelihood(X, y, 0.1, t)[0].sum(), 1e-7)
    assert gradient.sum(axis=0) == pytest.approx(numeric, rel=1e-4, abs=1e-4)


@given(st.integers(1, 30), st.floats(1e-6, 20.0), st.floats(0.01, 30.0) | st.just(1.0), st.floats(0.0, 99.0))
def test_the_expected_reciprocal_is_the_sum_over_people_outside(f, mu, a, c):
    found = expected_reciprocal_with_company(*(np.array([v]) for v in (f, mu, a, c)))[0]
    b = a / mu + 1.0
    law = nbinom(a + f - 1, b / (b + c))
    largest = int(law.ppf(1 - 1e-10)) + 1 if c > 0 else 1
    if largest > 300_000:
        return
    outside = np.arange(largest)
    assert found == pytest.approx(float((law.pmf(outside) / (f + outside)).sum()), rel=2e-4)


def test_the_law_is_found_again_in_a_population_that_has_it():
    rng = np.random.default_rng(11)
    x = rng.normal(size=60_000)
    mu, a = np.exp(-0.8 + 1.1 * x), np.exp(1.5 + 0.4 * (-0.8 + 1.1 * x))
    f = 1.0 + rng.poisson(rng.gamma(a) * mu / a)  # sized by records: a record and the others of its cell
    kept = rng.random(len(f)) < 1.0 / f
    law = fit_crowding(x[kept, None], f[kept])
    own_mu, own_a = law.law(np.arange(int(kept.sum())))
    assert law.converged
    assert np.abs(np.log(own_mu) - np.log(mu[kept])).mean() < 0.06
    assert np.abs(np.log(own_a) - np.log(a[kept])).mean() < 0.25


def test_a_shape_that_is_held_stays_and_is_less_likely_than_a_free_one():
    file = sample_of(EUSILC_P, 0.1, 1)
    predictors, counts = neighbourhood(file.table()), file.counts.astype(float)
    held = fit_crowding(predictors, counts, shape=ShapePrior((0.2, 1.2), (1e-3, 1e-3)))
    free = fit_crowding(predictors, counts)
    assert held.parameters[-2:] == pytest.approx([0.2, 1.2], abs=0.01)
    assert held.log_likelihood < free.log_likelihood - 2.0
    small = counts <= COUNTED + 1
    value = _likelihood(free.predictors[small], counts[small] - 1.0, free.centre, free.parameters)[0]
    assert free.log_likelihood == pytest.approx(float(counts[small] @ value))


@pytest.mark.parametrize("population", [EUSILC_P, ADULT])
def test_what_is_claimed_of_a_public_population_is_true(population):
    claimed, true, uniques, covered, anchored = [], [], [], 0, 0
    for seed in range(6):
        file = sample_of(population, 0.05, seed)
        risk = calibrated_risk(file, seed=seed)
        F = people(file)
        order = np.argsort(-risk.correct)[:50]
        claimed.append(risk.correct[order].mean())
        true.append((1.0 / F[order]).mean())
        uniques.append((risk.tau1.value / (F == 1).sum(), risk.tau2.value / (1.0 / F).sum()))
        for tau, truth in ((risk.tau1, (F == 1).sum()), (risk.tau2, (1.0 / F).sum())):
            covered += int(tau.low <= truth <= tau.high)
        dis = file_dis(file)
        anchored += dis.low <= risk.cm_given_um.value <= dis.high
    assert np.mean(claimed) == pytest.approx(np.mean(true), abs=0.1)
    tau1, tau2 = np.mean(uniques, axis=0)
    assert tau1 == pytest.approx(1.0, abs=0.25)
    assert tau2 == pytest.approx(1.0, abs=0.12)
    assert covered >= 9
    assert anchored >= 5


def test_equal_weights_are_a_sampling_fraction():
    file = sample_of(EUSILC_P, 0.02, 1)
    weights = np.full(file.n_records, 1.0 / file.fraction)
    plain, weighted = calibrated_risk(file), calibrated_risk(file, weights=weights)
    assert weighted.correct == pytest.approx(plain.correct)
    assert weighted.tau1 == plain.tau1
    for one, other in ((plain.tau2, weighted.tau2), (file_dis(file), file_dis(file, weights=weights))):
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))


def test_units_sampled_whole_are_not_taken_for_company():
    everyone = SES.key_columns("7 keys")
    units = np.unique(SES.records()["IDunit"].to_numpy(), return_inverse=True)[1]
    chosen = np.flatnonzero(np.isin(units, np.random.default_rng(4).choice(units.max() + 1, 90, replace=False)))
    file = sampled(everyone, chosen)
    told = replace(file, units=units[chosen])
    F = people(file)
    true, silent, said = (1 / F).sum(), calibrated_risk(file).tau2.value, calibrated_risk(told).tau2.value
    assert silent < 0.9 * true
    assert abs(said - true) < 0.5 * abs(silent - true)
    assert file_dis(file).high < len(F) / F.sum() < file_dis(told).high


def test_units_of_a_cell_and_records_alone_of_theirs():
    columns = {"a": ["x", "x", "x", "y", "y", "z"], "b": ["1"] * 6}
    file = replace(KeyFile.from_columns(columns, 0.1), units=np.array([7, 7, 8, 9, 9, 9]))
    assert file.units_of_cells.tolist() == [2, 1, 1]
    assert file.lone.tolist() == [1, 0, 1]


@given(st.floats(0.01, 3.0), st.floats(1.0, 30.0), st.floats(0.1, 99.0))
def test_the_greatest_means_are_those_of_a_linear_programme(m1, ratio, c):
    m2 = ratio * m1 * m1
    found = [float(v[0]) for v in greatest_means(np.array([m1]), np.array([m2]), c)]
    nu = np.unique(np.concatenate([np.linspace(0, 3 * m2 / m1, 400), [m2 / m1]]))
    moments = np.stack([np.ones_like(nu), nu, nu * nu])
    x = np.maximum(c * nu, 1e-12)
    for value, h in zip(found, (np.exp(-x), -np.expm1(-x) / x), strict=True):
        best = linprog(-h, A_eq=moments, b_eq=[1.0, m1, m2], bounds=(0, None))
        assert value == pytest.approx(-best.fun, rel=1e-5, abs=1e-7)


def test_where_two_crowds_look_alike_the_largest_tau_holds_and_the_interval_does_not():
    sizes = np.concatenate([np.ones(5_000, dtype=int), np.full(2_000, 20)])
    keys = np.random.default_rng(2).integers(0, 40, (len(sizes), 3))
    keys, first = np.unique(keys, axis=0, return_index=True)
    everyone = pl.DataFrame(keys[np.repeat(np.arange(len(keys)), sizes[first])], schema=["a", "b", "c"])
    chosen = np.random.default_rng(3).choice(len(everyone), round(0.05 * len(everyone)), replace=False)
    file = sampled(everyone, chosen)
    risk = calibrated_risk(file)
    true = (1.0 / people(file)).sum()
    assert risk.tau2.high < 0.7 * true
    assert risk.largest.tau2 > 0.9 * true
    assert "calibration_rests_on_its_law" in {w.code for w in risk.warnings(file_dis(file))}


@pytest.mark.parametrize("n_keys", [1, 2])
def test_few_keys_do_not_give_the_own_count_away(n_keys):
    rng = np.random.default_rng(8)
    postcode = rng.choice(3_000, 60_000, p=rng.dirichlet(np.full(3_000, 0.5)))
    everyone = pl.DataFrame({"postcode": postcode, "sex": rng.integers(0, 2, 60_000)})
    file = sampled(everyone[:, :n_keys], rng.choice(60_000, 3_000, replace=False))
    risk = calibrated_risk(file)
    true = (1.0 / people(file)).sum()
    assert risk.tau2.low < true < risk.tau2.high
    assert risk.tau2.value == pytest.approx(true, rel=0.4)


def test_unequal_weights_enter_dis_and_the_calibrated_risk():
    everyone = EUSILC_P.key_columns("6 keys")
    rng = np.random.default_rng(6)
    share = np.where(everyone["citizenship"].to_numpy() == "1", 0.03, 0.3)
    chosen = np.flatnonzero(rng.random(len(share)) < share)
    file = sampled(everyone, chosen)
    F = people(file)
    plain, weighted = file_dis(file), file_dis(file, weights=1.0 / share[chosen])
    assert plain.low > len(F) / F.sum()
    assert weighted.low < len(F) / F.sum() < weighted.high
    risk = calibrated_risk(file, weights=1.0 / share[chosen])
    assert risk.tau2.low < (1.0 / F).sum() < risk.tau2.high
    assert not risk.warnings(weighted)


def test_where_everybody_is_in_the_file_every_unique_is_certain():
    everyone = EUSILC_P.key_columns("6 keys")[:3000]
    file = KeyFile.from_columns(everyone.to_dict(), 1.0)
    risk = calibrated_risk(file)
    assert risk.tau1.value == risk.tau2.value == len(file.uniques)
    assert risk.of_records == pytest.approx(1.0 / file.frequency)


@pytest.mark.parametrize(
    ("columns", "missing", "words"),
    [
        ({"a": [str(v) for v in range(40)], "b": ["x", "y"] * 20}, "level", "exactly twice"),
        ({"a": ["1", "2", None, "1"] * 20, "b": ["x", "y"] * 40}, "any", "missing values agree"),
    ],
    ids=["few pairs", "missing values that agree with everything"],
)
def test_files_that_cannot_be_calibrated_are_refused_with_the_reason(columns, missing, words):
    with pytest.raises(GemelError, match=words):
        calibrated_risk(KeyFile.from_columns(columns, 0.1, missing=missing))


def test_weights_below_one_are_refused():
    file = sample_of(EUSILC_P, 0.02, 1)
    with pytest.raises(GemelError, match="at least 1"):
        calibrated_risk(file, weights=np.zeros(file.n_records))
