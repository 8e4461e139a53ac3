"""File measures of the linked records with their intervals: from how many true links share each combination.

A measure is computed under everything that is possible: the link probabilities as they are and at either end of an
estimate of the share of true links, the sampling fraction and its ends. Under each it has an interval of its own, of
the parameters of Pitman's formula and of how far false links' halves go together; the ends are the farthest of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tryst.carole.assessment.combined import Combined
from tryst.carole.assessment.inferred_values import expected_share, possible_probabilities
from tryst.carole.assessment.measures import CONFIDENCE, Measure
from tryst.carole.assessment.true_links import Halves, Rows, TrueLinks, true_links
from tryst.common.documents.linkage_document import LinkageDocument
from tryst.common.specification.model.assessment import Fraction
from tryst.risk.identification.file_level import Dis, dis
from tryst.risk.identification.population_spectrum import Pitman, PitmanFit, Spectrum, fit_pitman

_Z = float(ndtri((1.0 + CONFIDENCE) / 2.0))


@dataclass(frozen=True)
class Supposed:
    """Which links are true, by one set of link probabilities.

    Attributes
    ----------
    links
        Which links are true.
    fit
        Pitman's formula of the true ones.
    others
        The same with as few, and as many, of the false links having halves that go together as its 95 % interval has.
    populations
        People, N: by the sampling fraction, and by either of its ends.
    """

    links: TrueLinks
    fit: PitmanFit
    others: tuple[tuple[TrueLinks, PitmanFit], ...]
    populations: tuple[float, ...]

    @classmethod
    def of(cls, halves: Halves, populations: tuple[float, ...]) -> Supposed:
        """From the halves of the links."""
        best = true_links(halves)
        reach = _Z * best.spread
        ends = {max(0.0, best.alike - reach), min(1.0, best.alike + reach)} if reach else set()
        others = [true_links(halves, alike) for alike in sorted(ends)]
        pairs = tuple((other, fit_pitman(other.spectrum)) for other in others)
        return cls(best, fit_pitman(best.spectrum), pairs, populations)

    @property
    def probabilities(self) -> list[NDArray[np.float64]]:
        """Probability that each link is true, the most likely first."""
        return [self.links.probability, *(other.probability for other, _ in self.others)]

    @property
    def without_uniques(self) -> Supposed:
        """The links that share their combination with others; the formula stays."""
        others = tuple((other.without_uniques, fit) for other, fit in self.others)
        return replace(self, links=self.links.without_uniques, others=others)


@dataclass(frozen=True)
class Believed:
    """Everything that is possible of the links and the population.

    Attributes
    ----------
    halves
        Key values of the links.
    probabilities
        Link probabilities that are possible, the model's first.
    populations
        By these, the people of the population by the sampling fraction and either of its ends.
    """

    halves: Halves
    probabilities: tuple[NDArray[np.float64], ...]
    populations: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, combined: Combined, fraction: Fraction, linkage: LinkageDocument | None) -> Believed:
        """Of a combined output.

        Parameters
        ----------
        fraction
            Share of the population that is in both files, whether linked or not.
        linkage
            The run's decision, with what it expects to have missed and the estimates of its quality.
        """
        halves = Halves.of(combined)
        probabilities = possible_probabilities(combined, linkage)
        expected = None if linkage is None else linkage.expected
        missed = float(halves.other_probability.sum()) + combined.left_out
        populations = []
        for w in probabilities:
            true = float(w.sum())
            # What the run expects to have missed counts pairs too that were never compared closely.
            matches = true + missed if expected is None or not expected.recall > 0 else true / expected.recall
            populations.append(tuple(max(true, matches / share) for share in fraction.possible))
        return cls(halves, tuple(probabilities), tuple(populations))

    def cases(self, recoding: Callable[[Rows], Rows] | None = None) -> tuple[Supposed, ...]:
        """All of it, the most likely first, after a recoding of the key values."""
        halves = self.halves if recoding is None else self.halves.recoded(recoding)
        pairs = zip(self.probabilities, self.populations, strict=True)
        return tuple(Supposed.of(halves.believed(w), populations) for w, populations in pairs)


def unique_matches(cases: Sequence[Supposed]) -> tuple[Dis, Measure]:
    r"""DIS where some links are false, and the measure with the ends of all cases.

    Notes
    -----
    A combination of two links stands for people outside the file who have that of a unique link. If both links are
    true it stands for 2 c of them, c = (1 - pi)/pi, with a true unique one; if one is, for c with a false one: where a
    false link has the combination of one true link by chance, it could as well have one of none. So each true link of
    a pair stands for c.
    """
    found = []
    for case in cases:
        n1, n2, n3 = (float(case.links.probability[case.links.frequency == r].sum()) / r for r in (1, 2, 3))
        true = float(case.links.probability.sum())
        found += [dis(n1, n2, n3, min(1.0, true / N) if true > 0 else 1.0, CONFIDENCE) for N in case.populations]
    first = found[0]
    return first, Measure(first.value, "", min(one.low for one in found), max(one.high for one in found))


def unique_links(cases: Sequence[Supposed]) -> Measure:
    """Expected share of the links that are true and unique."""
    method = "expected number of true ones among the unique links, by link probabilities and key values"
    return expected_share([p * (case.links.frequency == 1) for case in cases for p in case.probabilities], method)


Total = Callable[[Spectrum, Pitman, float, int], float]


def alone(spectrum: Spectrum, formula: Pitman, population: float, n_records: int) -> float:
    """Expected share of the records whose person is true and alone in the population."""
    uniques = float(spectrum.number[spectrum.frequency == 1].sum())
    return uniques * formula.alone(population) / n_records


def matched(spectrum: Spectrum, formula: Pitman, population: float, n_records: int) -> float:
    """Expected share of the records that are matched to their person: the mean of 1/F, and 0 behind a false link."""
    found = formula.reciprocal(spectrum.frequency, population)
    return float((spectrum.number * spectrum.frequency) @ found) / n_records


def with_interval(total: Total, cases: Sequence[Supposed], method: str) -> Measure:
    """A share with its interval.

    Parameters
    ----------
    total
        `alone` or `matched`.
    cases
        Everything that is possible, the most likely first.
    method
        In words.
    """
    n = len(cases[0].links.frequency)
    if not n:
        return Measure(0.0, method, 0.0, 0.0)
    values, lows, highs = [], [], []
    for case in cases:
        spectrum = case.links.spectrum
        others = [(other.spectrum, fit.best) for other, fit in case.others]
        for N in case.populations:
            value, down, up = _parameters_spread(total, spectrum, case.fit, N, n)
            by_links = [total(other, formula, N, n) - value for other, formula in others]
            # The people of this sample are not the average ones, unless everybody is in it.
            chance = max(0.0, value * (1.0 - value) / n * (1.0 - spectrum.records / max(N, spectrum.records)))
            values.append(value)
            lows.append(value - np.hypot(_Z * np.sqrt(down + chance), min(0.0, *by_links, 0.0)))
            highs.append(value + np.hypot(_Z * np.sqrt(up + chance), max(0.0, *by_links, 0.0)))
    return Measure(values[0], method, max(0.0, float(min(lows))), min(1.0, float(max(highs))))


def _parameters_spread(
    total: Total, spectrum: Spectrum, fit: PitmanFit, population: float, n: int
) -> tuple[float, float, float]:
    """The value, and its variance downwards and upwards by the formula's parameters."""
    value = total(spectrum, fit.best, population, n)
    down = up = 0.0
    for ends in fit.near:
        moved = [total(spectrum, end, population, n) - value for end in ends]
        down, up = down + min(0.0, *moved) ** 2, up + max(0.0, *moved) ** 2
    return value, down * fit.dispersion, up * fit.dispersion


def own_matches(counts: NDArray[np.int64], frequency: NDArray[np.int64], fraction: Fraction) -> Measure:
    """Expected correct matches of some records of one file, as a share, with its interval.

    Parameters
    ----------
    counts : ndarray of int64, shape (n_cells,)
        Records of each combination of the file.
    frequency : ndarray of int64, shape (n_records,)
        Those with the combination of each of the records sought.
    fraction
        Share of the population that is in the file.
    """
    fit, requested = fit_pitman(Spectrum.of(counts)), Spectrum.of_records(frequency)
    values, lows, highs = [], [], []
    for share in fraction.possible:
        value, down, up = _parameters_spread(matched, requested, fit, float(counts.sum()) / share, len(frequency))
        values.append(value)
        lows.append(value - _Z * np.sqrt(down))
        highs.append(value + _Z * np.sqrt(up))
    return Measure(values[0], "Pitman's formula", max(0.0, float(min(lows))), min(1.0, float(max(highs))))
