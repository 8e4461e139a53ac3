"""Log-linear risk: the oracle, closed forms, full tables, Poisson sums, truth by simulation, model choice."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import xlogy
from scipy.stats import poisson

from benchmarks._public_populations import ADULT, EUSILC_P, PublicPopulation
from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.identification.assessment.file_assessment import assess
from gemel.risk.identification.file_level import dis
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.criterion import h1, h2, minimum_error, second_moment
from gemel.risk.identification.loglinear.fitting import fit_margins, support
from gemel.risk.identification.loglinear.model_choice import agrees, choose_model, disagreement, distance
from gemel.risk.identification.loglinear.risk import log_linear_risk
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.graphs import Graph
from gemel.risk.report.identification import render
from tests.risk.identification.small_files import sampled_file
from tests.risk.models.definition import to_table


@pytest.mark.parametrize(("terms", "entry"), [("independence", "loglin_indep"), ("two-way", "loglin_2way")])
def test_the_oracle(eusilc, terms, entry):
    file, oracle = eusilc
    found, expected = log_linear_risk(file, terms), oracle[entry]
    assert found.converged
    observed, means = found.fit.observed, found.fit.means
    deviance = 2.0 * xlogy(observed, observed / means).sum()
    assert (found.tau1, found.tau2, deviance) == pytest.approx(
        tuple(expected[name] for name in ("tau1", "tau2", "lrt")), rel=1e-4
    )
    assert pytest.approx((expected["B1"], expected["B2"]), rel=1e-3) == (found.B1, found.B2)


def test_the_minimum_error_criterion_prefers_two_way_and_it_is_nearer_the_truth(eusilc):
    file, oracle = eusilc
    own = file.sizes == 1
    F = file.population_sizes[own]
    assert (F == 1).sum() == oracle["true_tau1"]
    assert (1 / F).sum() == pytest.approx(oracle["true_tau2"])
    choice = choose_model(file, "B1", max_models=2)
    plain, pairs = choice.models
    assert choice.best is pairs
    assert abs(pairs.tau1 - oracle["true_tau1"]) < abs(plain.tau1 - oracle["true_tau1"])
    assert abs(pairs.tau2 - oracle["true_tau2"]) < abs(plain.tau2 - oracle["true_tau2"])


@st.composite
def sparse_tables(draw):
    levels = draw(st.lists(st.integers(2, 4), min_size=2, max_size=4))
    rows = draw(st.lists(st.tuples(*[st.integers(0, n - 1) for n in levels]), min_size=1, max_size=25))
    return SparseCounts.from_records(np.array(rows), levels)


def some_generators(table, draw):
    every = [g for size in (1, 2, 3) for g in combinations(range(len(table.levels)), size)]
    chosen = draw(st.lists(st.sampled_from(every), max_size=4))
    return [*chosen, *[(v,) for v in range(len(table.levels))]]


@given(sparse_tables(), st.data())
def test_the_support_is_the_cells_without_an_empty_margin(table, data):
    generators = some_generators(table, data.draw)
    dense = to_table(table)
    expected = [
        cell
        for cell in product(*[range(n) for n in table.levels])
        if all(
            dense.sum(axis=tuple(v for v in range(dense.ndim) if v not in g))[tuple(cell[v] for v in sorted(g))] > 0
            for g in generators
        )
    ]
    assert [tuple(c) for c in support(table, generators).tolist()] == expected
    with pytest.raises(GemelError, match="too many cells") as caught:
        support(table, generators, 0)
    assert caught.value.code == ErrorCode.MEMORY


@given(sparse_tables(), st.data())
def test_fitted_margins_are_the_observed_ones(table, data):
    generators = some_generators(table, data.draw)
    fit = fit_margins(table, generators, tolerance=0.01)
    assert fit.converged
    assert fit.observed.sum() == table.total
    for g in generators:
        own, fitted = {}, {}
        for cell, f, mu in zip(fit.cells.tolist(), fit.observed, fit.means, strict=True):
            key = tuple(cell[v] for v in g)
            own[key] = own.get(key, 0) + f
            fitted[key] = fitted.get(key, 0) + mu
        assert all(abs(own[k] - fitted[k]) < 0.02 for k in own)


@given(sparse_tables())
def test_decomposable_models_have_their_closed_form(table):
    """A chain of pairs: product of the pairs' margins over the separators'."""
    pairs = [(v, v + 1) for v in range(len(table.levels) - 1)]
    dense = to_table(table)
    fit = fit_margins(table, pairs, tolerance=1e-9)

    def margin(*kept):
        return dense.sum(axis=tuple(v for v in range(dense.ndim) if v not in kept))

    for cell, mean in zip(fit.cells.tolist(), fit.means, strict=True):
        top = np.prod([margin(v, w)[cell[v], cell[w]] for v, w in pairs])
        bottom = np.prod([margin(v)[cell[v]] for v in range(1, dense.ndim - 1)])
        assert mean == pytest.approx(top / bottom, rel=1e-6)


def test_a_fit_that_has_not_converged_says_so(eusilc):
    table = eusilc[0].table()
    found = fit_margins(table, list(combinations(range(len(table.levels)), 2)), tolerance=1e-9, max_rounds=5)
    assert not found.converged
    assert found.deviation > 1e-9
    assert found.rounds >= 5


@given(st.floats(0, 60))
def test_the_risks_of_a_record_are_poisson_expectations(L):
    k = np.arange(600)
    mass = poisson.pmf(k, L)
    found = [h(np.array([L]))[0] for h in (h1, h2, second_moment)]
    assert found[0] == pytest.approx(mass[0])
    assert found[1] == pytest.approx((mass / (1 + k)).sum(), rel=1e-9)
    assert found[2] == pytest.approx((mass / (1 + k) ** 2).sum(), rel=1e-6)


def test_the_criterion_is_its_definition_with_numerical_derivatives():
    rng = np.random.default_rng(5)
    mu = np.concatenate([rng.gamma(0.5, 1.0, 50), [1e-9, 1e-6, 1e-4, 1e-3]])
    f = rng.poisson(mu).astype(float)
    pi = 0.3
    c = (1 - pi) / pi
    for h, found in zip((h1, h2), minimum_error(mu, f, pi), strict=True):
        L, d = c * mu + 1e-2, 1e-2  # off 0, where central differences need both sides
        shifted = minimum_error(L / c, f, pi)[0 if h is h1 else 1]
        first = (h(L + d) - h(L - d)) / (2 * d)
        second = (h(L + d) - 2 * h(L) + h(L - d)) / d**2
        m = L / c
        plain = (m * np.exp(-m) * (-first * c * (f - m) + second * c**2 * ((f - m) ** 2 - f) / 2)).sum()
        assert shifted == pytest.approx(plain, rel=1e-3)
        assert np.isfinite(found)


def test_equal_weights_are_a_sampling_fraction():
    rng = np.random.default_rng(2)
    columns = {f"v{q}": rng.integers(0, n, 300) for q, n in enumerate((3, 4, 5))}
    file = KeyFile.from_columns(columns, 0.1)
    plain = log_linear_risk(file, "two-way")
    weighted = log_linear_risk(file, "two-way", weights=np.full(300, 10.0))
    assert weighted.tau1 == pytest.approx(plain.tau1, rel=1e-4)
    assert weighted.tau2 == pytest.approx(plain.tau2, rel=1e-4)
    assert np.isnan(weighted.B1)
    with pytest.raises(GemelError, match="survey weight"):
        log_linear_risk(file, weights=np.full(300, 0.5))


def test_tau_is_right_on_average_where_the_model_is():
    """Independent keys, 60 samples: mean error within 4 standard errors (false alarm in one run of 16,000)."""
    rng = np.random.default_rng(11)
    shares = [rng.dirichlet(np.ones(n)) for n in (5, 6, 8)]
    population = np.column_stack([rng.choice(len(s), 8_000, p=s) for s in shares])
    errors = []
    for _ in range(60):
        chosen = rng.random(len(population)) < 0.05
        file = KeyFile.from_columns(
            {str(q): population[chosen, q] for q in range(3)},
            0.05,
            population={str(q): population[:, q] for q in range(3)},
        )
        F = file.population_sizes[file.sizes == 1]
        found = log_linear_risk(file, "independence")
        errors.append([found.tau1 - (F == 1).sum(), found.tau2 - (1 / F).sum()])
    mean, spread = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1) / np.sqrt(60)
    assert (np.abs(mean) < 4 * spread + 0.02).all(), (mean, spread)


def test_the_path_adds_the_strongest_interactions_first():
    rng = np.random.default_rng(4)
    a = rng.integers(0, 3, 2_000)
    b = np.where(rng.random(2_000) < 0.9, a, rng.integers(0, 3, 2_000))
    file = KeyFile.from_columns({"a": a, "b": b, "c": rng.integers(0, 3, 2_000)}, 0.1)
    choice = choose_model(file, "B2")
    assert [m.model for m in choice.models][:2] == ["independence", "a x b"]
    assert len(choice.models) == 4
    assert abs(choice.best.B2) == min(abs(m.B2) for m in choice.models)


def test_terms_may_be_chosen():
    rng = np.random.default_rng(4)
    file = KeyFile.from_columns({n: rng.integers(0, 3, 500) for n in "abcd"}, 0.1)
    found = log_linear_risk(file, [("a", "b", "c"), ("c", "b"), ("d",)])
    assert found.model == "a x b x c"
    assert found.terms == (("a", "b", "c"), ("d",))
    assert (found.expected_population >= 1).all()
    assert (found.correct >= found.population_unique).all()


def test_bad_input():
    overlapping = KeyFile.from_columns({"a": [1, 2, None], "b": [1, 1, 2]}, 0.1, missing="any")
    fine = KeyFile.from_columns({"a": [1, 2, 2], "b": [1, 1, 1]}, 0.1)
    for words, make in (
        ("missing values agree with all", lambda: log_linear_risk(overlapping)),
        ("no varying key variable b", lambda: log_linear_risk(fine, [("a", "b")])),
        ("list of terms", lambda: log_linear_risk(fine, "saturated")),
        ("`B1` or `B2`", lambda: choose_model(fine, "B3")),
    ):
        with pytest.raises(GemelError, match=words):
            make()


def test_a_file_without_uniques_has_no_risk():
    found = log_linear_risk(KeyFile.from_columns({"a": [1, 1, 2, 2]}, 0.1))
    assert (found.tau1, found.tau2) == (0, 0)
    whole = log_linear_risk(KeyFile.from_columns({"a": [1, 2, 3, 3]}, 1.0))
    assert (whole.tau1, whole.tau2) == (2, 2)


# The path beyond two-way terms: three-way dependence is found, overfitting is not, DIS is heard, truth is held.


def three_way(n: int, seed: int) -> dict[str, np.ndarray]:
    """c is a + b but for noise, any two of the three being independent; d is noise of many levels."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 8, n), rng.integers(0, 8, n)
    c = np.where(rng.random(n) < 0.97, (a + b) % 8, rng.integers(0, 8, n))
    return {"a": a, "b": b, "c": c, "d": np.minimum(rng.geometric(0.06, n), 40)}


