"""EM for m (and p, where it is free) with the Bayes factors of the values fixed.

As in Fellegi-Sunter's, pairs enter through counts only, here of patterns with each Bayes factor. u is fixed: it is the
distribution over all pairs, whatever their values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gemel.carole.comparison.counting import PatternCounter
from gemel.carole.extended_latent.compiled import BayesFactors
from gemel.carole.extended_latent.kernels import expectation, take
from gemel.carole.extended_latent.settings import ExtendedSettings
from gemel.carole.extended_latent.variables import Pairs, Visit, WeightedPairs
from gemel.carole.fellegi_sunter.model import Model, PatternCounts, shares, table_sums, within_levels
from gemel.carole.fellegi_sunter.model_warnings import expected_levels
from gemel.common.arrays import F64, I32, I64, U32
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.progress import StageProgress

# Passes over the pairs: those for estimating the value model, counts by pattern and Bayes factor, those to keep.
#
# EM needs only how often each pattern occurs with each Bayes factor. Factors are rounded to a grid, so that
# their number is bounded whatever the number of pairs: at the default resolution a posterior probability is moved by
# less than a two-thousandth.


MAX_CLASSES = 1 << 23
"""Maximum number of distinct patterns and Bayes factors."""

_ONE = np.ones(1, dtype=np.int64)


@dataclass(frozen=True)
class Classes:
    """Pairs counted by pattern and Bayes factor; each of shape (n_classes,)."""

    pattern: I32 = field(repr=False)
    log_factor: F64 = field(repr=False)  # natural, rounded
    count: F64 = field(repr=False)

    def weights(self, by_pattern: F64) -> F64:
        """Match weight of each class in bits, agreement and values together, from those of the patterns."""
        return np.asarray(by_pattern[self.pattern] + self.log_factor / math.log(2.0))


def sampled_pairs(
    pairs: Pairs, probability: Visit[F64], heaviest: float, seed: int, progress: StageProgress
) -> WeightedPairs:
    """Pairs to estimate from, weighted by their match probabilities: about (expected matches) / `heaviest` of them.

    A pair of smaller probability than `heaviest` is taken with probability / `heaviest` and then counts as `heaviest`,
    so that every pattern has its expected weight; 0 takes all pairs.
    """

    def visit(row_a: I32, row_b: I32, pattern: I32) -> tuple[I32, I32, F64]:
        weight = probability(row_a, row_b, pattern)
        taken, counts_as = np.empty(len(row_a), np.int64), np.empty(len(row_a))
        n = take(row_a, row_b, weight, heaviest, seed, taken, counts_as)
        at = taken[:n]
        return row_a[at], row_b[at], counts_as[:n].copy()

    nothing = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)
    return WeightedPairs(*_in_a_row([nothing, *pairs.map(visit, progress)]))


def posteriors(factors: BayesFactors, log_odds: F64) -> Visit[F64]:
    """The extended match probabilities of pairs; `log_odds` are those of the patterns alone."""

    def visit(row_a: I32, row_b: I32, pattern: I32) -> F64:
        odds = log_odds[pattern] + factors.log(row_a, row_b)
        return np.asarray(1 / (1 + np.exp(-np.clip(odds, -700, 700))))

    return visit


def _in_a_row(parts: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    return (np.concatenate(column) for column in zip(*parts, strict=True))


def counted(pairs: Pairs, count: I64, factors: BayesFactors, resolution: float, progress: StageProgress) -> Classes:
    """Count pairs by pattern and Bayes factor.

    `count` (int64, shape (n_patterns,)): all pairs of each pattern. Those that are not among `pairs` count with a
    factor of 1, its mean among non-matches whatever the value model.
    """
    table = PatternCounter(MAX_CLASSES)

    def visit(row_a: I32, row_b: I32, pattern: I32) -> tuple[I64, U32, I64]:
        part = PatternCounter(len(row_a))
        grid = np.rint(factors.log(row_a, row_b) / resolution).astype(np.int64)
        part.add(grid, pattern.astype(np.uint32), _ONE, len(grid))
        return part.items()

    for code, mask, seen in pairs.map(visit, progress):
        if not table.add(code, mask, seen, len(code)):
            what = f"more than {MAX_CLASSES:,} distinct patterns and Bayes factors"
            raise GemelError(ErrorCode.MEMORY, what, where="latent.resolution", remedy="use a coarser resolution")
    code, mask, seen = table.items()
    rest = count - np.bincount(mask, seen, minlength=len(count)).astype(np.int64)
    others = np.flatnonzero(rest > 0)
    code, mask, seen = _in_a_row([(code, mask, seen), (np.zeros(len(others), np.int64), others, rest[others])])
    order = np.lexsort((code, mask))
    return Classes(mask[order].astype(np.int32), code[order] * resolution, seen[order].astype(np.float64))


@dataclass(frozen=True)
class KeptPairs:
    """Pairs kept by their extended score.

    `row_a`, `row_b`, `pattern` (int32, shape (n_pairs,)); `log_factor` (float64, shape (n_pairs,)): natural log Bayes
    factor of the values, not rounded.
    """

    row_a: I32 = field(repr=False)
    row_b: I32 = field(repr=False)
    pattern: I32 = field(repr=False)
    log_factor: F64 = field(repr=False)


def kept(pairs: Pairs, factors: BayesFactors, score: F64, minimum: float, progress: StageProgress) -> KeptPairs:
    """Pairs whose pattern's score and log Bayes factor together reach `minimum` (natural logarithms)."""

    def visit(row_a: I32, row_b: I32, pattern: I32) -> tuple[I32, I32, I32, F64]:
        log_factor = factors.log(row_a, row_b)
        at = np.flatnonzero(score[pattern] + log_factor >= minimum)
        return row_a[at], row_b[at], pattern[at], log_factor[at]

    none = np.zeros(0, dtype=np.int32)
    return KeptPairs(*_in_a_row([(none, none, none, np.zeros(0)), *pairs.map(visit, progress)]))


