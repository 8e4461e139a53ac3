r"""How many true links have a person who is alone in the population, and how many are matched to theirs, by two laws.

The calibrated law (`calibrated_links`) sees the combinations, and supposes little of how people are spread over them;
it reads its parameters off few records. Pitman's formula sees only how often combinations occur, all of them, and is
the more precise, and wrong where people are not spread as it has them. So the logarithms of both are averaged, the
calibrated one with the weight :math:`1/s_C^2`, Pitman's with

.. math:: \frac{1}{s_P^2 + b^2}, \qquad b^2 = \max\{0, (\log P - \log C)^2 - s_P^2 - s_C^2\}:

b is its bias, as far as the two differ by more than their standard errors explain (the estimate of a bias by Green and
Strawderman). Both are of the same links; their errors' correlation was .5 to .8 in samples of eusilcP and Adult, and 1
is supposed. Where fewer than ten combinations of two true links are expected there is nothing to calibrate by, and the
formula is alone.

References
----------
.. [1] Green and Strawderman, A James-Stein type estimator for combining unbiased and possibly biased estimators,
   Journal of the American Statistical Association 86, 1991. doi:10.1080/01621459.1991.10475144
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gemel.carole.assessment.calibrated_links import CalibratedLinks, Combinations
from gemel.carole.assessment.true_links import TrueLinks
from gemel.risk.identification.population_spectrum import Pitman, PitmanFit, Spectrum, fit_pitman

Counted = Literal["alone", "matched"]
"""True links whose person is alone in the population; links that are matched to their person, each with 1/F."""

_MINIMUM = 1e-9  # a number below is none
_MINIMUM_VARIANCE = 1e-8


@dataclass(frozen=True)
class LogTotal:
    """The logarithm of a number, and its standard errors.

    Attributes
    ----------
    value
    below, above
        Standard errors downwards and upwards.
    by_formula
        Weight of Pitman's formula in it, 0 to 1.
    """

    value: float
    below: float
    above: float
    by_formula: float = 1.0

    @classmethod
    def of(cls, value: float, near: Sequence[Sequence[float]], dispersion: float = 1.0) -> LogTotal:
        """From numbers a standard error to both sides, in independent directions."""
        own = _log(value)
        below = above = 0.0
        for ends in near:
            moved = [_log(end) - own for end in ends]
            below, above = below + min(0.0, *moved) ** 2, above + max(0.0, *moved) ** 2
        return cls(own, float(np.sqrt(below * dispersion)), float(np.sqrt(above * dispersion)))

    @property
    def variance(self) -> float:
        """Mean of both sides."""
        return max((self.below**2 + self.above**2) / 2.0, _MINIMUM_VARIANCE)

    @property
    def number(self) -> float:
        """The number."""
        return number(self.value)

    def averaged(self, calibrated: LogTotal) -> LogTotal:
        """Of the formula (self) and of the calibrated law, whose errors are taken to go together.

        The calibrated number is too high on average where its logarithm is right on average: half the variance is
        taken off.
        """
        level = calibrated.value - calibrated.variance / 2.0
        bias = max(0.0, (self.value - level) ** 2 - self.variance - calibrated.variance)
        own, other = 1.0 / (self.variance + bias), 1.0 / calibrated.variance
        share = own / (own + other)
        rest = 1.0 - share
        return LogTotal(
            share * self.value + rest * level,
            share * float(np.sqrt(self.below**2 + bias)) + rest * calibrated.below,
            share * float(np.sqrt(self.above**2 + bias)) + rest * calibrated.above,
            share,
        )


@dataclass(frozen=True)
class Laws:
    """Both laws of the true links.

    Attributes
    ----------
    formula
        Pitman's, fitted to how many true links share each combination.
    calibrated
        None where there are too few combinations of two.
    """

    formula: PitmanFit = field(repr=False)
    calibrated: CalibratedLinks | None = field(repr=False)

    @classmethod
    def of(cls, combinations: Combinations, links: TrueLinks) -> Laws:
        """Fitted to all links."""
        return cls(fit_pitman(links.spectrum), CalibratedLinks.fitted(combinations, links.probability))

    def total(self, counted: Counted, links: TrueLinks, population: float) -> LogTotal:
        """The expected number among some of the links, by both laws."""
        found = formula_total(self.formula, counted, links.spectrum, population)
        law = self.calibrated
        if law is None:
            return found
        near = [[_by_law(end, counted, links, population) for end in ends] for ends in law.near]
        return found.averaged(LogTotal.of(_by_law(law, counted, links, population), near))

    def weighed(self, counted: Counted, links: TrueLinks, population: float, by_formula: float) -> float:
        """The logarithm of the number with a given weight of the formula: how cases differ."""
        own = _log(_by_formula(self.formula.best, counted, links.spectrum, population))
        if self.calibrated is None:
            return own
        return by_formula * own + (1.0 - by_formula) * _log(_by_law(self.calibrated, counted, links, population))

    def of_links(self, links: TrueLinks, population: float) -> NDArray[np.float64] | None:
        """Probability that each link is matched to its person, by the calibrated law; None without it."""
        if self.calibrated is None:
            return None
        return self.calibrated.matched(links.of_link, links.probability, population)


def formula_total(fit: PitmanFit, counted: Counted, spectrum: Spectrum, population: float) -> LogTotal:
    """The expected number among the records of a spectrum by Pitman's formula alone."""
    near = [[_by_formula(end, counted, spectrum, population) for end in ends] for ends in fit.near]
    return LogTotal.of(_by_formula(fit.best, counted, spectrum, population), near, fit.dispersion)


def number(log: float) -> float:
    """Of its logarithm; so small a one is 0."""
    found = float(np.exp(log))
    return found if found > 2.0 * _MINIMUM else 0.0


def _log(value: float) -> float:
    return float(np.log(max(value, _MINIMUM)))


def _by_formula(formula: Pitman, counted: Counted, spectrum: Spectrum, population: float) -> float:
    if counted == "alone":
        return float(spectrum.number[spectrum.frequency == 1].sum()) * formula.alone(population)
    return float((spectrum.number * spectrum.frequency) @ formula.reciprocal(spectrum.frequency, population))


def _by_law(law: CalibratedLinks, counted: Counted, links: TrueLinks, population: float) -> float:
    if counted == "alone":
        return law.alone(links.of_link, links.probability, population)
    return float(law.matched(links.of_link, links.probability, population).sum())
