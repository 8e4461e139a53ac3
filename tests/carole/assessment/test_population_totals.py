"""The calibrated law of links of which some are false, and the average of both laws, beside plain definitions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks._claimed_combined import Errors, sampled
from gemel.carole.assessment.cell_risk import Cells, by_frequency, by_model, ends, rates
from gemel.carole.assessment.expected_matches import Believed, LogTotal, PopulationUniqueEstimators
from gemel.carole.assessment.identification import key_file
from gemel.carole.assessment.true_links import CalibratedLinks, Combinations, Thinned, TrueLinks
from gemel.risk.identification.calibration.records import calibrated_risk
from gemel.risk.identification.matching.bayesian_matching import expected_reciprocal
from gemel.risk.identification.population_spectrum import Pitman, Spectrum, fit_pitman


def test_thinning_is_the_sum_over_all_ways_in_which_links_may_be_true() -> None:
    """Combinations of one, three and six links; of the six, which are not gone through, the mean is taken."""
    of_link = np.array([1, 0, 1, 2, 1, 2, 2, 2, 2, 2])
    chance = np.array([0.9, 0.4, 0.7, 0.5, 0.2, 1.0, 0.5, 1.0, 0.0, 1.0])
    found = Thinned.of(np.array([1, 3, 6]), of_link, chance)
    expected: dict[tuple[int, float], float] = {(0, 1.0): 0.4, (2, 1 + 5 * 4.0 / 6): 4.0}
    for right in product((0, 1), repeat=3):
        weight = float(np.prod([p if r else 1 - p for p, r in zip(chance[of_link == 1], right, strict=True)]))
        k = sum(right)
        if k:
            expected[1, float(k)] = expected.get((1, float(k)), 0.0) + k * weight
    rows = {(int(c), float(k)): float(w) for c, k, w in zip(found.cell, found.true, found.weight, strict=True)}
    assert rows.keys() == expected.keys()
    assert [rows[key] for key in expected] == pytest.approx(list(expected.values()))
    assert found.weight.sum() == pytest.approx(chance.sum())


def test_where_no_link_is_false_the_law_is_the_calibrated_risk_of_the_file() -> None:
    made = sampled("adult, 6 keys", Errors(0.0), np.random.default_rng([40, 0]))
    names = made.combined.with_role("key")
    codes = made.combined.codes[:, made.combined.columns(names)]
    file = key_file(codes, names, 0.05)
    assert file is not None
    expected = calibrated_risk(file)
    combinations, sure = Combinations.of(codes), np.ones(len(codes))
    law = CalibratedLinks.fitted(combinations, sure)
    assert law is not None
    people = len(codes) / 0.05
    assert law.alone(combinations.of_link, sure, people) == pytest.approx(expected.tau1.value, rel=1e-4)
    of_links = law.matched(combinations.of_link, sure, people)
    unique = combinations.counts[combinations.of_link] == 1
    assert of_links[unique].sum() == pytest.approx(expected.tau2.value, rel=1e-4)
    small = combinations.counts[combinations.of_link] <= 4
    assert of_links[small] == pytest.approx(expected.of_records[small], rel=1e-3)


def test_false_links_are_thinned_as_if_they_were_drawn_again_and_again() -> None:
    """The law of the thinned combinations beside the mean of laws of drawn true links, within the draws' own error."""
    made = sampled("adult, 8 keys", Errors(0.1), np.random.default_rng([40, 1]))
    assert made.spec.assessment is not None
    case = Believed.of(made.combined, made.spec.assessment.fractions.of("combined"), None).cases()[0]
    (people, *_), law = case.populations, case.laws.calibrated
    assert law is not None
    codes = made.combined.codes[:, made.combined.columns(made.combined.with_role("key"))]
    rng = np.random.default_rng(41)
    drawn = []
    for _ in range(6):
        own = codes[rng.random(len(codes)) < case.links.probability]
        combinations, sure = Combinations.of(own), np.ones(len(own))
        one = CalibratedLinks.fitted(combinations, sure)
        assert one is not None
        matched = one.matched(combinations.of_link, sure, people)
        drawn.append((one.alone(combinations.of_link, sure, people), float(matched.sum())))
    of_links = law.matched(case.links.of_link, case.links.probability, people)
    found = law.alone(case.links.of_link, case.links.probability, people), float(of_links.sum())
    mean, spread = np.mean(drawn, axis=0), np.std(drawn, axis=0) / np.sqrt(len(drawn))
    assert (np.abs(np.array(found) - mean) < 4 * spread + 0.01 * mean).all(), (found, mean, spread)


def test_two_laws_that_agree_are_averaged_and_one_far_off_is_left_out() -> None:
    formula, calibrated = LogTotal(2.0, 0.1, 0.1), LogTotal(2.0 + 0.02, 0.2, 0.2)
    both = formula.averaged(calibrated)  # half the variance, .02, is taken off the calibrated one
    assert both.by_formula == pytest.approx(0.8)
    assert both.value == pytest.approx(2.0)
    assert both.above == pytest.approx(0.8 * 0.1 + 0.2 * 0.2)
    far = LogTotal(12.0, 0.1, 0.1).averaged(calibrated)
    assert far.by_formula < 0.001
    assert far.value == pytest.approx(2.0, abs=0.01)


