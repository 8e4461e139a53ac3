"""Passes over the pairs: those for estimating the value model, counts by pattern and Bayes factor, those to keep.

EM needs only how often each pattern occurs with each Bayes factor. Factors are rounded to a grid, so that
their number is bounded whatever the number of pairs: at the default resolution a posterior probability is moved by
less than a two-thousandth.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gemel.carole.comparison.counting import PatternCounter
from gemel.carole.extended_latent.compiled import BayesFactors
from gemel.carole.extended_latent.kernels import take
from gemel.carole.extended_latent.pairs import Pairs, WeightedPairs
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.progress import StageProgress

MAX_CLASSES = 1 << 23
"""Maximum number of distinct patterns and Bayes factors."""

_ONE = np.ones(1, dtype=np.int64)

_Sample = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]
"""Rows of A, rows of B and what each pair counts for, of one batch."""


@dataclass(frozen=True)
class Classes:
    """Pairs counted by pattern and Bayes factor.

    Parameters
    ----------
    pattern : ndarray of int32, shape (n_classes,)
    log_factor : ndarray of float64, shape (n_classes,)
        Natural log Bayes factor, rounded.
    count : ndarray of float64, shape (n_classes,)
    """

    pattern: NDArray[np.int32] = field(repr=False)
    log_factor: NDArray[np.float64] = field(repr=False)
    count: NDArray[np.float64] = field(repr=False)


def sampled_pairs(
    pairs: Pairs, weight: NDArray[np.float64], heaviest: float, seed: int, progress: StageProgress
) -> WeightedPairs:
    """Pairs to estimate from, weighted by the match probability of their pattern.

    Parameters
    ----------
    pairs : Pairs
    weight : ndarray of float64, shape (n_patterns,)
        Match probability of each pattern.
    heaviest : float
        A pair of smaller weight is taken with probability weight / heaviest and then counts as `heaviest`, so that
        every pattern has its expected weight; 0 takes all pairs.
    seed : int
    progress : callable

    Returns
    -------
    WeightedPairs
        About (expected matches) / `heaviest` of them.
    """

    def visit(row_a: NDArray[np.int32], row_b: NDArray[np.int32], pattern: NDArray[np.int32]) -> _Sample:
        return _sampled(row_a, row_b, weight[pattern], heaviest, seed)

    return _together(list(pairs.map(visit, progress)))


def posterior_pairs(
    pairs: Pairs,
    factors: BayesFactors,
    log_odds: NDArray[np.float64],
    heaviest: float,
    seed: int,
    progress: StageProgress,
) -> WeightedPairs:
    """The same by the extended match probabilities: `log_odds` are those of the patterns alone."""

    def visit(row_a: NDArray[np.int32], row_b: NDArray[np.int32], pattern: NDArray[np.int32]) -> _Sample:
        odds = log_odds[pattern] + factors.log(row_a, row_b)
        return _sampled(row_a, row_b, 1 / (1 + np.exp(-np.clip(odds, -700, 700))), heaviest, seed)

    return _together(list(pairs.map(visit, progress)))


def _sampled(
    row_a: NDArray[np.int32], row_b: NDArray[np.int32], weight: NDArray[np.float64], heaviest: float, seed: int
) -> _Sample:
    taken, counts_as = np.empty(len(row_a), np.int64), np.empty(len(row_a))
    n = take(row_a, row_b, weight, heaviest, seed, taken, counts_as)
    at = taken[:n]
    return row_a[at], row_b[at], counts_as[:n].copy()


def _together(samples: list[_Sample]) -> WeightedPairs:
    if not samples:
        return WeightedPairs(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
    return WeightedPairs(*(np.concatenate(column) for column in zip(*samples, strict=True)))


def counted(
    pairs: Pairs, count: NDArray[np.int64], factors: BayesFactors, resolution: float, progress: StageProgress
) -> Classes:
    """Count pairs by pattern and Bayes factor.

    Parameters
    ----------
    pairs : Pairs
    count : ndarray of int64, shape (n_patterns,)
        All pairs of each pattern. Those that are not among `pairs` count with a factor of 1, its mean among non-matches
        whatever the value model.
    factors : BayesFactors
    resolution : float
        Log factors are rounded to its multiples.

    Raises
    ------
    GemelError
        MEMORY if there are more than `MAX_CLASSES` classes.
    """
    table = PatternCounter(MAX_CLASSES)

    def visit(
        row_a: NDArray[np.int32], row_b: NDArray[np.int32], pattern: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]:
        part = PatternCounter(len(row_a))
        grid = np.rint(factors.log(row_a, row_b) / resolution).astype(np.int64)
        part.add(grid, pattern.astype(np.uint32), _ONE, len(grid))
        return part.items()

    for code, mask, seen in pairs.map(visit, progress):
        if not table.add(code, mask, seen, len(code)):
            raise GemelError(
                ErrorCode.MEMORY,
                f"more than {MAX_CLASSES:,} distinct patterns and Bayes factors",
                where="latent.resolution",
                remedy="use a coarser resolution",
            )
    code, mask, seen = table.items()
    rest = count - np.bincount(mask, seen, minlength=len(count)).astype(np.int64)
    others = np.flatnonzero(rest > 0)
    code = np.concatenate([code, np.zeros(len(others), dtype=np.int64)])
    mask = np.concatenate([mask, others.astype(np.uint32)])
    seen = np.concatenate([seen, rest[others]])
    order = np.lexsort((code, mask))
    return Classes(
        mask[order].astype(np.int32), np.asarray(code[order] * resolution, np.float64), seen[order].astype(np.float64)
    )


@dataclass(frozen=True)
class KeptPairs:
    """Pairs kept by their extended score.

    Parameters
    ----------
    row_a, row_b, pattern : ndarray of int32, shape (n_pairs,)
    log_factor : ndarray of float64, shape (n_pairs,)
        Natural log Bayes factor of the values, not rounded.
    """

    row_a: NDArray[np.int32] = field(repr=False)
    row_b: NDArray[np.int32] = field(repr=False)
    pattern: NDArray[np.int32] = field(repr=False)
    log_factor: NDArray[np.float64] = field(repr=False)


def kept(
    pairs: Pairs, factors: BayesFactors, score: NDArray[np.float64], minimum: float, progress: StageProgress
) -> KeptPairs:
    """Pairs whose pattern's score and log Bayes factor together reach `minimum` (natural logarithms)."""

    def visit(
        row_a: NDArray[np.int32], row_b: NDArray[np.int32], pattern: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        log_factor = factors.log(row_a, row_b)
        at = np.flatnonzero(score[pattern] + log_factor >= minimum)
        return row_a[at], row_b[at], pattern[at], log_factor[at]

    found = list(pairs.map(visit, progress))
    if not found:
        none = np.zeros(0, dtype=np.int32)
        return KeptPairs(none, none, none, np.zeros(0))
    return KeptPairs(*(np.concatenate(column) for column in zip(*found, strict=True)))
