"""The probability that a match is correct, for every combination of key values, before and after a recoding.

Up to `EXACT_KEYS` keys all decomposable models are averaged (Bayesian matching); with more keys,
a log-linear model is chosen by the minimum-error criterion, or, where such models have too many cells, decomposable
ones by Occam's window. Either way a recoding needs no new fit: its combinations'
probabilities are sums of those fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from scipy.special import betainc, pdtr

from gemel.carole.assessment.expected_matches import Supposed
from gemel.carole.assessment.measures import CONFIDENCE, Measure
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.arrays import Floats, Integers, Mask
from gemel.risk.identification.coding import tally
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.model_choice import choose_model
from gemel.risk.identification.loglinear.risk import LogLinearRisk
from gemel.risk.identification.matching.bayesian_matching import (
    BayesianMatching,
    bayesian_matching,
    expected_reciprocal,
    fit_models,
)
from gemel.risk.identification.matching.recoding import Recoding, recoded
from gemel.risk.identification.population_spectrum import Pitman, Spectrum
from gemel.risk.models.counts import distinct_rows

EXACT_KEYS = 6
"""Keys up to which all decomposable models are averaged."""

MODEL_CELLS = 2**20
"""Cells of a log-linear model; a path of models leaves out those with more."""

MODELS = 5
"""Log-linear models on the path from independence to all two-way interactions."""


@dataclass(frozen=True)
class Cells:
    """Combinations of key values: the records of each and the cell of each record, with the model's estimates E(1/F),
    the probability that a match with a record of the cell is correct, and P(F = 1), 0 where the sample has more."""

    counts: Integers
    of_record: Integers
    correct: Floats
    alone: Floats

    @property
    def unique(self) -> Mask:
        """Which records are unique in their cell."""
        return np.asarray(self.counts[self.of_record] == 1)


@dataclass(frozen=True)
class CellRisk:
    """A model of the population behind a file: the combinations `after` a recoding, and the decomposable models,
    averaged, where these are the model."""

    file: KeyFile
    method: str
    after: Callable[[Recoding], Cells] = field(repr=False)
    matching: BayesianMatching | None = field(default=None, repr=False)
    warnings: tuple[ResultWarning, ...] = ()

    @property
    def now(self) -> Cells:
        return self.after(Recoding.none(self.file))


def _alike(file: KeyFile, recoding: Recoding) -> Cells:
    """One cell: all records agree in all keys, so they give no evidence that people of the population differ."""
    n = file.n_records
    return _poisson(np.array([n]), np.zeros(n, dtype=np.int64), np.array([n * (1.0 - file.fraction) / file.fraction]))


def _averaged(file: KeyFile, matching: BayesianMatching, recoding: Recoding) -> Cells:
    """A recoded variable joins the models as a node."""
    found = recoded(matching, recoding)
    return Cells(found.counts, found.of_cell[file.of_record], found.correct_match, found.population_unique)


def _log_linear(file: KeyFile, risk: LogLinearRisk, recoding: Recoding) -> Cells:
    """The mean of a recoded cell is the sum of the means of the cells in it."""
    kept = file.varying
    sizes = [recoding.sizes[q] for q in kept]
    cells, counts, of_cell = tally(recoding.applied(file.cells), [range(n) for n in recoding.sizes], file.counts)
    fitted = risk.fit.cells
    groups = np.stack([np.array(recoding.groups[q])[fitted[:, i]] for i, q in enumerate(kept)], axis=1)
    first, which = distinct_rows(np.concatenate([cells[:, kept], groups]), sizes)
    means = np.bincount(which[len(cells) :], risk.fit.means, len(first))
    outside = np.asarray(means[which[: len(cells)]] * (1.0 - file.fraction) / file.fraction, dtype=np.float64)
    return _poisson(counts, of_cell[file.of_record], outside)


def _poisson(counts: Integers, of_record: Integers, outside: Floats) -> Cells:
    correct = expected_reciprocal(counts, outside)
    return Cells(counts, of_record, correct, np.where(counts == 1, np.exp(-outside), 0.0))


def cell_risk(file: KeyFile) -> CellRisk:
    """Fit the model for the number of keys.

    A log-linear model with too many cells is left out of the path; if all are left out, decomposable models are
    searched by Occam's window, which never makes the full table.
    """
    if not file.varying:
        return CellRisk(file, "no key variable varies: all records have equal keys", partial(_alike, file))
    if len(file.varying) <= EXACT_KEYS:
        return _bayesian(file, "exact", "decomposable models averaged")
    try:
        choice = choose_model(file, max_models=MODELS, limit=MODEL_CELLS)
    except GemelError as error:
        if error.code is not ErrorCode.MEMORY:
            raise
        return _bayesian(file, "occam", "decomposable models of Occam's window averaged")
    best = choice.best
    words = f"log-linear model, the best of {len(choice.models)} by the minimum-error criterion B2: {best.model}"
    warnings: tuple[ResultWarning, ...] = ()
    if not best.converged:
        warnings = (result_warning("log_linear_not_converged", deviation=best.fit.deviation),)
    return CellRisk(file, words, partial(_log_linear, file, best), warnings=warnings)


def _bayesian(file: KeyFile, method: Literal["exact", "occam"], words: str) -> CellRisk:
    fitted = fit_models(file, method)
    matching = bayesian_matching(file, fitted)
    how = f"Bayesian matching, {len(fitted.average.models)} {words}"
    return CellRisk(file, how, partial(_averaged, file, matching), matching, fitted.warnings())


# The linked record at highest risk, with an interval for the person who is at the highest in truth.
#
# Of every record the model says how probable a right match is, and the greatest of these is the value. Who of the
# linked people is found most easily is another question: someone among many may be alone in the population without
# its showing. With t the probability that a link is true and F the people with its key values, the greatest 1/F of
# all true links is 1/m or more unless none has :math:`F \le m`,
#
# .. math:: \Pr(\text{none}) = \prod_{\text{combinations}} (1 - t \Pr(F \le m)),
#
# and the interval has the 1/m between the two ends of that law. F is by the model of the key variables, and by
# Pitman's formula, which knows how many are alone where such models do not; the farthest ends of both count, under
# everything that is possible of the links and the population. A limit is on the value: no intruder knows better than
# the model who is alone, and the upper end is 1 in nearly every sample.

_TAIL = (1.0 - CONFIDENCE) / 2.0
_STEPS = 60  # of bisection for a rate
_MAX_RATE = 1e9

LogNone = Callable[[int], float]
"""Logarithm of the probability that no true link has a person of a combination of at most so many people."""


def largest_risk(cells: Cells, chance: Floats, cases: Sequence[Supposed], fraction: float) -> Measure:
    """Greatest probability of a right match of any linked record, with its interval; the method is left empty.

    `chance` is that of each record by the model. O(cells log N) for each of the cases.
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


def by_model(cells: Cells, rate: Floats, probability: Floats, more: float = 1.0) -> LogNone:
    """By the model of the key variables: F - f is Poisson, with the expected people `rate` of each combination outside
    the file, and each link true with its `probability`."""
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


def rates(cells: Cells) -> Floats:
    """Expected people outside the file of each combination: the rate whose E(1/F) is the model's.

    By bisection of the logarithm; 0 where the model has no one outside, and for combinations of no record.
    """
    f = np.maximum(cells.counts, 1)
    low, high = np.full(len(f), np.log(1e-12)), np.full(len(f), np.log(_MAX_RATE))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        above = expected_reciprocal(f, np.exp(middle)) > cells.correct
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(cells.counts > 0, np.exp((low + high) / 2), 0.0)
