"""A fitted Fellegi-Sunter model, and its scores of comparison vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from gemel.carole.fellegi_sunter.settings import FieldLevels
from gemel.common.arrays import F64, I8, I64, U32, U64, Flags
from gemel.common.documents.result_warning import ResultWarning
from gemel.common.errors import parameter

# Counts of comparison patterns, the only input of estimation from the pairs.
#
# Pairs enter the E and M steps only through how often each comparison vector occurs, so the cost of estimation
# does not depend on the number of pairs.


MISSING = -1
"""The level of a field that is missing on either side of a pair."""


@dataclass(frozen=True)
class PatternCounts:
    """How often each comparison vector occurs under each set of blocking rules; a pair is counted in one row only.

    `gamma` (int8, shape (n_patterns, n_fields)): comparison levels, 0 (least similar) upwards, or ``MISSING``; `mask`
    (uint32, shape (n_patterns,)): bit r is set when the pairs counted satisfy blocking rule r; 0 everywhere when
    nothing is blocked; `count` (int64, shape (n_patterns,)).
    """

    gamma: I8
    mask: U32
    count: I64

    def __post_init__(self) -> None:
        n, dimensions = len(self.gamma), self.gamma.ndim
        shapes = self.mask.shape, self.count.shape
        lowest, fewest = int(self.gamma.min(initial=MISSING)), int(self.count.min(initial=0))
        for what, holds, got in (
            ("gamma must have two dimensions", dimensions == 2, str(dimensions)),
            (f"mask and count must have shape ({n},), as gamma has {n} rows", shapes == ((n,), (n,)),
             f"{shapes[0]} and {shapes[1]}"),
            (f"levels must be {MISSING} (missing) or more", lowest >= MISSING, str(lowest)),
            ("counts must not be negative", fewest >= 0, str(fewest)),
        ):  # fmt: skip
            if not holds:
                raise parameter("pattern counts", what, got, "count the pairs again")

    @property
    def n_patterns(self) -> int:
        return int(self.gamma.shape[0])

    @property
    def n_fields(self) -> int:
        return int(self.gamma.shape[1])

    @property
    def n_pairs(self) -> int:
        return int(self.count.sum())


# Compiled passes over the patterns.
#
# Tables of logarithms have one column more than there are levels, holding 0: a missing level is -1, which indexes
# that last column, so that a missing field adds nothing without a branch.


@njit(nogil=True, cache=True)
def expectation(
    gamma: I8, count: F64, identified: U64, log_m: F64, log_u: F64, log_p: float, log_q: float, matches: F64,
    others: F64,
) -> tuple[float, float]:  # fmt: skip
    """Write expected numbers of matches and non-matches by field and level; returns all matches, and the likelihood.

    `identified`: bit q is set where a row identifies m of field q; `log_m`, `log_u`: shape (n_fields, n_levels + 1).
    """
    n, n_fields = gamma.shape
    matches[:] = 0.0
    others[:] = 0.0
    total = 0.0
    log_likelihood = 0.0
    for i in range(n):
        a = log_p
        b = log_q
        for q in range(n_fields):
            k = gamma[i, q]
            a += log_m[q, k]
            b += log_u[q, k]
        if a == -np.inf and b == -np.inf:
            log_likelihood = -np.inf
            continue
        d = a - b
        if d > 0:
            e = np.exp(-d)
            g = 1.0 / (1.0 + e)
            log_likelihood += count[i] * (a + np.log1p(e))
        else:
            e = np.exp(d)
            g = e / (1.0 + e)
            log_likelihood += count[i] * (b + np.log1p(e))
        g *= count[i]
        h = count[i] - g
        total += g
        bits = identified[i]
        for q in range(n_fields):
            k = gamma[i, q]
            if k >= 0 and (bits >> np.uint64(q)) & np.uint64(1):
                matches[q, k] += g
                others[q, k] += h
    return total, log_likelihood


@njit(nogil=True, cache=True)
def summed(gamma: I8, table: F64) -> F64:
    """Sum over fields of a table's entry at the field's level; its last column is for missing ones."""
    n, n_fields = gamma.shape
    total = np.zeros(n)
    for i in range(n):
        for q in range(n_fields):
            total[i] += table[q, gamma[i, q]]
    return total


def level_counts(gamma: I8, count: I64, n_levels: int) -> F64:
    """Number of pairs by field and level, missing ones left out: shape (n_fields, n_levels)."""
    fields = ((field[field >= 0], count[field >= 0]) for field in gamma.T)
    return np.stack([np.bincount(levels, pairs, minlength=n_levels) for levels, pairs in fields]).astype(np.float64)


@dataclass(frozen=True)
class History:
    """The sequence of parameters in EM, from its start to its end.

    `p` (float64, shape (n_states,)); `m` (float64, shape (n_states, n_fields, n_levels)); `log_likelihood` (float64,
    shape (n_states,)): natural logarithm, of the pairs counted.
    """

    p: F64
    m: F64
    log_likelihood: F64


@dataclass(frozen=True)
class Model:
    """A fitted model.

    `m`, `u` (float64, shape (n_fields, n_levels)): ``m[q, k]`` is P(level k in field q | match), `u` the same for a
    non-match. A field with fewer levels than the maximum has zeros after them; `p`: share of matches among all n_a *
    n_b pairs; `log_likelihood`: of the pairs counted, natural logarithm; `identified`: False if other parameters fit
    these counts as well; `matches_behind_m` (float64, shape (n_fields,)): expected matches from which each row of `m`
    was estimated; `warnings`: what a user should know before relying on the numbers.
    """

    fields: tuple[FieldLevels, ...]
    m: F64
    u: F64
    p: float
    n_a: int
    n_b: int
    log_likelihood: float
    converged: bool
    iterations: int
    distance: float
    identified: bool
    matches_behind_m: F64
    warnings: tuple[ResultWarning, ...]
    history: History

    @property
    def expected_matches(self) -> float:
        return self.p * self.n_a * self.n_b

    def match_probabilities(self, gamma: I8) -> F64:
        """Match probabilities of comparison vectors, each pair without its rivals."""
        return probability_of(match_weights(gamma, self.m, self.u), self.p)


def log2_ratios(m: F64, u: F64) -> F64:
    """Log2 of m / u by field and level; 0 where both are 0, as such a level was never seen."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((m == 0) & (u == 0), 0.0, np.log2(m) - np.log2(u))


