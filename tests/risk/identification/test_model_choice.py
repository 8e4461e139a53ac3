"""The path beyond two-way terms: three-way dependence is found, overfitting is not, DIS is heard, truth is held."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks._public_populations import ADULT, EUSILC_P, PublicPopulation
from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.identification.assessment.file_assessment import assess
from gemel.risk.identification.file_level import dis
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.model_choice import agrees, choose_model, disagreement, distance
from gemel.risk.identification.loglinear.risk import log_linear_risk
from gemel.risk.models.graphs import Graph
from gemel.risk.report.identification import render
from tests.risk.identification.small_files import sampled_file


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
