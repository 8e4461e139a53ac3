"""Draws of linkages against enumeration under each prior, and draws of m and u against their posterior."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from gemel.carole.fellegi_sunter import linkage_draws
from gemel.carole.fellegi_sunter.kinds.joint_model import JointModel
from gemel.carole.fellegi_sunter.kinds.law import estimated, independent
from gemel.carole.fellegi_sunter.kinds.pair_kinds import STRANGERS, Kinds
from gemel.carole.fellegi_sunter.kinds.relations import Relations
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.linkage_draws import (
    DrawnLinks,
    ModelDraws,
    draw_linkages,
    effective_draws,
)
from gemel.carole.fellegi_sunter.model import shares, within_levels
from gemel.carole.fellegi_sunter.model_warnings import default_m, expected_levels
from gemel.carole.fellegi_sunter.prior import BetaBipartite, BetaPartners
from gemel.carole.fellegi_sunter.schemes import fit_scheme
from gemel.carole.fellegi_sunter.settings import BELIEF_WORTH, Estimation
from gemel.risk.models.result import split_r_hat
from tests.carole.fellegi_sunter.enumeration import enumerated
from tests.carole.fellegi_sunter.populations import counted_vectors

N_DRAWS = 1500


def drawn_shares(monkeypatch, assignment, a, b, weight, n_a, n_b, seed=1):
    """Share of the draws that have each link, the weights given."""
    monkeypatch.setattr(linkage_draws, "MIN_APART", 4)
    links = LinkPosterior(assignment, a, b, n_a, n_b)
    posterior = links.probabilities(weight)
    each = np.arange(len(a))
    drawn = draw_linkages(links, each, posterior, lambda _, rng: weight, len(a), N_DRAWS, np.random.default_rng(seed))
    assert drawn.draw.max() < N_DRAWS
    assert drawn.r_hat < 1.05
    assert not drawn.warnings
    return np.bincount(drawn.pair, minlength=len(a)) / N_DRAWS


def test_one_to_one_draws_have_the_exact_frequencies(monkeypatch):
    """Under Sadinle's prior itself, exact in the number of links: four standard errors of 1,500 draws."""
    rng = np.random.default_rng(2)
    a, b = np.nonzero(np.ones((4, 4)))
    weight = rng.normal(0, 4, 16)
    prior = BetaBipartite(7, 5)
    log_prior = [prior.log_density(n) for n in range(5)]
    exact, _ = enumerated(a, b, weight * math.log(2), log_prior)
    found = drawn_shares(monkeypatch, "one_to_one", a, b, weight, 7, 5)
    np.testing.assert_allclose(found, exact, atol=0.055)


@pytest.mark.parametrize("assignment", ["many_to_one", "one_to_many", "none"])
def test_other_assignments_have_them_too(monkeypatch, assignment):
    rng = np.random.default_rng(3)
    a, b = np.nonzero(np.ones((3, 3)))
    weight = rng.normal(1, 2, 9)
    n_a, n_b = 6, 5
    if assignment == "none":
        record, n_records, n_partners = np.arange(9), n_a * n_b, 1
    else:
        record, n_records, n_partners = (a, n_a, n_b) if assignment == "many_to_one" else (b, n_b, n_a)
    log_prior = [BetaPartners(n_records, n_partners).log_density(n) for n in range(10)]
    exact, _ = enumerated(record, np.arange(9), weight * math.log(2), log_prior)
    found = drawn_shares(monkeypatch, assignment, a, b, weight, n_a, n_b)
    np.testing.assert_allclose(found, exact, atol=0.055)


def test_copies_count_as_one_person():
    """Two equal records of A have one partner: each draw links one of them, where they would have shared it."""
    a, b = np.array([0, 1, 2, 3]), np.array([0, 0, 1, 2])
    weight = np.full(4, 30.0)
    links = LinkPosterior("one_to_one", a, b, 4, 3, (np.array([0, 0, 2, 3]), None))
    posterior = links.probabilities(weight)
    drawn = draw_linkages(links, np.arange(4), posterior, lambda _, rng: weight, 4, 10, np.random.default_rng(1))
    assert drawn.pair.tolist() == [0, 2, 3] * 10