@pytest.fixture(scope="module")
def dependent():
    whole = three_way(20_000, 1)
    chosen = np.random.default_rng(2).random(20_000) < 0.05
    return KeyFile.from_columns({k: v[chosen] for k, v in whole.items()}, 0.05, population=whole)


def test_a_three_way_term_is_found_where_the_dependence_is_one(dependent):
    plain, rich = choose_model(dependent, max_models=2), choose_model(dependent, max_models=2, higher_order=True)
    assert not agrees(plain.dis, plain.best.cm_given_um)
    assert ("a", "b", "c") in rich.best.terms
    assert agrees(rich.dis, rich.best.cm_given_um)
    true = float((1 / dependent.population_sizes[dependent.sizes == 1]).sum())
    assert abs(rich.best.tau2 - true) < abs(plain.best.tau2 - true) / 2
    low, high = rich.interval(2)
    assert low < true < high


def test_a_small_criterion_of_a_model_that_overfits_is_not_preferred():
    file = sampled_file(400, 4_000, 3)
    saturated = [tuple(file.names)]
    overfitted = log_linear_risk(file, saturated)
    found = choose_model(file, higher_order=True)
    assert found.best.terms != overfitted.terms
    assert agrees(found.dis, overfitted.cm_given_um)  # it expects a fraction of everyone to be right, whatever the file
    assert overfitted.tau2 < found.best.tau2
    assert any(m.terms == overfitted.terms for m in found.models)


