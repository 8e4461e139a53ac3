"""E[1/(f + K)]: the closed form against the series, and its limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from gemel.common.errors import GemelError
from gemel.risk.identification.file_level import dis
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.matching.bayesian_matching import (
    METHODS,
    FittedModels,
    bayesian_matching,
    expected_reciprocal,
    fit_models,
)
from gemel.risk.identification.matching.model_attacks import attack_on, best_cells, cost_matched
from gemel.risk.models.enumeration import enumerate_models
from gemel.risk.models.fitted import fit
from gemel.risk.models.graphs import complete_graph, empty_graph
from gemel.risk.models.precision_search import GammaPrior, enumerate_with_precision
from gemel.risk.models.queries import ModelAverage
from gemel.risk.models.scores import HyperDirichlet
from tests.risk.identification.small_files import sampled_file


def by_terms(f: int, rate: float) -> float:
    """E[1/(f + K)] of a Poisson count K, term by term until the rest is below 1e-16."""
    k = np.arange(int(poisson.isf(1e-16, rate)) + 3)
    return float((poisson.pmf(k, rate) / (f + k)).sum())


@given(f=st.integers(1, 400), rate=st.floats(0, 2000))
def test_closed_form_is_the_series(f, rate):
    assert float(expected_reciprocal(f, rate)) == pytest.approx(by_terms(f, rate), rel=1e-10)


@pytest.mark.parametrize("rate", [0.0, 1e-300, 0.5, 9.9, 10.1, 1e5])
def test_closed_form_at_its_seams(rate):
    for f in (1, 2, 10, 5_000):
        assert float(expected_reciprocal(f, rate)) == pytest.approx(by_terms(f, rate), rel=1e-10)


@pytest.mark.parametrize(("f", "rate"), [(0, 1.0), (1, -1.0), (1, float("nan")), (1, float("inf"))])
def test_counts_and_rates_that_cannot_be_are_refused(f, rate):
    with pytest.raises(GemelError):
        expected_reciprocal(f, rate)


# Pr(cm) by fitted models: against definitions, and against the measures that it must coincide with.

FILE = sampled_file(250, 4_000, 5)
MATCHING = bayesian_matching(FILE, fit_models(FILE))


def single(file: KeyFile, graph) -> FittedModels:
    counts = file.table()
    found = enumerate_models(HyperDirichlet(counts))
    return FittedModels(ModelAverage([fit(counts, graph)], [1.0]), found)


def test_average_over_every_model_by_the_definition():
    models = fit_models(FILE, "exact", share=1.0, at_most=1000)
    assert len(models.average.models) > 5  # the others weigh less than rounding
    found = bayesian_matching(FILE, models)
    expected = np.zeros(len(FILE.cells))
    outside = np.zeros(len(FILE.cells))
    for model, weight in zip(models.average.models, models.average.weights, strict=True):
        joint = model.marginal(FILE.names)
        for j, cell in enumerate(FILE.cells):
            rate = FILE.n_records / FILE.fraction * (1 - FILE.fraction) * joint[tuple(cell)]
            expected[j] += weight * by_terms(int(FILE.counts[j]), rate)
            outside[j] += weight * rate
    np.testing.assert_allclose(found.correct_match, expected, rtol=1e-9)
    np.testing.assert_allclose(found.expected_count, FILE.counts + outside, rtol=1e-9)
    np.testing.assert_allclose(found.of_records, expected[FILE.of_record])


def test_the_default_is_exact_to_six_variables_and_the_others_agree_with_it():
    exact = MATCHING
    assert exact.models.search.method.startswith("exact")
    for method in METHODS:
        settings = {"moves": 20_000} if method in ("mc3", "annealing") else {}
        found = bayesian_matching(FILE, fit_models(FILE, method, np.random.default_rng(3), **settings))
        assert np.abs(found.correct_match - exact.correct_match).max() < 0.06, method


def test_the_independence_model_is_the_log_linear_one():
    """tau1 and tau2 of the independence model, from margins alone."""
    found = bayesian_matching(FILE, single(FILE, empty_graph(FILE.names)))
    margins = [np.bincount(FILE.codes[:, q]) / FILE.n_records for q in range(FILE.n_keys)]
    p = np.prod([margin[FILE.cells[:, q]] for q, margin in enumerate(margins)], axis=0)
    rate = FILE.n_records * p / FILE.fraction * (1 - FILE.fraction)
    own = FILE.counts == 1
    assert found.measures.expected_population_uniques == pytest.approx(np.exp(-rate[own]).sum())
    assert found.measures.expected_matches == pytest.approx((-np.expm1(-rate[own]) / rate[own]).sum())


def test_the_saturated_model_knows_the_sample_only():
    """lambda = f (1 - pi)/pi: every sample unique is alike, Pr(CM | UM) = pi."""
    found = bayesian_matching(FILE, single(FILE, complete_graph(FILE.names)))
    np.testing.assert_allclose(found.outside, FILE.counts * (1 - FILE.fraction) / FILE.fraction)
    assert found.measures.cm_given_um == pytest.approx(FILE.fraction)


def test_with_known_probabilities_dis_is_the_model_s_measure():
    """Poisson sampling: sum over SU of lambda_j and 2 (1 - pi)/pi n2 have one expectation, so DIS is the ratio."""
    rng = np.random.default_rng(2)
    mu = rng.gamma(0.3, 0.5, 5_000)
    fraction = 0.07
    n1, n2, n3 = (poisson.pmf(r, mu).sum() for r in (1, 2, 3))
    people = (poisson.pmf(1, mu) * (1 + mu * (1 - fraction) / fraction)).sum()
    assert dis(n1, n2, n3, fraction).value == pytest.approx(n1 / people, rel=1e-12)


def test_a_census_leaves_no_doubt():
    census = KeyFile(FILE.names, FILE.labels, FILE.codes, 1.0)
    found = bayesian_matching(census, fit_models(census))
    np.testing.assert_allclose(found.correct_match, 1 / census.counts)
    np.testing.assert_allclose(found.population_unique, census.counts == 1)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 60))
def test_measures_are_ordered_as_jensen_says(seed, n):
    file = sampled_file(n, 400, seed)
    measures = bayesian_matching(file, fit_models(file)).measures
    assert measures.cm_given_um <= measures.cm_given_su + 1e-12
    assert measures.pu_given_su <= measures.cm_given_su + 1e-12
    assert measures.expected_population_uniques <= measures.expected_matches + 1e-12 <= measures.uniques + 1e-9
    assert 0 < measures.cm <= measures.greatest <= 1


def test_attacks_against_their_definition():
    ten = best_cells(MATCHING)
    assert len(ten.cells) == 10
    rest = np.setdiff1d(np.arange(len(FILE.cells)), ten.cells)
    assert MATCHING.correct_match[ten.cells].min() >= MATCHING.correct_match[rest].max()
    F, f = FILE.population_sizes[ten.cells], FILE.counts[ten.cells]
    assert ten.true.from_sample == pytest.approx((f / F).sum() / f.sum())
    assert ten.true.from_population == pytest.approx(10 / F.sum())
    # No free lunch: all attacks from the sample are equally efficient; from the population by their cells.
    N = FILE.population_total
    for own in (ten.true, ten.claimed):
        assert own.from_sample / own.cost_from_sample == pytest.approx(1 / N)
        assert own.from_population / own.cost_from_population == pytest.approx(10 / N)


def test_cost_matching_takes_the_smallest_combinations_until_the_cost_is_met():
    F = FILE.population_sizes
    own = FILE.counts == 1
    people = float(F[own].sum())
    by_belief, by_truth = cost_matched(MATCHING, people), cost_matched(MATCHING, people, by_true_counts=True)
    for chosen, held in ((by_belief, MATCHING.expected_count), (by_truth, F)):
        taken = held[chosen.cells].sum()
        assert abs(taken - people) <= held.max()
        assert MATCHING.expected_count[chosen.cells].max() <= np.delete(MATCHING.expected_count, chosen.cells).min()
    assert by_truth.true.cost_from_population == pytest.approx(FILE.population_total / F[by_truth.cells].sum())
    nothing = attack_on(MATCHING, np.zeros(0, dtype=np.int64))
    assert nothing.true.from_sample == 0.0
    assert nothing.claimed.cost_from_population == np.inf


def test_what_cannot_be_is_refused():
    for words, wrong in (
        ("one of", lambda: fit_models(FILE, "best")),
        ("people", lambda: cost_matched(MATCHING, 0.0)),
        ("two levels", lambda: fit_models(KeyFile.from_columns({"a": ["x", "x"], "b": ["y", "y"]}, 0.1))),
        (
            "missing",
            lambda: fit_models(KeyFile.from_columns({"a": ["x", "", "y"], "b": list("uvv")}, 0.1, missing="any")),
        ),
    ):
        with pytest.raises(GemelError, match=words):
            wrong()
    blind = KeyFile(FILE.names, FILE.labels, FILE.codes, 0.1)
    unseen = bayesian_matching(blind, fit_models(blind))
    assert best_cells(unseen).true is None
    with pytest.raises(GemelError, match="population is not known"):
        cost_matched(unseen, 100, by_true_counts=True)


def test_a_variable_with_one_level_changes_nothing():
    columns = {name: FILE.codes[:, q] for q, name in enumerate(FILE.names)}
    plain = KeyFile.from_columns(columns, 0.1)
    wider = KeyFile.from_columns(columns | {"country": ["here"] * FILE.n_records}, 0.1)
    one, other = (bayesian_matching(x, fit_models(x)) for x in (plain, wider))
    np.testing.assert_allclose(one.of_records, other.of_records)


def test_models_with_a_prior_on_their_precision():
    """The posterior over models is that of the joint search, and methods that have no such search refuse."""
    rng = np.random.default_rng(4)
    file = KeyFile.from_columns({name: rng.integers(0, n, 300) for name, n in (("a", 3), ("b", 4), ("c", 2))}, 0.1)
    prior = GammaPrior(2.0, 1.0, per_decade=10)
    fitted = fit_models(file, precision=prior, share=1.0)
    exact = enumerate_with_precision(file.table(), prior)
    np.testing.assert_allclose(fitted.search.weights, exact.search.weights)
    assert fitted.precision is not None
    assert fitted.heaviest(1).precision is fitted.precision
    assert 0 < bayesian_matching(file, fitted).correct_match.max() <= 1
    with pytest.raises(GemelError) as raised:
        fit_models(file, "annealing", precision=prior)
    assert raised.value.where == "precision"