def test_with_too_few_pairs_the_formula_is_alone() -> None:
    codes = np.stack([np.arange(40), np.zeros(40)], axis=1).astype(np.int32)
    combinations, sure = Combinations.of(codes), np.ones(40)
    links = TrueLinks(np.ones(40, dtype=np.int64), sure, combinations.of_link, 0.5, 0.0)
    laws = PopulationUniqueEstimators.fitted(combinations, links)
    assert laws.calibrated is None
    assert laws.of_links(links, 400.0) is None
    assert laws.total("alone", links, 400.0).by_formula == 1.0


def test_no_one_is_alone_where_all_links_are_alike() -> None:
    codes = np.zeros((50, 2), dtype=np.int32)
    combinations = Combinations.of(codes)
    links = TrueLinks(np.full(50, 50), np.ones(50), combinations.of_link, 0.5, 0.0)
    laws = PopulationUniqueEstimators.fitted(combinations, links)
    assert laws.total("alone", links, 500.0).number == 0.0
    assert laws.total("matched", links, 500.0).number == pytest.approx(50 / 500.0, rel=0.02)


# The interval of the greatest 1/F behind a true link: its laws beside plain draws, and its coverage of known people.
#
# Seeds are fixed. A binomial count of misses with chance .05 exceeds 25 of 300 with probability .004, 6 of 40 with
# .003.


def cells_of(counts: NDArray[np.int64], outside: NDArray[np.float64]) -> Cells:
    """Combinations with known means of the people outside the file."""
    of_record = np.repeat(np.arange(len(counts)), counts)
    alone = np.where(counts == 1, np.exp(-outside), 0.0)
    return Cells(counts, of_record, expected_reciprocal(np.maximum(counts, 1), outside), alone)


def test_the_rate_is_the_one_behind_the_expected_reciprocal() -> None:
    outside = np.array([1e-6, 0.01, 0.5, 3.0, 40.0, 2_000.0])
    for f in (1, 2, 30):
        found = rates(cells_of(np.full(len(outside), f), outside))
        np.testing.assert_allclose(found, outside, rtol=1e-6)


def test_both_laws_agree_with_plain_draws() -> None:
    rng = np.random.default_rng(3)
    counts = np.array([1, 1, 2, 3, 5])
    outside = np.array([4.0, 2.5, 3.0, 1.0, 0.2])
    made = cells_of(counts, outside)
    probability = rng.uniform(0.3, 1.0, len(made.of_record))
    F = counts + rng.poisson(outside, (40_000, len(counts)))
    true = rng.random((len(F), len(probability))) < probability
    any_true = np.stack([true[:, made.of_record == c].any(axis=1) for c in range(len(counts))], axis=1)
    law = by_model(made, outside, probability)
    for m in (1, 2, 3, 5, 8):
        none = float((~(any_true & (m >= F)).any(axis=1)).mean())
        assert np.exp(law(m)) == pytest.approx(none, abs=0.01), m

    formula, people = Pitman(0.3, 20.0, 100.0), 300.0
    spectrum = Spectrum(np.array([2, 3]), np.array([4.0, 2.0]))
    s = (people - formula.records) / (formula.theta + formula.records)
    of = np.repeat(spectrum.frequency, spectrum.number.astype(int))
    grown = of + rng.negative_binomial(of - formula.alpha, 1 / (1 + s), (40_000, len(of)))
    other = by_frequency(spectrum, formula, people)
    for m in (1, 2, 4, 7):
        assert np.exp(other(m)) == pytest.approx(float((grown > m).all(axis=1).mean()), abs=0.01), m


def test_by_the_model_the_interval_holds_whoever_is_found_most_easily() -> None:
    """Populations of known means, half of each person's chance to be in the file; one link of twenty is false."""
    misses, truths, widths = 0, [], []
    for r in range(300):
        rng = np.random.default_rng([5, r])
        means = rng.gamma(8.0, 2.0, 40)
        people = rng.poisson(means)
        counts = rng.binomial(people, 0.5)
        made = cells_of(counts, means / 2)
        right = rng.random(len(made.of_record)) < 0.95
        truth = float((right / people[made.of_record]).max())
        low, high = ends(by_model(made, means / 2, np.full(len(right), 0.95)), int(people.sum()))
        misses += not low <= truth <= high
        truths.append(truth)
        widths.append(high - low)
    assert misses <= 25
    assert np.std(truths) > 0.05
    assert np.mean(widths) < 0.7


def test_by_the_frequencies_alone_the_interval_holds_it_too() -> None:
    """Populations that grow by Pitman's rule, of which the first half is the file."""
    misses, truths = 0, []
    for r in range(40):
        who = grown(-2.0, 40.0, 800, np.random.default_rng([6, r]))
        counts, people = np.bincount(who[:400], minlength=who.max() + 1), np.bincount(who)
        spectrum = Spectrum.of(counts)
        low, high = ends(by_frequency(spectrum, fit_pitman(spectrum).best, 800.0), 800)
        truth = float(1 / people[counts > 0].min())
        misses += not low <= truth <= high
        truths.append(truth)
    assert misses <= 6
    assert len(set(truths)) > 2


def grown(alpha: float, theta: float, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Combinations of people who come one after the other; with alpha negative there are -theta/alpha of them."""
    sizes: list[float] = []
    who = []
    for n in range(number):
        new = theta + alpha * len(sizes)
        weights = np.array([*(size - alpha for size in sizes), max(new, 0.0)])
        chosen = int(rng.choice(len(weights), p=weights / (theta + n)))
        if chosen == len(sizes):
            sizes.append(0.0)
        sizes[chosen] += 1
        who.append(chosen)
    return np.array(who)
