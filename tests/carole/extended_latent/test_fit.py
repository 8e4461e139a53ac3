"""The extended latent step as a whole, on files drawn from a known model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gemel.carole.extended_latent import ExtendedSettings
from gemel.carole.extended_latent.em import sampled_pairs
from gemel.carole.extended_latent.estimation import completed_by, saturated_counts
from gemel.carole.fellegi_sunter.schemes import fit_scheme
from gemel.carole.fellegi_sunter.settings import Estimation
from gemel.risk.models.incomplete import IncompleteCounts, fit_incomplete
from gemel.risk.models.queries import jensen_shannon
from tests.carole.extended_latent.linked_files import BOUNDS, linked_files, population
from tests.risk.models.definition import to_table


def test_values_identify_matches_that_agreement_alone_does_not():
    """In each of five files; the known model is better than the learnt one on average (by about a tenth)."""
    areas = []
    for seed in range(5):
        linked = linked_files(300, np.random.default_rng(seed), u="all_pairs")
        fits = linked.fit(), linked.fit(known=population())
        extended = (fit.match_probabilities(*linked.rows, linked.gamma) for fit in fits)
        areas.append([linked.area(g) for g in (linked.fitted.match_probabilities(linked.gamma), *extended)])
    plain, learnt, known = np.array(areas).T
    assert (plain < learnt).all()
    assert (plain < known).all()
    assert learnt.mean() < known.mean()


def test_em_is_that_of_every_pair_by_itself():
    """The definition: each pair its own class, m from posterior probabilities, p and u held."""
    linked = linked_files(120, np.random.default_rng(3))
    fit = linked.fit(settings=ExtendedSettings(resolution=2.0**-30, tolerance=1e-10, max_iterations=3000))
    factor, gamma = fit.factors.log(*linked.rows), linked.gamma
    model = linked.fitted.model
    m = model.m.copy()
    for _ in range(3000):
        ratio = np.log(m / model.u)[np.arange(2), gamma].sum(axis=1)
        odds = ratio + factor + np.log(model.p / (1 - model.p))
        g = 1 / (1 + np.exp(-odds))
        for q in range(2):
            counts = np.bincount(gamma[:, q], g, minlength=2) + 0.5
            m[q] = counts / counts.sum()
    assert fit.em.model.converged
    assert np.allclose(fit.scheme.model.m, m, atol=1e-7)
    assert fit.scheme.model.p == model.p
    assert np.allclose(fit.em.unconstrained_matches, g.sum(), rtol=1e-6)


def test_rounding_factors_changes_nothing_worth_having():
    linked = linked_files(200, np.random.default_rng(4))
    coarse = linked.fit()
    fine = linked.fit(settings=ExtendedSettings(resolution=2.0**-30))
    assert len(coarse.classes.count) < len(fine.classes.count)
    assert np.abs(coarse.scheme.model.m - fine.scheme.model.m).max() < 1e-3


def test_kept_pairs_are_those_above_the_floor_with_their_own_factors():
    linked = linked_files(150, np.random.default_rng(6))
    fit = linked.fit()
    weight = fit.match_weights(*linked.rows, linked.gamma)
    kept = fit.keep(linked.pairs, linked.patterns, 3.0)
    assert np.array_equal(kept.row_a, linked.pairs.row_a[weight >= 3])
    assert np.array_equal(kept.row_b, linked.pairs.row_b[weight >= 3])
    by_pattern = fit.scheme.match_weights(linked.patterns.gamma)
    counted = fit.classes.count[fit.classes.weights(by_pattern) >= 3].sum()
    assert counted == pytest.approx(len(kept.row_a), abs=0.02 * len(kept.row_a) + 2)


def test_overfitting_is_reported_round_by_round():
    """The model fits its own pairs better than others, in every round."""
    linked = linked_files(300, np.random.default_rng(11), u="all_pairs")
    fit = linked.fit(settings=ExtendedSettings(rounds=3, precision=1.0))
    assert len(fit.rounds) == 4
    assert all(r.overfit > 0 for r in fit.rounds)
    assert linked.fit().rounds == ()


def test_a_single_sampled_pair_stands_for_others_like_it():
    """Weights are those of all pairs on average, pattern by pattern, and their number is bounded."""
    linked = linked_files(400, np.random.default_rng(12), u="all_pairs")
    by_pattern = linked.fitted.match_probabilities(linked.patterns.gamma)
    everything, some = (
        sampled_pairs(linked.pairs, lambda *at: by_pattern[at[2]], heaviest, 1, lambda done: None)
        for heaviest in (0.0, 0.05)
    )
    assert len(everything.weight) == linked.pairs.n_pairs
    assert len(some.weight) < everything.total / 0.05 + (by_pattern > 0.05) @ linked.patterns.count + 100
    assert everything.total == pytest.approx(by_pattern @ linked.patterns.count)
    # A sum of independent draws of .05 each has a variance of at most .05 times its mean.
    assert some.total == pytest.approx(everything.total, abs=4 * np.sqrt(0.05 * everything.total))


def test_the_joint_distribution_is_recovered_as_files_grow():
    """Where dates distinguish people its divergence from the truth falls by a third and more each time."""
    found = []
    for n in (150, 450, 1350):
        linked = linked_files(n, np.random.default_rng([18, n]), error=0.05, dates=20_000)
        found.append(jensen_shannon(linked.fit().joint, population()).bits)
    assert found[0] > 1.5 * found[1] > 2.25 * found[2], found


def test_training_records_are_complete_counts():
    linked = linked_files(200, np.random.default_rng(13), u="all_pairs")
    training = np.random.default_rng(1).permutation(linked.people)[:100]
    fit = linked.fit(training=training)
    plain = linked.fit()
    assert fit.value_fit.training == 100
    assert fit.value_fit.records == pytest.approx(plain.value_fit.records + 100)


def test_a_free_prevalence_moves_and_stops_at_what_one_to_one_allows():
    linked = linked_files(200, np.random.default_rng(15), u="all_pairs")
    held = linked.fit()
    free = linked.fit(settings=ExtendedSettings(p="free"))
    assert held.scheme.model.p == linked.fitted.model.p
    assert free.scheme.model.p != linked.fitted.model.p
    assert free.scheme.model.p <= 1 / linked.values.n_a


def test_a_weighted_scheme_keeps_its_weights():
    linked = linked_files(200, np.random.default_rng(16))
    weighted = fit_scheme(
        "log_lr_weighted", linked.patterns, ("town", "name"), BOUNDS, linked.values.n_a, linked.values.n_b,
        Estimation(refuse_unidentified=False),
    )  # fmt: skip
    fit = replace(linked, fitted=weighted).fit()
    gamma = linked.patterns.gamma
    assert np.array_equal(fit.scheme.match_weights(gamma), weighted.match_weights(gamma))


# Complete counts: the compiled EM is that of the models library, and both fill in what they must.


def incomplete(seed: int) -> IncompleteCounts:
    rng = np.random.default_rng(seed)
    levels = tuple(int(n) for n in rng.integers(2, 4, 3))
    records = np.column_stack([rng.integers(0, n, 40) for n in levels])
    lacking = rng.random(records.shape) < 0.25
    lacking[0] = False
    records[lacking] = -1
    return IncompleteCounts.from_records(records, levels, weights=rng.random(40) + 0.01)


@given(st.integers(0, 2**32 - 1))
@hypothesis_settings(max_examples=15)
def test_the_compiled_em_is_fuchs_step_for_step(seed):
    data = incomplete(seed)
    counts, converged = saturated_counts(data, 1e-9, 30)
    expected = fit_incomplete(data, tolerance=1e-9, max_iterations=30)
    table = expected.model.cliques[0].table() * data.total
    assert converged == expected.converged
    assert np.allclose(to_table(counts), table, atol=1e-9)
    assert counts.total == pytest.approx(data.total)


def test_completion_by_a_model_keeps_every_weight_and_its_conditionals():
    data = incomplete(3)
    model = fit_incomplete(data, tolerance=1e-12).model
    counts = completed_by(model, data)
    assert counts.total == pytest.approx(data.total)
    # At the maximum the completions' shares are the model itself.
    assert np.allclose(to_table(counts) / data.total, model.cliques[0].table(), atol=1e-6)
