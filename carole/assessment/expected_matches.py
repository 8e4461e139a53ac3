"""File measures of the linked records with their intervals: from how many true links share each combination.

A measure is computed under everything that is possible: the link probabilities as they are and at either end of an
estimate of the share of true links, the sampling fraction and its ends. Under each it has an interval of its own, of
the laws' parameters and of how far false links' halves go together; the ends are the farthest of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy.special import ndtri

from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.inferred_values import expected_share, possible_probabilities
from gemel.carole.assessment.measures import CONFIDENCE, Measure
from gemel.carole.assessment.true_links import CalibratedLinks, Combinations, Halves, Rows, TrueLinks, true_links
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.specification.model.assessment import Fraction
from gemel.risk.arrays import Floats, Integers
from gemel.risk.identification.file_level import Dis, dis
from gemel.risk.identification.population_spectrum import Pitman, PitmanFit, Spectrum, fit_pitman

# How many true links have a person who is alone in the population, and how many are matched to theirs, by two laws.
#
# The calibrated law (`CalibratedLinks`) sees the combinations, and supposes little of how people are spread over
# them; it reads its parameters off few records. Pitman's formula sees only how often combinations occur, all of them,
# and is the more precise, and wrong where people are not spread as it has them. So the logarithms of both are
# averaged, the calibrated one with the weight :math:`1/s_C^2`, Pitman's with
#
# .. math:: \frac{1}{s_P^2 + b^2}, \qquad b^2 = \max\{0, (\log P - \log C)^2 - s_P^2 - s_C^2\}:
#
# b is its bias, as far as the two differ by more than their standard errors explain (the estimate of a bias by Green
# and Strawderman). Both are of the same links; their errors' correlation was .5 to .8 in samples of eusilcP and Adult,
# and 1 is supposed. Where fewer than ten combinations of two true links are expected there is nothing to calibrate by,
# and the formula is alone.
#
# References
# ----------
# .. [1] Green and Strawderman, A James-Stein type estimator for combining unbiased and possibly biased estimators,
#    Journal of the American Statistical Association 86, 1991. doi:10.1080/01621459.1991.10475144

Counted = Literal["alone", "matched"]
"""True links whose person is alone in the population; links that are matched to their person, each with 1/F."""

_MINIMUM = 1e-9  # a number below is none
_MINIMUM_VARIANCE = 1e-8


@dataclass(frozen=True)
class LogTotal:
    """The logarithm of a number, and its standard errors."""

    value: float
    below: float
    above: float
    by_formula: float = 1.0

    @classmethod
    def from_profile(
        cls, estimate: float, profile_ends: Sequence[Sequence[float]], dispersion: float = 1.0
    ) -> LogTotal:
        """From an estimate; ``profile_ends[i]`` has the totals a standard error down and up along parameter i."""
        own = _log(estimate)
        below = above = 0.0
        for ends in profile_ends:
            moved = [_log(end) - own for end in ends]
            below, above = below + min(0.0, *moved) ** 2, above + max(0.0, *moved) ** 2
        return cls(own, float(np.sqrt(below * dispersion)), float(np.sqrt(above * dispersion)))

    @property
    def variance(self) -> float:
        """Mean of both sides."""
        return max((self.below**2 + self.above**2) / 2.0, _MINIMUM_VARIANCE)

    @property
    def number(self) -> float:
        return exp_or_zero(self.value)

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
class PopulationUniqueEstimators:
    """How many true links are population unique, or matched: by Pitman's formula and by the calibrated law."""

    formula: PitmanFit = field(repr=False)
    calibrated: CalibratedLinks | None = field(repr=False)

    @classmethod
    def fitted(cls, combinations: Combinations, links: TrueLinks) -> PopulationUniqueEstimators:
        return cls(fit_pitman(links.spectrum), CalibratedLinks.fitted(combinations, links.probability))

    def total(self, counted: Counted, links: TrueLinks, population: float) -> LogTotal:
        """The expected number among some of the links, by both laws."""
        found = formula_total(self.formula, counted, links.spectrum, population)
        law = self.calibrated
        if law is None:
            return found
        near = [[_by_law(end, counted, links, population) for end in ends] for ends in law.near]
        return found.averaged(LogTotal.from_profile(_by_law(law, counted, links, population), near))

    def weighed(self, counted: Counted, links: TrueLinks, population: float, by_formula: float) -> float:
        """The logarithm of the number with a given weight of the formula: how cases differ."""
        own = _log(_by_formula(self.formula.best, counted, links.spectrum, population))
        if self.calibrated is None:
            return own
        return by_formula * own + (1.0 - by_formula) * _log(_by_law(self.calibrated, counted, links, population))

    def of_links(self, links: TrueLinks, population: float) -> Floats | None:
        """Probability that each link is matched to its person, by the calibrated law; None without it."""
        if self.calibrated is None:
            return None
        return self.calibrated.matched(links.of_link, links.probability, population)


def formula_total(fit: PitmanFit, counted: Counted, spectrum: Spectrum, population: float) -> LogTotal:
    """The expected number among the records of a spectrum by Pitman's formula alone."""
    near = [[_by_formula(end, counted, spectrum, population) for end in ends] for ends in fit.near]
    return LogTotal.from_profile(_by_formula(fit.best, counted, spectrum, population), near, fit.dispersion)


def exp_or_zero(log: float) -> float:
    """The total of a logarithm; 0 where it is as small as totals of nothing are taken for."""
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


