"""File measures of the linked records with their intervals: from how many true links share each combination.

A measure is computed under everything that is possible: the link probabilities as they are and at either end of an
estimate of their share of true links, the sampling fraction and its ends. Under each it has an interval of its own, of
the parameters of Pitman's formula and of how far false links' halves go together; the ends are the farthest of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tryst.carole.assessment.measures import CONFIDENCE, Measure
from tryst.carole.assessment.true_links import Halves, TrueLinks, true_links
from tryst.risk.identification.file_level import Dis, dis
from tryst.risk.identification.population_spectrum import Pitman, PitmanFit, Spectrum, fit_pitman

_Z = float(ndtri((1.0 + CONFIDENCE) / 2.0))


@dataclass(frozen=True)
class Supposed:
    """What is supposed of links and population.

    Attributes
    ----------
    links
        Which links are true.
    population
        People, N.
    other_links
        The same links if a standard deviation less, and more, of the false ones had halves that go together.
    """

    links: TrueLinks
    population: float
    other_links: tuple[TrueLinks, ...]

    @classmethod
    def of(cls, halves: Halves, population: float) -> Supposed:
        """From the halves of the links."""
        best = true_links(halves)
        ends = {max(0.0, best.alike - best.spread), min(1.0, best.alike + best.spread)} if best.spread else set()
        return cls(best, population, tuple(true_links(halves, alike) for alike in sorted(ends)))

    @cached_property
    def fit(self) -> PitmanFit:
        """Pitman's formula of the true links."""
        return fit_pitman(self.links.spectrum)

    @cached_property
    def other_fits(self) -> tuple[PitmanFit, ...]:
        """The same of the other links."""
        return tuple(fit_pitman(other.spectrum) for other in self.other_links)

    def dis(self) -> Dis:
        """DIS of the true links: of the people who match a unique link, the right ones."""
        return _dis(self.links, self.population)


def _dis(links: TrueLinks, population: float) -> Dis:
    r"""DIS where some links are false.

    Notes
    -----
    A combination of two links stands for people outside the file who have that of a unique link. If both links are
    true it stands for 2 c people with a true unique one, c = (1 - pi)/pi; if one is, for c with a false one, because
    where a false link meets a combination of one true link by chance it would as well have met one of none: so each
    true link of a pair stands for c.
    """
    true = [float(links.probability[links.frequency == r].sum()) / r for r in (1, 2, 3)]
    return dis(*true, min(1.0, float(links.probability.sum()) / population), CONFIDENCE)


def alone(spectrum: Spectrum, formula: Pitman, population: float, n_records: int) -> float:
    """Expected share of the links whose person is alone in the population."""
    uniques = float(spectrum.number[spectrum.frequency == 1].sum())
    return uniques * formula.alone(population) / n_records


def matched(spectrum: Spectrum, formula: Pitman, population: float, n_records: int) -> float:
    """Expected share of the links that are matched to their person: the mean of 1/F, and 0 behind a false link."""
    found = formula.reciprocal(spectrum.frequency, population)
    return float((spectrum.number * spectrum.frequency) @ found) / n_records


Total = Callable[[Spectrum, Pitman, float, int], float]


def with_interval(total: Total, supposed: Sequence[Supposed], method: str) -> Measure:
    """A share with its interval.

    Parameters
    ----------
    total
        `alone` or `matched`.
    supposed
        Everything that is possible, what is most likely first.
    method
        In words.
    """
    lows, highs = [], []
    for case in supposed:
        n, N, spectrum = len(case.links.frequency), case.population, case.links.spectrum
        value = total(spectrum, case.fit.best, N, n)
        down = up = 0.0
        for ends in case.fit.near:
            at = [total(spectrum, end, N, n) - value for end in ends]
            down, up = down + min(*at, 0.0) ** 2, up + max(*at, 0.0) ** 2
        down, up = down * case.fit.dispersion, up * case.fit.dispersion
        at = [
            total(o.spectrum, f.best, N, n) - value for o, f in zip(case.other_links, case.other_fits, strict=True)
        ] or [0.0]
        chance = value * (1.0 - value) / n  # that the people of this sample are not the average ones
        lows.append(value - _Z * np.sqrt(down + min(*at, 0.0) ** 2 + chance))
        highs.append(value + _Z * np.sqrt(up + max(*at, 0.0) ** 2 + chance))
    first = supposed[0]
    value = total(first.links.spectrum, first.fit.best, first.population, len(first.links.frequency))
    return Measure(value, method, max(0.0, float(min(lows))), min(1.0, float(max(highs))))


def possible_populations(expected: float, fractions: Sequence[float]) -> list[float]:
    """The number of people in the population, by each sampling fraction of those in both files.

    Parameters
    ----------
    expected
        Matches that are expected, found or not.
    """
    return [expected / fraction for fraction in fractions]


__all__ = ["Supposed", "alone", "matched", "possible_populations", "with_interval"]


def mean_over(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Mean of the products; 0 of none."""
    return float((values * weights).mean()) if len(values) else 0.0
