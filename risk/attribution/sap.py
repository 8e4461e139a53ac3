"""Subtraction attribution probability against fixed bounds, for all sizes of the intruder's knowledge at once.

SAP(k) is the probability that taking k randomly chosen, known individuals out of the population reveals an
empty cell: that for some cell the known people are as many as its upper bound, which happens exactly when that bound is
the true count and all of the cell's people are known. This *static* attacker holds the bounds that the release gives
before subtraction; `subtraction` has the attacker who derives them again afterwards.

With R the cells whose upper bound is their count, sizes c_i, and N people,

    1 - SAP(k) = [x^k] (1+x)^(N - c_R) prod over R of ((1+x)^c_i - x^c_i) / C(N, k)

which needs no sum over subsets of cells. The product is built cell by cell from conditional probabilities, all terms of
one sign, so there is neither cancellation nor overflow at any N.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import binom

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers
from gemel.risk.attribution.laws import log_binomial

_DOUBLES = 1_000  # C(n, n/2) is below the largest double up to n = 1029


def sap(counts: ArrayLike, upper: ArrayLike | None = None, maximum: int | None = None) -> Floats:
    """SAP(0..N) of the static attacker.

    `upper`: upper bounds that the intruder has; by default the counts themselves (an exact table); `maximum`: stop at
    this k: for large populations.

    Returns float64, shape (min(N, most) + 1,): never decreasing; SAP(N) is 1 if any cell is at its bound, 0 else. 1
    throughout when a count of 0 is known.

    O(k * (N + number of cells)) for k up to N or `maximum`.

    References
    ----------
    .. [1] Smith, Aspects of statistical disclosure control, 2011, chapter 3.
    """
    cells, n = _at_bound(counts, upper)
    curve = _some_exhausted(cells, n, n if maximum is None else min(maximum, n))
    # Rounding alone takes it above 1 or lets it fall.
    return np.asarray(np.minimum(np.maximum.accumulate(curve), 1.0))


def expected_zeros(counts: ArrayLike, upper: ArrayLike | None = None) -> Floats:
    """Expected number of recovered zeros for k = 0..N: the sum over cells at their bound of C(N-c, k-c)/C(N, k)."""
    cells, n = _at_bound(counts, upper)
    sizes, times = np.unique(cells, return_counts=True)
    total = np.zeros(n + 1)
    for size, number in zip(sizes, times, strict=True):
        total += number * exhausted(n, int(size))
    return total


def exhausted(n: int, size: int) -> Floats:
    """P(all of `size` given people are among k of n), for k = 0..n: C(n-size, k-size)/C(n, k)."""
    k = np.arange(n + 1)
    steps = [np.maximum(k - i, 0) / (n - i) for i in range(size)]
    return np.prod(steps, axis=0) if steps else np.ones(n + 1)


def _at_bound(counts: ArrayLike, upper: ArrayLike | None) -> tuple[Integers, int]:
    cells = np.asarray(counts, dtype=np.int64).ravel()
    bound = cells if upper is None else np.asarray(upper, dtype=np.int64).ravel()
    if cells.shape != bound.shape:
        raise parameter("", "counts and upper bounds must have one shape")
    if (cells < 0).any() or (bound < cells).any():
        what = "an upper bound is no smaller than the true count"
        got = f"{int((bound < cells).sum())} cells where it is"
        raise parameter("", what, got, "the release does not come from this population, or under another protection")
    return cells[bound == cells], int(cells.sum())


def _some_exhausted(cells: Integers, n: int, maximum: int) -> Floats:
    """P(some cell exhausted) when k of n are known, k = 0..most, where `cells` are among the n."""
    if n <= _DOUBLES:
        return _by_counting(cells, n)[: maximum + 1]
    none, some, size = np.ones(1), np.zeros(1), 0
    for cell in np.sort(cells[cells <= maximum]):  # small ones first: the arrays stay short for longest
        c = int(cell)
        size += c
        fresh_none, fresh_some = np.zeros(min(size, maximum) + 1), np.zeros(min(size, maximum) + 1)
        for s in range(c + 1):
            span = min(len(none), len(fresh_none) - s)
            weight = _hypergeometric(size, c, s, min(size, maximum))[s : s + span]
            fresh_some[s : s + span] += weight * some[:span]
            if s == c:
                fresh_some[s : s + span] += weight * none[:span]
            else:
                fresh_none[s : s + span] += weight * none[:span]
        whole = fresh_none + fresh_some  # 1 but for rounding
        none, some = fresh_none / whole, fresh_some / whole
    return _padded(some, n, size, maximum)


def _by_counting(cells: Integers, n: int) -> Floats:
    """The same for n so small that the numbers of samples, up to C(n, n/2), fit into doubles: two polynomials in x."""
    none, some = np.ones(1), np.zeros(1)
    for c in cells.tolist():
        chosen = _binomials(c)
        fresh = np.convolve(some, chosen)
        fresh[c:] += none
        chosen = chosen.copy()
        chosen[c] = 0.0
        none, some = np.convolve(none, chosen), fresh
    return np.asarray(np.convolve(some, _binomials(n - int(cells.sum()))) / _binomials(n))


@lru_cache(maxsize=4096)
def _binomials(n: int) -> Floats:
    return np.asarray(binom(n, np.arange(n + 1)))


def _padded(inside: Floats, n: int, size: int, maximum: int) -> Floats:
    """From k known among the `size` people considered to k known among all n: average over how many fall inside."""
    if size == n:
        return inside
    result = np.zeros(maximum + 1)
    for outside in range(min(n - size, maximum) + 1):
        span = min(len(inside), maximum + 1 - outside)
        weight = _hypergeometric(n, n - size, outside, maximum)[outside : outside + span]
        result[outside : outside + span] += weight * inside[:span]
    return result


def _hypergeometric(n: int, group: int, s: int, maximum: int) -> Floats:
    """P(s of a group among k of n) for k = 0..most; 0 where impossible."""
    k = np.arange(maximum + 1)
    return np.exp(log_binomial(group, s) + log_binomial(n - group, k - s) - log_binomial(n, k))