def test_each_model_is_tried_once_and_searched_ones_too():
    file = sampled_file(400, 4_000, 3)
    names = file.table().names
    searched = Graph.from_edges(names, [(names[0], names[3]), (names[1], names[2])])
    found = choose_model(file, higher_order=True, searched=[searched, searched])
    assert len({m.terms for m in found.models}) == len(found.models)
    assert found.origins[0] == "two-way path"
    assert found.origins.count("search") == 1
    assert found.left_out == 0


def test_two_way_models_with_too_many_cells_are_left_out_or_refused():
    file = KeyFile.from_columns(three_way(1_000, 4), 0.1)
    with pytest.raises(GemelError, match="too many cells") as caught:
        choose_model(file, limit=100)
    assert caught.value.code == ErrorCode.MEMORY
    found = choose_model(file, limit=100, higher_order=True)
    assert found.left_out == 7 - sum(origin == "two-way path" for origin in found.origins)
    assert found.best.converged
    assert all(m.graph is not None for m in found.models)


def test_agreement_with_dis():
    file_dis = dis(500, 80, 20, 0.1)
    assert agrees(file_dis, file_dis.value)
    assert agrees(file_dis, file_dis.low)
    assert not agrees(file_dis, 0.5 * file_dis.low)
    assert distance(file_dis, 2 * file_dis.high) == pytest.approx(np.log(2))
    assert distance(file_dis, 0.0) == np.inf
    assert disagreement(file_dis, file_dis.value, "a model") is None
    warning = disagreement(file_dis, 0.9, "a model")
    assert warning.severity == "serious"
    assert "chance 0.9" in warning.text
    assert "too high" in warning.text
    assert agrees(dis(0, 3, 1, 0.1), 0.3)  # no sample unique: nothing to contradict


