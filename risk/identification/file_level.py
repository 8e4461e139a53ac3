"""File measures: one number for the whole release, from the sample alone or beside the population.

Notation of T11 chapter 5: f_j and F_j are the sample and population counts of combination j of key values; a sample
unique (SU) has f_j = 1, a population unique (PU) F_j = 1; pi is the sampling fraction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats
from gemel.risk.identification.coding import agreeing
from gemel.risk.identification.key_file import KeyFile


@dataclass(frozen=True)
class Dis:
    """The DIS estimate of Pr(CM | UM): the chance that a unique match against the file is a correct one.

    `value`: the estimate; 0 where the file has no sample unique. `low`, `high`: confidence interval. Where the file has
    no pair, nothing bounds the risk from above but 1, and the lower limit is that of a Poisson count of no pairs.
    `pairs`: combinations that two records share, n2.
    """

    value: float
    low: float
    high: float
    level: float
    uniques: int
    pairs: float


def dis(n1: float, n2: float, n3: float, fraction: float, level: float = 0.95) -> Dis:
    r"""DIS, :math:`\pi n_1 / (\pi n_1 + 2 (1 - \pi) n_2)`, with its interval.

    `n1`, `n2`, `n3`: numbers of combinations that occur once, twice, three times in the sample.

    The interval is the delta method on the logit. With c = (1 - pi)/pi and S = 2 c n2 (the estimated number of people
    outside the sample who share a combination with a sample unique), the logit is log n1 - log S and its variance
    1/n2 + (S + 6 c^2 n3)/S^2. Measured coverage .93 to .95. A bootstrap of records is no alternative: it copies
    records, turns uniques into pairs and covers nothing.

    References
    ----------
    .. [1] Skinner and Elliot, A measure of disclosure risk for microdata, JRSS B 64, 2002.
    .. [2] Elliot, Integrating file and record level disclosure risk assessment, 2002.
    """
    if not 0.0 < fraction <= 1.0:
        raise parameter("fraction", "the sampling fraction must lie above 0 and be at most 1", f"{fraction:g}")
    if min(n1, n2, n3) < 0:
        raise parameter("n1, n2, n3", "numbers of combinations cannot be negative")
    if not 0.0 < level < 1.0:
        raise parameter("level", "a confidence lies between 0 and 1", f"{level:g}")
    c = (1.0 - fraction) / fraction
    return _by_company(n1, n2, c * n2, c * c * n2, c * c * n3, c, level)


def _by_company(
    n1: float, n2: float, total: float, square: float, square_of_three: float, typical: float, level: float
) -> Dis:
    """By what combinations of two and of three records say of people outside the sample."""
    if n1 == 0:
        return Dis(0.0, 0.0, 0.0, level, 0, n2)
    if typical == 0.0:
        return Dis(1.0, 1.0, 1.0, level, int(n1), n2)
    if total == 0.0:
        maximum = -math.log(1.0 - level)  # the mean of a Poisson count that is 0 with probability 1 - level
        return Dis(1.0, n1 / (n1 + 2.0 * typical * maximum), 1.0, level, int(n1), 0.0)
    S = 2.0 * total
    variance = square / total**2 + (S + 6.0 * square_of_three) / S**2
    spread = float(ndtri(0.5 + level / 2.0)) * math.sqrt(variance)
    logit = math.log(n1 / S)
    return Dis(n1 / (n1 + S), _expit(logit - spread), _expit(logit + spread), level, int(n1), n2)


def file_dis(file: KeyFile, level: float = 0.95, weights: Floats | None = None) -> Dis:
    """DIS of a file.

    Where missing values agree with everything, n_r is a rth of the records with frequency r. Where units were sampled
    whole it is a rth of the records that are alone of their unit in a combination of r units. With weights (the people
    each record stands for) each combination has the people outside that its own weights lead to expect.
    """
    if file.units is None:
        own, number = file.counts.astype(np.float64), file.sizes
    else:
        own, number = file.lone.astype(np.float64), file.units_of_cells
    n1, n2, n3 = (float(own[number == r].sum()) / r for r in (1, 2, 3))
    if file.units is not None:
        n1 = float(len(file.uniques))
    if weights is None:
        return dis(n1, n2, n3, file.fraction, level)
    c = np.maximum(np.bincount(file.of_record, weights, len(file.cells)) / file.counts - 1.0, 0.0)
    parts = [(c[number == r], own[number == r] / r) for r in (1, 2, 3)]
    (c1, w1), (c2, w2), (c3, w3) = parts
    typical = float((c1 * w1).sum() / w1.sum()) if len(c1) else 0.0
    sums = (float((c2 * w2).sum()), float((c2**2 * w2).sum()), float((c3**2 * w3).sum()))
    return _by_company(n1, n2, *sums, typical, level)


def population_measures(file: KeyFile) -> dict[str, float]:
    """The file measures of the population by their names; none where it is not known.

    A file without sample uniques has 0 for those that condition on them (T11 chapter 5).
    """
    F, cells, counts = file.population_sizes, file.population_cells, file.population_counts
    if F is None or cells is None or counts is None:
        return {}
    whole = counts if file.missing == "level" else agreeing(cells, cells, counts, file.levels)
    own = F[file.sizes == 1].astype(float)
    some = len(own) > 0
    return {
        "Pr(PU)": float((counts * (whole == 1)).sum()) / file.population_total,
        "Pr(PU | SU)": float((own == 1).mean()) if some else 0.0,
        "Pr(CM | UM)": len(own) / float(own.sum()) if some else 0.0,
        "Pr(CM | SU)": float((1.0 / own).mean()) if some else 0.0,
    }


def _expit(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x > -700 else 0.0
