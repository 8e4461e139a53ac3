r"""Calibrated risk of single records: claims that are as often right as they say, anchored at what DIS reads.

The largest tau that a file's own counts allow, whatever the law of the crowds behind its combinations.

Calibrated risk takes a combination's people to follow a gamma law. A sample cannot tell: where a fifth of the
combinations are of a single person and the others of a hundred, and no key tells which, a sample of one per cent looks
as a gamma law's does. What it does tell are two moments of the people behind sample uniques. With Y the other records
of a record's combination, Poisson of mean nu,

.. math:: E[\nu \\mid Y = 0] = 2 n_2 / n_1, \\qquad E[\nu^2 \\mid Y = 0] = 6 n_3 / n_1,

n_r being the combinations of r records. P(F = 1) = exp(-c nu) and E[1/F] = (1 - exp(-c nu))/(c nu) are convex and
falling, and with these moments m1 and m2 their means are greatest where nu is 0 or m2/m1, the latter with probability
m1^2/m2. That is done for strata of combinations of like predictions, each with triples enough, and summed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.risk.arrays import Floats, Integers
from gemel.risk.identification.calibration.crowding import Crowding, fit_crowding, neighbourhood
from gemel.risk.identification.file_level import Dis
from gemel.risk.identification.key_file import KeyFile

_TRIPLES = 100  # of a stratum
_TAU_DRAWS = 400


@dataclass(frozen=True)
class LargestTau:
    tau1: float
    tau2: float


def largest_tau(
    sizes: Integers, weights: Floats, predicted: Floats, c: Floats, confidence: float, rng: np.random.Generator
) -> LargestTau:
    """Upper limits of tau1 and tau2.

    `sizes` (int64, shape (n_cells,)): records of each combination; units, where these were sampled whole; `weights`
    (float64, shape (n_cells,)): records that count, as in `fit_crowding`; `predicted` (float64, shape (n_cells,)): what
    orders the combinations into strata; `c` (float64, shape (n_cells,)): people outside the sample for each in it.
    """
    order = np.argsort(predicted, kind="stable")
    triples = np.cumsum((sizes[order] == 3) * weights[order] / 3.0)
    stratum = np.minimum(triples // _TRIPLES, max(0.0, triples[-1] // _TRIPLES - 1.0))
    drawn = np.zeros((2, _TAU_DRAWS))
    for s in np.unique(stratum):
        own = order[stratum == s]
        n1, n2, n3 = (float(weights[own][sizes[own] == r].sum()) / r for r in (1, 2, 3))
        if n1 == 0:
            continue
        pairs, threes = rng.gamma(n2 + 0.5, size=_TAU_DRAWS), rng.gamma(n3 + 0.5, size=_TAU_DRAWS)
        outside = float(c[own][sizes[own] == 1].mean())
        drawn += n1 * np.stack(greatest_means(2.0 * pairs / n1, 6.0 * threes / n1, outside))
    tau1, tau2 = np.quantile(drawn, confidence, axis=1)
    return LargestTau(float(tau1), float(tau2))


def greatest_means(m1: Floats, m2: Floats, c: float) -> tuple[Floats, Floats]:
    """Greatest P(F = 1) and E[1/F] of sample uniques whose nu has mean m1 and mean square m2."""
    square = np.maximum(m2, m1 * m1)  # moments that no law has are drawn too
    with_company = m1 * m1 / square
    outside = np.maximum(c * square / m1, 1e-12)
    alone = 1.0 - with_company
    return alone + with_company * np.exp(-outside), alone - with_company * np.expm1(-outside) / outside


# A log-linear model that leaves out an interaction is surest where it is most wrong: of the combinations it expects
# least, those seen at all are the ones it misjudges. Here the model's expectation is only a predictor
# (`neighbourhood`), and what it means for a record is read off the file itself: how often records in such a
# neighbourhood have company in the sample (`crowding`).
#
# For a record with y = f - 1 others of its cell in the sample, the sampling fraction pi and c = (1 - pi)/pi, the people
# of the cell outside the sample are negative binomial: their mean has a gamma law of shape a + y and rate
# :math:`(a/\mu + 1)/c`. So with :math:`b = a/\mu + 1`, for a sample unique
#
# .. math:: P(F = 1) = \{b/(b + c)\}^a, \qquad E[F] = 1 + c a/b, \qquad
#    E[1/F] = \frac{b}{c (1 - a)} \left\{ (1 + c/b)^{1 - a} - 1 \right\}.

_DRAWS = 400
LEVEL = 0.95  # of intervals: of the parameters, and of the population behind them, the law taken for granted
_RESTS = 1.5  # largest tau2 over the end of its interval from which a note states that the law decides
_COMPARED = 20  # records up to which the weights of a cell are compared
_NODES = 64  # of the quadrature for records that are not unique


@dataclass(frozen=True)
class Estimate:
    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class CalibratedRisk:
    """Risk of a file's records.

    `tau1`: expected number of sample uniques that are population unique; `tau2`: expected number of correct matches if
    every sample unique were matched to someone at random who fits; `cm_given_um`: Pr(CM | UM), n1 / sum of E[F] over
    the sample uniques: to be compared with DIS; `uniques` (int64, shape (n_uniques,)): numbers of the sample uniques
    among the records; `correct` (float64, shape (n_uniques,)): E[1/F] of each; `of_records` (float64, shape
    (n_records,)): E[1/F] of every record; `crowding`: the fitted law; None where everybody is in the file.
    """

    tau1: Estimate
    tau2: Estimate
    cm_given_um: Estimate
    largest: LargestTau
    uniques: Integers = field(repr=False)
    correct: Floats = field(repr=False)
    of_records: Floats = field(repr=False)
    crowding: Crowding | None = field(repr=False)

    @property
    def converged(self) -> bool:
        """Whether the law was fitted; otherwise no number here is to be relied on."""
        return self.crowding is None or self.crowding.converged

    def summary(self) -> dict[str, Any]:
        return {
            "tau1": asdict(self.tau1),
            "tau2": asdict(self.tau2),
            "cm_given_um": asdict(self.cm_given_um),
            "largest": asdict(self.largest),
            "level": LEVEL,
            "predictors": {} if self.crowding is None else self.crowding.coefficients,
            "converged": self.converged,
        }

    def warnings(self, dis: Dis) -> list[ResultWarning]:
        found = []
        if not self.converged:
            found.append(result_warning("calibration_not_converged"))
        own = self.cm_given_um.value
        if len(self.uniques) and not dis.low <= own <= dis.high:
            found.append(result_warning("calibration_contradicts_dis", own=own, low=dis.low, high=dis.high))
        if self.largest.tau2 > _RESTS * self.tau2.high:
            found.append(result_warning("calibration_rests_on_its_law", largest=self.largest.tau2, high=self.tau2.high))
        return found


def calibrated_risk(file: KeyFile, *, weights: Floats | None = None, seed: int = 1) -> CalibratedRisk:
    """Calibrated risk of every record.

    `file`: the records. Where missing values agree with everything, records have no cell: refused. `weights` (float64,
    shape (n_records,), optional): survey weights, at least 1, where records were not sampled alike. A cell's fraction
    is then that of its weights, shrunk towards the file's as far as weights differ inside cells.

    Refused: missing values agree with everything, no key varies, or fewer than ten combinations occur exactly twice.

    O(K^2 n log n) for K keys. The estimates are at the parameters of greatest posterior density. An interval is from
    400 draws of the parameters, and for each of the population that they lead to expect.
    """
    table = file.table()
    sizes = file.counts
    own = np.flatnonzero(sizes == 1)
    fraction = fractions_of_cells(file, weights)
    c = (1.0 - fraction) / fraction
    records = file.uniques
    if not len(own) or not (c > 0).any():
        exact = Estimate(float(len(own)), float(len(own)), float(len(own)))
        share = Estimate(*(3 * (1.0 if len(own) else 0.0,)))
        every = (fraction / sizes)[file.of_record]  # no law is needed: f/pi people, who are f where all are in the file
        largest = LargestTau(exact.value, exact.value)
        return CalibratedRisk(exact, exact, share, largest, records, np.ones(len(own)), every, None)
    units = file.units_of_cells
    law = fit_crowding(neighbourhood(table), units.astype(float), file.lone.astype(float))
    mu, a = law.law(np.arange(len(sizes)))
    every = expected_reciprocal_with_company(sizes, mu, a, c, units)
    place = np.searchsorted(own, file.of_record[records])
    alone, correct, people = _of_uniques(mu[own], a[own], c[own])
    rng = np.random.default_rng(seed)
    drawn = np.array([_one_population(law, parameters, own, c[own], rng) for parameters in law.draws(_DRAWS, rng)])
    low, high = np.quantile(drawn, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0], axis=0)
    values = (float(alone.sum()), float(correct.sum()), len(own) / float(people.sum()))
    tau1, tau2, share = (
        Estimate(v, min(v, float(lo)), max(v, float(hi))) for v, lo, hi in zip(values, low, high, strict=True)
    )
    largest = largest_tau(units, file.lone.astype(float), mu, c, (1.0 + LEVEL) / 2.0, rng)
    return CalibratedRisk(tau1, tau2, share, largest, records, correct[place], every[file.of_record], law)


def expected_reciprocal_with_company(
    f: Integers | Floats, mu: Floats, a: Floats, c: Floats, units: Integers | None = None
) -> Floats:
    r"""E[1/F] given f, where the other records of a cell have mean mu and shape a.

    `f` (int64 or float64): records of the cell, at least 1; their mean, where they are not known; `mu`, `a`, `c`
    (float64): mean and shape of the law, and people outside for each in the sample; `units` (int64, optional): units
    that the records of the cell are of; by default f.

    With u units, :math:`E[1/F] = \int_0^1 s^{f-1} \{b/(b + c(1-s))\}^{a+u-1} ds`, after :math:`s = t^{1/f}` by Gauss
    and Legendre's rule; the closed form for sample uniques.
    """
    found = np.empty(len(f))
    unique = f == 1
    found[unique] = _of_uniques(mu[unique], a[unique], c[unique])[1]
    others = np.flatnonzero(~unique)
    nodes, parts = np.polynomial.legendre.leggauss(_NODES)
    t, parts = (nodes + 1.0) / 2.0, parts / 2.0
    size = f[others].astype(float)
    own_units = size if units is None else units[others].astype(float)
    b = a[others] / mu[others] + 1.0
    total = np.zeros(len(others))
    for node, part in zip(t, parts, strict=True):
        s = node ** (1.0 / size)
        total += part * np.exp(-(a[others] + own_units - 1.0) * np.log1p(c[others] * (1.0 - s) / b))
    found[others] = total / size
    return found


def _of_uniques(mu: Floats, a: Floats, c: Floats) -> tuple[Floats, Floats, Floats]:
    """P(F = 1), E[1/F] and E[F] of sample uniques."""
    ratio = c / (a / mu + 1.0)  # c / b
    grown = np.log1p(ratio)
    exponent = (1.0 - a) * grown
    near = np.abs(exponent) < 1e-9  # a is 1, or there is no one outside
    safe = np.where(near, 1.0, exponent)
    outside = ratio > 0
    mean_rate = np.where(outside, grown / np.where(outside, ratio, 1.0), 1.0)
    correct = mean_rate * np.where(near, 1.0, np.expm1(safe) / safe)
    return np.exp(-a * grown), correct, 1.0 + a * ratio


def _one_population(
    law: Crowding, parameters: Floats, own: Integers, c: Floats, rng: np.random.Generator
) -> tuple[float, float, float]:
    """tau1, tau2 and Pr(CM | UM) of one population that the parameters lead to expect."""
    mu, a = law.law(own, parameters)
    outside = rng.poisson(np.minimum(rng.gamma(a) * c / (a / mu + 1.0), 1e12))
    return float((outside == 0).sum()), float((1.0 / (1.0 + outside)).sum()), len(own) / float((1.0 + outside).sum())


def fractions_of_cells(file: KeyFile, weights: Floats | None) -> Floats:
    if weights is None:
        return np.full(len(file.cells), file.fraction)
    given = file.survey_weights(weights)
    outside, cell, f = given - 1.0, file.of_record, file.counts
    mean = float(outside.mean())
    own = np.bincount(cell, outside, len(f)) / f
    alike = _likeness(np.log(given), cell, f)
    trust = f * alike / (f * alike + 1.0 - alike) if alike < 1.0 else np.ones(len(f))
    return np.asarray(1.0 / (1.0 + mean + trust * (own - mean)), dtype=np.float64)


def _likeness(logs: Floats, cell: Integers, f: Integers) -> float:
    """How alike the weights inside a cell are: the correlation of two records' logarithms; 1 where none vary.

    A cell of few records whose weights differ inside cells says little of the people it stands for.
    """
    off = logs - logs.mean()
    total, square = np.bincount(cell, off, len(f)), np.bincount(cell, off * off, len(f))
    several = (f >= 2) & (f <= _COMPARED)
    spread = float(square[several].sum())
    if spread <= 1e-12:
        return 1.0
    together = ((total[several] ** 2 - square[several]) / (f[several] - 1)).sum()
    return float(np.clip(together / spread, 0.0, 1.0))
