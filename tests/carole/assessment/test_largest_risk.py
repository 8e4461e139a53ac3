"""The interval of the greatest 1/F behind a true link: its laws beside plain draws, and its coverage of known people.

Seeds are fixed. A binomial count of misses with chance .05 exceeds 25 of 300 with probability .004, 6 of 40 with .003.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from gemel.carole.assessment.cell_risk import Cells, by_frequency, by_model, ends, rates
from gemel.risk.identification.matching.bayesian_matching import expected_reciprocal
from gemel.risk.identification.population_spectrum import Pitman, Spectrum, fit_pitman


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