def test_a_contradicted_model_does_not_lead(dependent, monkeypatch):
    """Where no log-linear model is tried that could agree, tau goes to the end, marked, and not to the page's head."""
    monkeypatch.setattr("gemel.risk.identification.loglinear.model_choice.decomposable_path", lambda _: [])
    monkeypatch.setattr("gemel.risk.identification.assessment.file_assessment.heaviest_graphs", lambda _: [])
    found = assess(dependent)
    by_name = {m["name"]: m for m in found["measures"]}
    assert not by_name["tau2"]["relied_on"]
    assert by_name["DIS"]["relied_on"]
    relied = [m["relied_on"] for m in found["measures"]]
    assert relied == sorted(relied, reverse=True)
    assert found["warnings"][0]["code"] == "model_contradicts_dis"
    page = render(found)
    assert "<strong>Not to be relied on: log-linear" in page
    assert page.index("Not to be relied on: by a model") < page.index("<td>tau2</td>")


@pytest.mark.parametrize(
    ("population", "keys", "fraction"), [(ADULT, "8 keys", 0.1), (ADULT, "6 keys", 0.05), (EUSILC_P, "6 keys", 0.05)]
)
def test_intervals_of_tau_hold_the_truth_of_public_populations(population: PublicPopulation, keys, fraction):
    """One sample each, with a fixed seed: an interval may miss elsewhere."""
    whole = population.key_columns(keys)
    chosen = np.random.default_rng(1).permutation(len(whole))[: round(fraction * len(whole))]
    file = KeyFile.from_columns(whole[np.sort(chosen)].to_dict(), fraction, population=whole.to_dict())
    found = choose_model(file, max_models=2, limit=2**12, higher_order=True)
    F = file.population_sizes[file.sizes == 1]
    for r, true in ((1, (F == 1).sum()), (2, (1 / F).sum())):
        low, high = found.interval(r)
        assert low < true < high
    assert abs(found.best.tau2 / (1 / F).sum() - 1) < 0.25
