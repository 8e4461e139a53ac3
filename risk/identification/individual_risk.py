r"""Individual risk with sampling weights: Benedetti and Franconi, as mu-Argus and sdcMicro have it.

Given f records of a combination, F people have it with :math:`P(F = h | f) = \binom{h-1}{f-1} p^f (1-p)^{h-f}`, h from
f on: negative binomial, p the chance that one of them is in the sample, estimated by f over the weights of the class.
The risk of a record is E[1/F | f]. It uses no model of how keys go together: a class of one record with a weight of 500
has risk .012 whatever its key values, where a log-linear model may know that hardly anyone else can have them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from gemel.common.errors import parameter
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.missing_agreement import agreeing
from gemel.risk.identification.survey_weights import Weights, check_weights

_CLIMBED = 40  # f up to which the recursion is used; above it the series has few terms for any p
_LIMITS = (0.01, 0.05, 0.1, 0.2)  # of the records' risk, above which they are counted


@dataclass(frozen=True, eq=False)
class IndividualRisk:
    """The risk of each record.

    Parameters
    ----------
    records : ndarray of float64, shape (n_records,)
        E[1/F | f] of each.
    population : ndarray of float64, shape (n_cells,)
        Estimated people of each combination: the weights of the records that agree with it.
    short
        Records in classes whose weights sum to less than their number: taken for the whole class, with risk 1/f.
    """

    records: NDArray[np.float64] = field(repr=False)
    population: NDArray[np.float64] = field(repr=False)
    short: int

    @property
    def expected(self) -> float:
        """Global risk of the file: expected re-identifications if every record is matched once."""
        return float(self.records.sum())


def individual_risk(file: KeyFile, weights: Weights | None = None) -> IndividualRisk:
    """Risk of every record from the weights of its class.

    Parameters
    ----------
    file
        The records. Where missing values agree with everything, a class is all records that agree.
    weights : ndarray of float64, shape (n_records,), optional
        People each record stands for, above 0; by default 1 over the sampling fraction.

    Notes
    -----
    O(n log n) and at most 40 steps for each class.

    References
    ----------
    .. [1] Benedetti and Franconi, Statistical and technological solutions for controlled data dissemination, 1998.
    .. [2] Franconi and Polettini, Individual risk estimation in mu-Argus: a review, LNCS 3050, 2004.
       doi:10.1007/978-3-540-25955-8_20
    """
    if weights is None:
        given = np.full(file.n_records, 1.0 / file.fraction)
    else:
        given = check_weights(weights, n_records=file.n_records)
    people = np.bincount(file.of_record, given, len(file.cells)).astype(np.float64)
    if file.missing == "any":
        people = agreeing(file.cells, file.cells, people, file.levels)
    sizes = file.sizes
    share = sizes / people
    risk = expected_reciprocal_of_sampled(sizes, np.minimum(share, 1.0))
    return IndividualRisk(risk[file.of_record], people, int(file.counts[share > 1.0 + 1e-9].sum()))


def individual_risk_document(file: KeyFile, weights: Weights) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """Figures of a file ready for JSON, the truth beside them where the population is known; and the records' risk."""
    found = individual_risk(file, weights)
    F = file.population_sizes
    return {
        "expected_reidentifications": found.expected,
        "share": found.expected / file.n_records,
        "true_reidentifications": None if F is None else float((file.counts / F).sum()),
        "maximum": float(found.records.max()),
        "records_above": [{"risk": limit, "records": int((found.records > limit).sum())} for limit in _LIMITS],
        "sum_of_weights": float(weights.sum()),
        "records_short_of_weight": found.short,
    }, found.records


def expected_reciprocal_of_sampled(f: ArrayLike, p: ArrayLike) -> NDArray[np.float64]:
    r"""E[1/F | f], F negative binomial: each of F people was sampled with probability p, and f were.

    Parameters
    ----------
    f : array of int
        Sample counts, at least 1.
    p : array of float
        Sampling probabilities, above 0 and at most 1.

    Returns
    -------
    ndarray of float64

    Notes
    -----
    :math:`I_f = \frac{p^f}{f} {}_2F_1(f, f; f+1; q)` with q = 1 - p is :math:`\int_0^1 u^{f-1} / (1 + c u) du` with
    c = q/p. So :math:`I_1 = \log(1 + c)/c` and :math:`I_f = (1/(f-1) - I_{f-1})/c`, stable where c is at least 1.
    Otherwise, and for large f, Pfaff's transformation has positive terms that fall soon:
    :math:`I_f = \frac{p}{f} \sum_k q^k / \binom{f+k}{k}`.
    """
    sizes, shares = np.broadcast_arrays(np.asarray(f, dtype=np.int64), np.asarray(p, dtype=np.float64))
    if sizes.size and (sizes.min() < 1 or not (shares > 0).all() or shares.max() > 1.0):
        raise parameter("f, p", "sample counts must be at least 1, and sampling probabilities above 0 and at most 1")
    found = np.empty(sizes.shape)
    _fill(np.ascontiguousarray(sizes).ravel(), np.ascontiguousarray(shares).ravel(), found.reshape(-1))
    return found


@njit(nogil=True, cache=True)
def _fill(f: NDArray[np.int64], p: NDArray[np.float64], found: NDArray[np.float64]) -> None:
    for i in range(len(f)):
        found[i] = _one(f[i], p[i])


@njit(nogil=True, cache=True)
def _one(f: int, p: float) -> float:
    q = 1.0 - p
    if q == 0.0:
        return 1.0 / f
    c = q / p
    if f == 1:
        return math.log1p(c) / c
    if c >= 1.0 and f <= _CLIMBED:
        value = math.log1p(c) / c
        for size in range(2, f + 1):
            value = (1.0 / (size - 1) - value) / c
        return value
    total, term, k = 1.0, 1.0, 0
    while term > 1e-17 * total:
        term *= q * (k + 1) / (f + k + 1)
        total += term
        k += 1
    return p * total / f
