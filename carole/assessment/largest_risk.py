r"""The linked record at highest risk, with an interval for the person who is at the highest in truth.

Of every record the model says how probable a right match is, and the greatest of these is the value. Who of the linked
people is found most easily is another question: someone among many may be alone in the population without its showing.
With t the probability that a link is true and F the people with its key values, the greatest 1/F of all true links is
1/m or more unless none has :math:`F \le m`,

.. math:: \Pr(\text{none}) = \prod_{\text{combinations}} (1 - t \Pr(F \le m)),

and the interval has the 1/m between the two ends of that law. F is by the model of the key variables, and by Pitman's
formula, which knows how many are alone where such models do not; the farthest ends of both count, under everything that
is possible of the links and the population. A limit is on the value: no intruder knows better than the model who is
alone, and the upper end is 1 in nearly every sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, pdtr

from gemel.carole.assessment.cell_risk import Cells
from gemel.carole.assessment.expected_matches import Supposed
from gemel.carole.assessment.measures import CONFIDENCE, Measure
from gemel.risk.identification.matching.bayesian_matching import expected_reciprocal
from gemel.risk.identification.population_spectrum import Pitman, Spectrum

_TAIL = (1.0 - CONFIDENCE) / 2.0
_STEPS = 60  # of bisection for a rate
_MAX_RATE = 1e9

LogNone = Callable[[int], float]
"""Logarithm of the probability that no true link has a person of a combination of at most so many people."""


def largest_risk(cells: Cells, chance: NDArray[np.float64], cases: Sequence[Supposed], fraction: float) -> Measure:
    """Greatest probability of a right match of any linked record, with its interval; the method is left empty.

    Parameters
    ----------
    chance : ndarray of float64, shape (n_records,)
        Probability by the model that each record is matched to its person.

    Notes
    -----
    O(cells log N) for each of the cases.
    """
    value = float(chance.max(initial=0.0))
    if not len(chance):
        return Measure(0.0, "", 0.0, 0.0)
    low = high = value
    for log_none, people in _laws(cells, cases, fraction):
        lower, upper = ends(log_none, people)
        low, high = min(low, lower), max(high, upper)
    return Measure(value, "", low, high, limits_value=True)


def ends(log_none: LogNone, people: int) -> tuple[float, float]:
    """Interval of the greatest 1/F by one law, of confidence `CONFIDENCE`; `people`: those of the population, N."""
    return _end(log_none, np.log(_TAIL), people), _end(log_none, np.log1p(-_TAIL), people)


def _end(log_none: LogNone, bound: float, people: int) -> float:
    """1/m of the smallest m of which it is no likelier than the bound that there is none; 0 where there is no such."""
    if log_none(people) > bound:
        return 0.0
    below, m = 0, 1
    while m < people and log_none(m) > bound:
        below, m = m, min(2 * m, people)
    while m - below > 1:
        middle = (below + m) // 2
        below, m = (middle, m) if log_none(middle) > bound else (below, middle)
    return 1.0 / m


def _laws(cells: Cells, cases: Sequence[Supposed], fraction: float) -> Iterator[tuple[LogNone, int]]:
    """Every law of the people behind the links, with the number of people in the population."""
    rate = rates(cells) if fraction < 1.0 else None
    for case in cases:
        true = case.laws.formula.best.records
        others = [(other.spectrum, laws.formula.best) for other, laws in case.others]
        near = [(case.links.spectrum, formula) for ends in case.laws.formula.near for formula in ends]
        for N in case.populations:
            people = max(1, int(np.ceil(N)))
            for spectrum, formula in ((case.links.spectrum, case.laws.formula.best), *near, *others):
                yield by_frequency(spectrum, formula, N), people
            if rate is not None and true > 0:
                # The model has as many people outside as its sampling fraction gives the records.
                more = (N - true) / true / ((1.0 - fraction) / fraction)
                for probability in case.probabilities:
                    yield by_model(cells, rate, probability, max(0.0, more)), people


def by_frequency(spectrum: Spectrum, formula: Pitman, population: float) -> LogNone:
    """By how many true links share a combination; F - f is negative binomial, as `Pitman.reciprocal` has it."""
    s = max(population - formula.records, 0.0) / max(formula.theta + formula.records, 1e-9)
    shape = spectrum.frequency - formula.alpha

    def log_none(m: int) -> float:
        within = spectrum.frequency <= m
        more = m - spectrum.frequency[within] + 1.0
        found = np.minimum(betainc(shape[within], more, 1.0 / (1.0 + s)), 1.0 - 1e-15)
        return float(spectrum.number[within] @ np.log1p(-found))

    return log_none


def by_model(cells: Cells, rate: NDArray[np.float64], probability: NDArray[np.float64], more: float = 1.0) -> LogNone:
    """By the model of the key variables: F - f is Poisson.

    Parameters
    ----------
    rate : ndarray of float64, shape (n_cells,)
        Expected people of each combination outside the file.
    probability : ndarray of float64, shape (n_records,)
        That each link is true.
    """
    doubt = np.log1p(-np.minimum(probability, 1.0 - 1e-15))
    any_true = -np.expm1(np.bincount(cells.of_record, doubt, len(cells.counts)))
    alone = np.where(cells.counts == 1, cells.alone, 0.0) ** more
    alone[cells.counts != 1] = 0.0

    def log_none(m: int) -> float:
        within = (cells.counts > 0) & (cells.counts <= m)
        found = pdtr((m - cells.counts[within]).astype(np.float64), more * rate[within]) if m > 1 else alone[within]
        # Models that are averaged leave more of their weight to being alone than one Poisson law does.
        found = np.maximum(found, alone[within])
        return float(np.log1p(-np.minimum(any_true[within] * found, 1.0 - 1e-15)).sum())

    return log_none


def rates(cells: Cells) -> NDArray[np.float64]:
    """Expected people outside the file of each combination: the rate whose E(1/F) is the model's.

    Notes
    -----
    By bisection of the logarithm; 0 where the model has no one outside, and for combinations of no record.
    """
    f = np.maximum(cells.counts, 1)
    low, high = np.full(len(f), np.log(1e-12)), np.full(len(f), np.log(_MAX_RATE))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        above = expected_reciprocal(f, np.exp(middle)) > cells.correct
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(cells.counts > 0, np.exp((low + high) / 2), 0.0)
