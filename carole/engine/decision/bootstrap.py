"""A bootstrap of a run: what its claims are worth if its classes of pairs are what it takes them to be.

In each replicate the truth is drawn first, from the link probabilities, on the real graph of candidate pairs: a record
with three likely partners has three again, so that records compete as they do in the files. Then every candidate pair
draws a comparison vector: a match from the vectors of the expected matches, another pair from the vectors of the kept
pairs less the expected matches. Matches may draw one that is too dissimilar to be kept, and are then lost. Only counts
of vectors and kept pairs are drawn, never the other pairs. The whole second half of the run, estimation and decision,
is done again on what was drawn, and what it then claims is compared with the truth that was drawn.

Vectors are drawn from expected counts rather than from m and u, so that other pairs are as alike as they really are:
those that lost a record to a sure link are known to be no match, and where kin are among them the claims of a model of
independent fields turn out to be false, although its own m and u would never show it.

Each replicate costs as much as the run's own estimation and decision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.evaluation.quality_estimate import Claim
from gemel.carole.fellegi_sunter import PatternCounts
from gemel.common.progress import StageProgress


@dataclass(frozen=True)
class Decided:
    """What a run decides on some pairs."""

    links: NDArray[np.int64] = dataclass_field(repr=False)
    claim: Claim


@dataclass(frozen=True)
class Fitted:
    """What replicates are drawn from.

    Attributes
    ----------
    patterns
        The run's comparison vectors.
    kept
        Its kept pairs.
    persons
        Int, shape (n_kept,) each: a number for the person behind the record of A, and of B, of each pair. Pairs of the
        same two persons have equal records.
    probability
        float64, shape (n_kept,): link probability of each.
    not_kept
        float64, shape (n_patterns,): expected matches among pairs of each vector that were not kept.
    once
        Whether a person of A, and of B, has one match at most.
    """

    patterns: PatternCounts = dataclass_field(repr=False)
    kept: KeptPairs = dataclass_field(repr=False)
    persons: tuple[NDArray[np.integer], NDArray[np.integer]] = dataclass_field(repr=False)
    probability: NDArray[np.float64] = dataclass_field(repr=False)
    not_kept: NDArray[np.float64] = dataclass_field(repr=False)
    once: tuple[bool, bool]


@dataclass(frozen=True)
class Replicates:
    """Claims and truth of all replicates: float64, shape (n_replicates, 2), precision and recall."""

    claimed: NDArray[np.float64]
    true: NDArray[np.float64]


def replicates(
    fitted: Fitted,
    decide: Callable[[PatternCounts, KeptPairs, NDArray[np.bool_]], Decided],
    number: int,
    rng: np.random.Generator,
    progress: StageProgress,
) -> Replicates:
    """Draw files from a fitted model, and link them again.

    Parameters
    ----------
    fitted : Fitted
    decide : callable
        Estimates and decides from counts and kept pairs, as the run did; the third argument is which of the run's kept
        pairs these are.
    number : int
        Replicates.
    rng : numpy.random.Generator
        Decides everything.
    progress : callable
        Called with the fraction done.

    Notes
    -----
    Beside `decide`, O(n_kept + n_patterns) for each replicate.
    """
    patterns, kept = fitted.patterns, fitted.kept
    matches = np.bincount(kept.pattern, fitted.probability, minlength=patterns.n_patterns) + fitted.not_kept
    was_kept = np.zeros(patterns.n_patterns, dtype=np.bool_)
    was_kept[kept.pattern] = True
    others = np.where(was_kept, np.maximum(patterns.count - matches, 0.0), 0.0)
    a, b = fitted.persons
    _, first, member = np.unique(a.astype(np.int64) << 32 | b.astype(np.int64), return_index=True, return_inverse=True)
    claimed, true = np.empty((number, 2)), np.empty((number, 2))
    for k in range(number):
        match = drawn_matches(a[first], b[first], fitted.probability[first], fitted.once, rng)
        drawn = np.empty(len(match), dtype=np.int32)
        drawn[match] = _drawn(matches, int(match.sum()), rng)
        drawn[~match] = _drawn(others, int((~match).sum()), rng)
        is_match, pattern = match[member.ravel()], drawn[member.ravel()]
        n_matches = int(is_match.sum())
        count = np.where(was_kept, 0, patterns.count) + np.bincount(pattern, minlength=patterns.n_patterns)
        stays = was_kept[pattern]
        decided = decide(
            PatternCounts(patterns.gamma, patterns.mask, count.astype(np.int64)),
            KeptPairs(kept.row_a[stays], kept.row_b[stays], pattern[stays]),
            stays,
        )
        right = int(is_match[stays][decided.links].sum())
        claimed[k] = decided.claim.precision, decided.claim.recall
        true[k] = right / len(decided.links) if len(decided.links) else 1.0, right / max(n_matches, 1)
        progress((k + 1) / number)
    return Replicates(claimed, true)


def drawn_matches(
    a: NDArray[np.integer],
    b: NDArray[np.integer],
    probability: NDArray[np.float64],
    once: tuple[bool, bool],
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Which pairs match, drawn from their link probabilities: bool, shape (n_pairs,).

    Each person who has one match at most draws a candidate or none. Where two have drawn the same person,
    and it has one match at most too, one of them at random keeps it: somewhat fewer matches than expected, where
    people compete closely.
    """
    n = len(probability)
    if not any(once):
        return np.asarray(rng.random(n) < probability)
    rows, others = (a, b) if once[0] else (b, a)
    order = np.argsort(rows, kind="stable")
    _, first, which = np.unique(rows[order], return_index=True, return_inverse=True)
    until = np.cumsum(probability[order])
    since = until - probability[order]
    start = since[first][which]
    u = rng.random(len(first))[which]
    drawn = order[(since - start <= u) & (u < until - start)]
    if all(once):
        drawn = rng.permutation(drawn)
        _, earliest = np.unique(others[drawn], return_index=True)
        drawn = drawn[earliest]
    chosen = np.zeros(n, dtype=np.bool_)
    chosen[drawn] = True
    return chosen


def _drawn(weight: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Positions drawn with probabilities proportional to `weight`."""
    until = np.cumsum(weight)
    if n == 0:
        return np.zeros(0, dtype=np.int64)
    drawn: NDArray[np.int64] = np.searchsorted(until, rng.random(n) * until[-1], side="right")
    return np.minimum(drawn, len(weight) - 1)
