"""The extended step beside the rest of the engine: similarity levels, one-to-one, annealing."""

from __future__ import annotations

import numpy as np
import pytest

from gemel.carole.extended_latent import ArrayPairs, ExtendedSettings, WeightedPairs, fit_extended
from gemel.carole.fellegi_sunter.schemes import fit_scheme
from tests.carole.extended_latent.linked_files import BOUNDS, linked_files
from tests.carole.fellegi_sunter.populations import counted_vectors, link_probabilities


@pytest.fixture(scope="module")
def linked():
    return linked_files(300, np.random.default_rng(31), dates=400)


def test_similarity_levels_and_values_add_up(linked):
    """The date in three levels: a near miss is half an agreement; m of all levels is estimated beside the values."""
    rng = np.random.default_rng(1)
    gamma = linked.gamma
    gamma[:, 2] = np.where(gamma[:, 2] == 1, 2, rng.random(len(gamma)) < 0.05)
    missed = linked.truth & (rng.random(len(gamma)) < 0.2)
    gamma[missed, 2] = 1
    patterns, pattern = counted_vectors(gamma)
    bounds = (*BOUNDS, (0.5, 0.9, 1.0))
    fitted = fit_scheme("multinomial", patterns, ("town", "name", "date"), bounds, linked.values.n_a, linked.values.n_b)
    pairs = ArrayPairs(*linked.rows, pattern.astype(np.int32))
    fit = fit_extended(linked.values, pairs, patterns, fitted, bounds)
    assert fit.em.model.converged
    assert fit.scheme.model.m[2] == pytest.approx([0, 0.2, 0.8], abs=0.1)
    weight = fit.match_weights(*linked.rows, gamma)
    factor = fit.factors.log(*linked.rows) / np.log(2)
    assert np.allclose(weight, fit.scheme.match_weights(gamma) + factor)
    assert linked.area(weight) > linked.area(fitted.match_weights(gamma))


def test_one_to_one_takes_extended_weights_and_gives_the_weights_for_estimation(linked):
    fit = linked.fit()
    kept = fit.keep(linked.pairs, linked.patterns, -fit.log_prior_odds / np.log(2) - 12)
    weight = fit.match_weights(kept.row_a, kept.row_b, linked.patterns.gamma[kept.pattern])
    n_a, n_b = linked.values.n_a, linked.values.n_b
    links = link_probabilities(kept.row_a, kept.row_b, weight, n_a, n_b)
    assert np.bincount(kept.row_a, links.probability, minlength=n_a).max() <= 1 + 1e-6
    learn_from = WeightedPairs(kept.row_a, kept.row_b, links.probability)
    again = linked.fit(learn_from=learn_from)
    assert again.value_fit.records == pytest.approx(links.expected_links, rel=1e-6)
    extended = again.match_weights(*linked.rows, linked.gamma)
    assert linked.area(extended) > linked.area(linked.fitted.match_weights(linked.gamma))


@pytest.mark.parametrize("moves", [1_000, pytest.param(20_000, marks=pytest.mark.long)])
def test_annealing_finds_a_graph_at_least_as_good(linked, moves):
    scores = {}
    for search in ("greedy", "annealing"):
        fit = linked.fit(settings=ExtendedSettings(search=search, moves=moves))
        scores[search] = fit.value_fit.search.log_scores[0]
    assert scores["annealing"] >= scores["greedy"] - 1e-9