PSEUDO_MATCHES = 1.0
"""Of each field's distribution of levels, spread evenly."""


@dataclass(frozen=True)
class ExtendedEM:
    """The outcome of EM with fixed Bayes factors.

    `model`: its log likelihood is that of the classes, but for a constant; `unconstrained_matches`: expected matches of
    the last step: where p is held, the value it would have moved to.
    """

    model: Model
    unconstrained_matches: float


def extended_em(
    model: Model, patterns: PatternCounts, classes: Classes, settings: ExtendedSettings, weights: F64 | None
) -> ExtendedEM:
    """Estimate m with the Bayes factors of the values fixed.

    `weights` (float64, shape (n_patterns,)): match weights, in bits, that are not m over u (a dependence model, a
    weighted scheme): m is then fixed.

    O(classes + patterns * fields) a step.
    """
    gamma = np.ascontiguousarray(patterns.gamma)
    n_pairs = float(model.n_a) * model.n_b
    width = model.m.shape[1]
    valid = within_levels([field.n_levels for field in model.fields])
    maximum = min(1 / max(model.n_a, model.n_b) if settings.one_to_one else 1.0, 1 - 1e-9)
    m, p = model.m, min(model.p, maximum)
    matches = np.zeros(len(gamma))
    with np.errstate(divide="ignore"):
        log_other = table_sums(gamma, np.log(model.u))
    before = math.inf
    converged, steps = False, 0
    while not converged and steps < settings.max_iterations:
        steps += 1
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = table_sums(gamma, np.log(m)) - log_other if weights is None else weights * math.log(2.0)
        log_odds = np.nan_to_num(ratio, nan=0.0) + math.log(p) - math.log1p(-p)
        likelihood = expectation(
            classes.pattern, classes.log_factor, classes.count, log_odds, log_other + math.log1p(-p), matches
        )
        unconstrained_matches = float(matches.sum())
        learnt = expected_levels(patterns, (), matches, width)
        new_m = m if weights is not None else shares(learnt, valid, PSEUDO_MATCHES)
        new_p = p if settings.p == "held" else min(max(unconstrained_matches, 1e-6) / n_pairs, maximum)
        distance = max(float(np.abs(new_m - m).max()), abs(math.log(new_p / p)))
        rate = distance / before if 0 < before < math.inf else 1.0
        left = distance * rate / (1 - rate) if rate < 1 else math.inf
        converged = distance == 0 or max(distance, left) < settings.tolerance
        m, p, before = new_m, new_p, distance
    fitted = replace(
        model, m=m, p=p, log_likelihood=likelihood, converged=converged, iterations=steps, distance=distance,
        matches_behind_m=learnt.sum(axis=1),
    )  # fmt: skip
    return ExtendedEM(fitted, unconstrained_matches)