def test_chains_that_do_not_mix_are_reported():
    """Two exchanges of equal probability, with an improbable linkage between them for this few steps."""
    a, b = np.repeat(np.arange(60), 60), np.tile(np.arange(60), 60)
    links = LinkPosterior("one_to_one", a, b, 60, 60)
    weight = np.random.default_rng(4).normal(0, 1, 3600)
    posterior = links.probabilities(weight)
    drifting = iter(np.linspace(0, 40, 10**4))
    drawn = draw_linkages(
        links, np.zeros(3600, dtype=int), posterior, lambda _, rng: np.array([next(drifting)]), 1, 10,
        np.random.default_rng(5),
    )  # fmt: skip
    assert [warning.code for warning in drawn.warnings] == ["draws_not_converged"]


def test_positions_after_another_order_of_the_pairs():
    drawn = DrawnLinks(np.array([0, 0, 1], dtype=np.int32), np.array([0, 2, 1]))
    # The pair that is first now was third, and so on.
    moved = drawn.among(np.array([2, 0, 1]))
    assert moved.pair.tolist() == [0, 1, 2]
    assert moved.draw.tolist() == [0, 0, 1]


LEVELS = ((0.5, 1.0), (0.3, 0.7, 1.0), (0.5, 1.0))


def example():
    """All pairs of two files in which the first two fields of matches depend on each other."""
    rng = np.random.default_rng(6)
    n, common = 120, 80
    gamma = np.column_stack(
        [rng.random((n * n, 1)) < 0.1, rng.choice(3, n * n, p=[0.8, 0.1, 0.1]), rng.random(n * n) < 0.1]
    )
    match = np.arange(common) * (n + 1)
    wrong = rng.random(common) < 0.3
    gamma[match] = np.column_stack([~wrong, np.where(wrong, 0, 2), rng.random(common) < 0.9])
    patterns, member = counted_vectors(gamma)
    links = np.bincount(member[match], minlength=patterns.n_patterns).astype(float)
    return patterns, links, fit_scheme("multinomial", patterns, ["f", "g", "h"], LEVELS, n, n)


def kinds_of(fitted, patterns, links):
    """Pairs that share all three fields, and some that share the last two, a part of which is one person."""
    n_levels = tuple(len(levels) for levels in LEVELS)
    law = estimated(independent(3), patterns.gamma, patterns.count - links, fitted.model.u, n_levels)
    kinds = Kinds((STRANGERS, 7, 6), np.array([14_000.0, 80.0, 20.0]))
    part, doubt = np.array([0.0, 1.0, 0.4]), np.array([0.0, 0.0, 0.1])
    drawn = part + doubt * np.random.default_rng(6).standard_normal((400, 1))
    relations = Relations(part, doubt, np.array([1.0, 0.0, 0.0]), 90.0, drawn)
    return replace(fitted, joint=JointModel(law, fitted.model.m, kinds, relations, fitted.model.p), n_levels=n_levels)


@pytest.mark.parametrize("of_kinds", [False, True])
def test_m_is_drawn_from_its_dirichlet_posterior(of_kinds):
    """Mean and variance of Beta: a field of two levels, with the believed matches as its prior."""
    patterns, links, fitted = example()
    u = fitted.model.u[2]
    if of_kinds:
        fitted = kinds_of(fitted, patterns, links)
        others = patterns.count - links
        u = np.bincount(patterns.gamma[:, 2], others) / others.sum()
    drawing = ModelDraws(fitted, LEVELS, patterns, Estimation(u="all_pairs"))
    rng = np.random.default_rng(7)
    agree = np.flatnonzero((patterns.gamma == [1, 2, 1]).all(axis=1))[0]
    alone = np.flatnonzero((patterns.gamma == [1, 2, 0]).all(axis=1))[0]
    # The weights of two patterns that differ in the last field only differ by that field's log ratios.
    drawn = np.array([drawing.weights(links, rng)[[agree, alone]] for _ in range(1000)])
    odds = np.exp2(drawn[:, 0] - drawn[:, 1]) * u[1] / u[0]
    m = odds / (1 + odds)
    counts = expected_levels(patterns, (), links, 3)[2] + BELIEF_WORTH * default_m(fitted.model.fields, 3)[2]
    total = counts.sum()
    mean = counts[1] / total
    # Where there are kinds, pairs of two people who share the field are among the others, too.
    assert m.mean() == pytest.approx(mean, abs=0.02 if of_kinds else 4 * math.sqrt(mean * (1 - mean) / total / 1000))
    assert m.var() == pytest.approx(mean * (1 - mean) / (total + 1), rel=0.3 if of_kinds else 0.2)