def table_sums(gamma: I8, table: F64) -> F64:
    """Sum over fields of a table's entry at the field's level, 0 for a missing one: shape (n_patterns,)."""
    total: F64 = summed(np.ascontiguousarray(gamma), np.hstack([table, np.zeros((len(table), 1))]))
    return total


def match_weights(gamma: I8, m: F64, u: F64) -> F64:
    r"""Fellegi-Sunter match weight of each comparison vector, in bits.

    Parameters
    ----------
    gamma : ndarray of int8, shape (n_patterns, n_fields)
        Comparison levels, 0 to ``n_levels - 1``, or ``MISSING``.
    m, u : ndarray of float64, shape (n_fields, n_levels)
        ``m[q, k]`` is P(level k in field q | match); `u` for a non-match.

    Returns
    -------
    ndarray of float64, shape (n_patterns,)
        Log2 Bayes factors; a weight of 1 doubles the odds of a match.

    Notes
    -----
    Fields independent given match status, missing at random (adds 0). O(n_patterns * n_fields).

    References
    ----------
    .. [1] Fellegi and Sunter, JASA 64, 1969. doi:10.1080/01621459.1969.10501049
    """
    return table_sums(gamma, log2_ratios(m, u))


def probability_of(bits: F64, p: float) -> F64:
    """Match probabilities of pairs of these match weights, in bits, at a share p of matches."""
    return probability(bits * np.log(2.0) + np.log(p) - np.log1p(-p))


def probability(log_odds: F64) -> F64:
    """Logistic function, without overflow."""
    small = np.exp(-np.abs(log_odds))
    return np.where(log_odds >= 0, 1.0, small) / (1.0 + small)


# u, the distribution of levels among non-matches, from the distribution over all pairs.
#
# Nearly all pairs are non-matches, so u is close to r, the share of each level among all pairs (Jaro 1989). The
# difference is p (m - u), which matters where u is of the order of p: on a field with many values most of the
# agreeing pairs are matches, and r then counts them as chance agreement. The correction removes the share of
# the matches: r = p m + (1 - p) u.


def within_levels(n_levels: Sequence[int]) -> Flags:
    """Which entries of a (n_fields, max n_levels) table are levels of their field."""
    widths = np.asarray(n_levels, dtype=np.int64)
    return np.asarray(np.arange(int(widths.max()))[None, :] < widths[:, None])


def shares(counts: F64, valid: Flags, prior: float) -> F64:
    """Posterior mean of each field's distribution of levels under a Dirichlet prior of `prior` pseudo-pairs, even.

    `counts`, `valid` (shape (n_fields, n_levels)): pairs, and which entries are levels; the others stay 0. A row
    without any count and without prior is uniform.
    """
    even = valid / valid.sum(axis=1, keepdims=True)
    smoothed = np.where(valid, counts, 0.0) + prior * even
    total = smoothed.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, smoothed / np.where(total > 0, total, 1.0), even))


def corrected(counts: F64, m: F64, p: float, valid: Flags, prior: float) -> F64:
    """Distribution of levels among non-matches, (r - p m) / (1 - p), kept a distribution: shape (n_fields, n_levels).

    `counts`: pairs by level, over all pairs or a random sample of them; `prior`: pseudo-pairs, as in `shares`.

    Where the matches exceed the pairs of a level, only the prior's share remains: with the true p and m that happens by
    chance only; otherwise it indicates that p m is too large.
    """
    total = counts.sum(axis=1, keepdims=True)
    left = np.maximum(counts - p * total * m, 0.0)
    # Rounding errors would appear as evidence: a level whose pairs are all matches has none.
    left[left < 1e-12 * total] = 0.0
    return shares(left, valid, prior)
