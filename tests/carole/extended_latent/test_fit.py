"""The extended latent step as a whole, on files drawn from a known model."""

from __future__ import annotations

import numpy as np
import pytest

from carole.evaluation import expected_precision_recall
from carole.extended_latent import ExtendedFit, ExtendedSettings, fit_extended
from tests.carole.extended_latent.linked_files import BOUNDS, Linked, linked_files, population


def area(linked: Linked, fit: ExtendedFit | None) -> float:
    gamma = linked.patterns.gamma[linked.pairs.pattern]
    if fit is None:
        probability = linked.fitted.match_probabilities(gamma)
    else:
        probability = fit.match_probabilities(linked.pairs.row_a, linked.pairs.row_b, gamma)
    return expected_precision_recall(probability, linked.truth, int(linked.truth.sum())).auc


def extended(linked: Linked, **options) -> ExtendedFit:
    return fit_extended(linked.values, linked.pairs, linked.patterns, linked.fitted, BOUNDS, **options)


def test_values_tell_matches_that_agreement_alone_does_not():
    """In each of five files; the known model is better than the learnt one on average (by about a tenth)."""
    areas = []
    for seed in range(5):
        linked = linked_files(300, np.random.default_rng(seed), u="all_pairs")
        fits = None, extended(linked), extended(linked, known=population())
        areas.append([area(linked, fit) for fit in fits])
    plain, learnt, known = np.array(areas).T
    assert (plain < learnt).all()
    assert (plain < known).all()
    assert learnt.mean() < known.mean()


def test_em_is_that_of_every_pair_by_itself():
    """The definition: each pair its own class, m from posterior probabilities, p and u held."""
    linked = linked_files(120, np.random.default_rng(3))
    fit = extended(linked, settings=ExtendedSettings(resolution=2.0**-30, tolerance=1e-10, max_iterations=3000))
    factor = fit.log_bayes_factors(linked.pairs.row_a, linked.pairs.row_b)
    gamma = linked.patterns.gamma[linked.pairs.pattern]
    model = linked.fitted.model
    m = model.m.copy()
    for _ in range(3000):
        ratio = np.log(m / model.u)[np.arange(2), gamma].sum(axis=1)
        odds = ratio + factor + np.log(model.p / (1 - model.p))
        g = 1 / (1 + np.exp(-odds))
        for q in range(2):
            counts = np.bincount(gamma[:, q], g, minlength=2) + 0.5
            m[q] = counts / counts.sum()
    assert fit.em.converged
    assert np.allclose(fit.scheme.model.m, m, atol=1e-7)
    assert fit.scheme.model.p == model.p
    assert np.allclose(fit.em.matches.sum(), g.sum(), rtol=1e-6)


def test_rounding_factors_changes_nothing_worth_having():
    linked = linked_files(200, np.random.default_rng(4))
    coarse = extended(linked)
    fine = extended(linked, settings=ExtendedSettings(resolution=2.0**-30))
    assert len(coarse.classes.count) < len(fine.classes.count)
    assert np.abs(coarse.scheme.model.m - fine.scheme.model.m).max() < 1e-3


def test_kept_pairs_are_those_above_the_floor_with_their_own_factors():
    linked = linked_files(150, np.random.default_rng(6))
    fit = extended(linked)
    gamma = linked.patterns.gamma[linked.pairs.pattern]
    weight = fit.match_weights(linked.pairs.row_a, linked.pairs.row_b, gamma)
    kept = fit.keep(linked.pairs, linked.patterns, 3.0)
    assert np.array_equal(kept.row_a, linked.pairs.row_a[weight >= 3])
    assert np.array_equal(kept.row_b, linked.pairs.row_b[weight >= 3])
    counted = fit.classes.count[fit.class_weights(linked.patterns) >= 3].sum()
    assert counted == pytest.approx(len(kept.row_a), abs=0.02 * len(kept.row_a) + 2)
