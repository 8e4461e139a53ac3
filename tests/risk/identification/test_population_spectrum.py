"""Pitman's formula beside its urn, person by person, and its fit beside spectra whose parameters are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import betabinom

from gemel.common.errors import GemelError
from gemel.risk.identification.population_spectrum import Pitman, Spectrum, expected_number, fit_pitman, log_likelihood

PARAMETERS = [(0.4, 3.0), (-0.5, 6.0), (0.0, 2.0)]


def by_urn(f: int, n: int, population: int, alpha: float, theta: float) -> dict[int, float]:
    """The law of F of a combination with f of n records, one further person after the other."""
    law = {f: 1.0}
    for seen in range(n, population):
        following: dict[int, float] = {}
        for size, chance in law.items():
            joins = (size - alpha) / (theta + seen)
            following[size] = following.get(size, 0.0) + chance * (1 - joins)
            following[size + 1] = following.get(size + 1, 0.0) + chance * joins
        law = following
    return law


@pytest.mark.parametrize(("alpha", "theta"), PARAMETERS)
def test_a_combination_grows_as_in_the_urn(alpha: float, theta: float) -> None:
    formula = Pitman(alpha, theta, 7)
    assert formula.alone(12) == pytest.approx(by_urn(1, 7, 12, alpha, theta)[1])
    assert formula.alone(7) == pytest.approx(1.0)
    assert formula.reciprocal([1, 2, 5], 7).tolist() == [1.0, 0.5, 0.2]
    # The negative binomial differs by terms of the order f/n.
    large = Pitman(alpha, theta, 400)
    for f in (1, 2, 5):
        law = by_urn(f, 400, 1_000, alpha, theta)
        exact = sum(chance / size for size, chance in law.items())
        assert large.reciprocal(f, 1_000) == pytest.approx(exact, rel=2 * f / 400)


def test_rare_and_frequent_combinations_of_a_large_file() -> None:
    formula, n, N = Pitman(0.6, 300.0, 5_000), 5_000, 100_000
    for f in (1, 3, 40, 1_500, 3_000):
        added = np.arange(N - n + 1)
        law = betabinom(N - n, f - 0.6, 300 + n - f + 0.6).pmf(added)
        assert formula.reciprocal(f, N) == pytest.approx(float((law / (f + added)).sum()), rel=5e-4)


@pytest.mark.parametrize(("alpha", "theta"), PARAMETERS)
def test_the_likelihood_is_the_urns(alpha: float, theta: float) -> None:
    sizes = [3, 2, 2, 1, 1]

    def urn(alpha: float, theta: float) -> float:
        total, seen = 0.0, 0
        for k, size in enumerate(sizes):
            for own in range(size):
                total += math.log(own - alpha if own else theta + alpha * k) - math.log(theta + seen)
                seen += 1
        return total

    spectrum = Spectrum.of(np.array(sizes))
    found = [log_likelihood(a, t, spectrum) - urn(a, t) for a, t in ((alpha, theta), (0.2, 1.5))]
    # The urn's first person costs log(theta/theta), which the formula leaves out in either.
    assert found[0] == pytest.approx(found[1], abs=1e-9)
    near = [log_likelihood(a, 2.0, spectrum) for a in (-2e-7, 0.0, 2e-7)]
    assert near == pytest.approx([near[1]] * 3, abs=1e-5)


def test_expected_numbers_are_those_of_all_partitions() -> None:
    alpha, theta = 0.3, 1.2
    # Of three people: all alike, two alike, none alike.
    one = (1 - alpha) * (2 - alpha) / ((theta + 1) * (theta + 2))
    none = (theta + alpha) * (theta + 2 * alpha) / ((theta + 1) * (theta + 2))
    found = expected_number(Pitman(alpha, theta, 3), np.array([1, 2, 3]))
    assert found == pytest.approx([3 * none + (1 - one - none), 1 - one - none, one])


@pytest.mark.parametrize(("alpha", "theta"), [(0.6, 300.0), (0.0, 400.0), (-0.4, 800.0)])
def test_the_expected_spectrum_gives_its_parameters_back(alpha: float, theta: float) -> None:
    formula = Pitman(alpha, theta, 6_000)
    frequency = np.arange(1, 6_001)
    number = expected_number(formula, frequency)
    fit = fit_pitman(Spectrum(frequency, number))
    assert fit.best.alpha == pytest.approx(alpha, abs=0.05)
    assert fit.best.reciprocal([1, 2, 3], 60_000) == pytest.approx(formula.reciprocal([1, 2, 3], 60_000), rel=0.05)
    assert fit.dispersion == 1.0
    # Neighbours are less likely, and near.
    assert len(fit.near) == 2
    for pair in fit.near:
        for other in pair:
            lost = log_likelihood(fit.best.alpha, fit.best.theta, fit.spectrum) - log_likelihood(
                other.alpha, other.theta, fit.spectrum
            )
            assert 0.2 < lost < 1.2


def test_a_spectrum_of_another_kind_is_noticed() -> None:
    number = np.array([100.0, 400.0, 20.0, 60.0, 0.0, 80.0])
    assert fit_pitman(Spectrum(np.arange(1, 7), number)).dispersion > 10


def test_the_ends() -> None:
    once = fit_pitman(Spectrum.of(np.ones(50, dtype=np.int64)))
    assert once.best.alone(5_000) == pytest.approx(1.0, abs=1e-6)
    alike = fit_pitman(Spectrum.of(np.array([50])))
    assert alike.best.reciprocal(50, 5_000) == pytest.approx(1 / 5_000, rel=0.05)
    assert once.near == alike.near == ()
    assert once.dispersion == alike.dispersion == 1.0
    with pytest.raises(GemelError, match="no record"):
        fit_pitman(Spectrum.of(np.zeros(3, dtype=np.int64)))