_Z = float(ndtri((1.0 + CONFIDENCE) / 2.0))


@dataclass(frozen=True)
class Supposed:
    """Which links are true, by one set of link probabilities."""

    links: TrueLinks
    laws: PopulationUniqueEstimators
    others: tuple[tuple[TrueLinks, PopulationUniqueEstimators], ...]
    populations: tuple[float, ...]

    @classmethod
    def of(cls, halves: Halves, populations: tuple[float, ...]) -> Supposed:
        best = true_links(halves)
        reach = _Z * best.spread
        ends = {max(0.0, best.alike - reach), min(1.0, best.alike + reach)} if reach else set()
        others = [true_links(halves, alike) for alike in sorted(ends)]
        pairs = tuple((other, PopulationUniqueEstimators.fitted(halves.combinations, other)) for other in others)
        return cls(best, PopulationUniqueEstimators.fitted(halves.combinations, best), pairs, populations)

    @property
    def probabilities(self) -> list[Floats]:
        """Probability that each link is true, the most likely first."""
        return [self.links.probability, *(other.probability for other, _ in self.others)]

    @property
    def without_uniques(self) -> Supposed:
        """The links that share their combination with others; the laws stay."""
        others = tuple((other.without_uniques, laws) for other, laws in self.others)
        return replace(self, links=self.links.without_uniques, others=others)


@dataclass(frozen=True)
class Believed:
    """Everything that is possible of the links, the model's link probabilities first, and of the population."""

    halves: Halves
    probabilities: tuple[Floats, ...]
    populations: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, combined: Combined, fraction: Fraction, linkage: LinkageDocument | None) -> Believed:
        halves = Halves.of(combined)
        probabilities = possible_probabilities(combined, linkage)
        recall = None if linkage is None or linkage.claims is None else linkage.claims.recall
        missed = float(halves.other_probability.sum()) + combined.left_out
        populations = []
        for w in probabilities:
            true = float(w.sum())
            # What the run claims counts matches too that were never compared, or not closely.
            matches = [true + missed]
            if recall is not None:
                first = [] if recall.value else matches
                matches = [*first, *(true / end for end in (recall.value, recall.upper, recall.lower) if end)]
            possible = [max(true, number / share) for number in matches for share in fraction.possible]
            populations.append((possible[0], min(possible), max(possible)))
        return cls(halves, tuple(probabilities), tuple(populations))

    def cases(self, recoding: Callable[[Rows], Rows] | None = None) -> tuple[Supposed, ...]:
        """All of it, the most likely first, after a recoding of the key values."""
        halves = self.halves if recoding is None else self.halves.recoded(recoding)
        pairs = zip(self.probabilities, self.populations, strict=True)
        return tuple(Supposed.of(replace(halves, probability=w), populations) for w, populations in pairs)


def unique_matches(cases: Sequence[Supposed]) -> tuple[Dis, Measure]:
    """DIS where some links are false, and the measure with the ends of all cases.

    A combination of two links stands for people outside the file who have that of a unique link. If both links are true
    it stands for 2 c of them, c = (1 - pi)/pi, with a true unique one; if one is, for c with a false one: where a false
    link has the combination of one true link by chance, it could as well have one of none. So each true link of a pair
    stands for c.
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


def with_interval(counted: Counted, cases: Sequence[Supposed], method: str) -> Measure:
    """A share of the links with its interval.

    Distances are taken between logarithms, those of different causes put together by their squares.
    """
    n = len(cases[0].links.frequency)
    if not n:
        return Measure(0.0, method, 0.0, 0.0)
    values, lows, highs = [], [], []
    for case in cases:
        seen = case.links.spectrum.records
        for N in case.populations:
            found = case.laws.total(counted, case.links, N)
            value = min(1.0, found.number / n)
            own = case.laws.weighed(counted, case.links, N, found.by_formula)
            by_links = [laws.weighed(counted, links, N, found.by_formula) - own for links, laws in case.others]
            # The people of this sample are not the average ones, unless everybody is in it.
            chance = (1.0 - value) / max(found.number, 1.0) * max(0.0, 1.0 - seen / max(N, seen))
            values.append(value)
            down = np.hypot(_Z * np.hypot(found.below, np.sqrt(chance)), min(0.0, *by_links, 0.0))
            up = np.hypot(_Z * np.hypot(found.above, np.sqrt(chance)), max(0.0, *by_links, 0.0))
            lows.append(exp_or_zero(found.value - down) / n)
            highs.append(exp_or_zero(found.value + up) / n)
    return Measure(values[0], method, min(values[0], *lows), min(1.0, max(values[0], *highs)))


def own_matches(counts: Integers, frequency: Integers, fraction: Fraction) -> Measure:
    """Expected correct matches of some records of one file, as a share, with its interval.

    `counts` are the records of each combination of the file, `frequency` those with that of each record sought.
    """
    fit, requested = fit_pitman(Spectrum.of(counts)), Spectrum.of_records(frequency)
    n = len(frequency)
    found = [formula_total(fit, "matched", requested, float(counts.sum()) / share) for share in fraction.possible]
    lows = [exp_or_zero(one.value - _Z * one.below) / n for one in found]
    highs = [exp_or_zero(one.value + _Z * one.above) / n for one in found]
    return Measure(min(1.0, found[0].number / n), "Pitman's formula", min(lows), min(1.0, max(highs)))