def test_the_part_of_a_kind_that_is_one_person_is_drawn_around_its_mean_by_its_doubt():
    patterns, links, fitted = example()
    joint = kinds_of(fitted, patterns, links).joint
    rng = np.random.default_rng(8)
    drawn = [joint.drawn(np.ones((3, 3)), lambda levels: levels / 3, np.array([True, False, False]), rng)
             for _ in range(2000)]  # fmt: skip
    part = np.array([each.relations.one_person for each in drawn])
    assert (part[:, :2] == [0, 1]).all()
    assert part[:, 2].mean() == pytest.approx(0.4, abs=0.02)
    assert part[:, 2].std() == pytest.approx(0.1, rel=0.1)
    np.testing.assert_array_equal(drawn[0].agreement[0], joint.agreement[0])
    np.testing.assert_allclose(drawn[0].agreement[1:], 1 / 3)


def test_u_is_drawn_near_what_is_left_of_all_pairs():
    patterns, links, fitted = example()
    drawing = ModelDraws(fitted, LEVELS, patterns, Estimation(u="corrected"))
    rng = np.random.default_rng(9)
    disagree = np.flatnonzero((patterns.gamma == [0, 0, 0]).all(axis=1))[0]
    drawn = np.array([drawing.weights(links, rng)[disagree] for _ in range(100)])
    learnt = expected_levels(patterns, (), links, 3)
    valid = within_levels([2, 3, 2])
    m = shares(learnt + BELIEF_WORTH * default_m(fitted.model.fields, 3), valid, 0.0)
    everywhere = expected_levels(patterns, (), patterns.count.astype(float), 3)
    u = shares(everywhere - learnt, valid, 0.0)
    assert drawn.mean() == pytest.approx(np.log2(m[:, 0] / u[:, 0]).sum(), abs=0.2)


# Diagnostics of chains whose convergence is known.


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_an_autoregression_is_worth_as_many_draws_as_theory_gives(correlation):
    noise = np.random.default_rng(1).normal(size=(4, 20_000))
    chains = lfilter([1.0], [1.0, -correlation], noise)
    expected = chains.size * (1 - correlation) / (1 + correlation)
    assert effective_draws(chains) == pytest.approx(expected, rel=0.1)
    assert split_r_hat(chains) == pytest.approx(1, abs=0.01)


def test_chains_that_disagree_or_drift_are_noticed():
    rng = np.random.default_rng(2)
    apart = rng.normal(size=(2, 1000)) + np.array([[0.0], [3.0]])
    # Within each 1, between them 3 ** 2 / 2: R-hat about sqrt(1 + 3), by halves sqrt(1 + 3 * 2 / 3).
    assert split_r_hat(apart) == pytest.approx(math.sqrt(1 + 3), rel=0.1)
    drift = rng.normal(size=(2, 1000)) + np.linspace(0, 6, 1000)
    assert split_r_hat(drift) > 1.5


def test_figures_that_never_change():
    assert split_r_hat(np.ones((2, 10))) == 1
    assert split_r_hat(np.repeat([[1.0], [2.0]], 10, axis=1)) == math.inf
    assert effective_draws(np.ones((2, 10))) == 20
