"""Latent classes of non-matches: households, neighbours, and whatever else makes two people look alike.

Most pairs of two people have nothing in common but by chance. A few have much: a family shares surname, address and
telephone, neighbours share street and postcode. Each such kind is a class with its own distribution of every field and
independent fields; the rest are strangers. Without these classes a household is nearer to a match than to a stranger,
and where few people are in both files it takes the match class's place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from gemel.carole.fellegi_sunter.model import shares, summed
from gemel.common.arrays import F64, I8, U64, Flags


@njit(nogil=True, cache=True)
def class_expectation(
    gamma: I8, count: F64, identified: U64, log_levels: F64, log_shares: F64, log_last: F64, masked: int, levels: F64,
    sizes: F64, posterior: F64,
) -> float:  # fmt: skip
    """Write the expected pairs of each class by field and level, of all rows, and the probability of each class.

    `identified`: bit q is set where a row identifies field q of the first classes; these, `masked` of them, are
    estimated from such rows only. `log_levels` (n_classes, n_fields, n_levels + 1): log probability of each level in
    each class but the last; the last column, of a missing level, is 0. `log_last` (n_patterns,): log probability of
    each pattern in the last class, whose distribution is not estimated here. Written are `levels` (n_classes, n_fields,
    n_levels), `sizes` (n_classes + 1,) and `posterior` (n_patterns, n_classes + 1); returned is the log likelihood.
    """
    n, n_fields = gamma.shape
    n_classes = len(log_levels)
    levels[:] = 0.0
    sizes[:] = 0.0
    log_likelihood = 0.0
    for i in range(n):
        posterior[i, n_classes] = log_shares[n_classes] + log_last[i]
        highest = posterior[i, n_classes]
        for c in range(n_classes):
            total = log_shares[c]
            for q in range(n_fields):
                total += log_levels[c, q, gamma[i, q]]
            posterior[i, c] = total
            highest = max(highest, total)
        if highest == -np.inf:
            posterior[i] = 0.0
            posterior[i, n_classes] = 1.0
            continue
        total = 0.0
        for c in range(n_classes + 1):
            posterior[i, c] = np.exp(posterior[i, c] - highest)
            total += posterior[i, c]
        log_likelihood += count[i] * (highest + np.log(total))
        for c in range(n_classes + 1):
            posterior[i, c] /= total
            pairs = count[i] * posterior[i, c]
            sizes[c] += pairs
            if c == n_classes or pairs == 0.0:
                continue
            for q in range(n_fields):
                k = gamma[i, q]
                if k >= 0 and (c >= masked or (identified[i] >> np.uint64(q)) & np.uint64(1)):
                    levels[c, q, k] += pairs
    return log_likelihood


PRIOR = 1.0
"""Pseudo-pairs of the prior of each distribution of levels, spread evenly."""

SMALLEST = 1e-6
"""Lower bound of a class's size, in pairs."""

STEPS = 30
"""EM steps between two estimates of the strangers."""

TOLERANCE = 1e-4
"""Relative change of the classes' sizes at which these steps end."""


@dataclass(frozen=True)
class KinClasses:
    """Classes of pairs of two people who have something in common.

    `levels` (float64, shape (n_classes, n_fields, n_levels)): P(level in a field | class); `shares` (float64, shape
    (n_classes + 1,)): of each class among non-matches; the last is that of the strangers.
    """

    levels: F64
    shares: F64

    def __len__(self) -> int:
        return len(self.levels)

    def log_probability(self, gamma: I8, strangers: F64) -> F64:
        """Log probability of comparison vectors among all non-matches, shape (n_patterns,).

        `gamma` (int8, shape (n_patterns, n_fields)); `strangers` (float64, shape (n_patterns,)): log probability of
        each among strangers.
        """
        if not len(self):
            return strangers
        with np.errstate(divide="ignore"):
            total = np.log(self.shares[-1]) + strangers
            for levels, share in zip(log_tables(self.levels), self.shares, strict=False):
                total = np.logaddexp(total, np.log(share) + summed(np.ascontiguousarray(gamma), levels))
        return np.asarray(total)


def log_tables(levels: F64) -> F64:
    """Logarithms with a last column of 0 for a missing level: shape (n_classes, n_fields, n_levels + 1)."""
    with np.errstate(divide="ignore"):
        return np.concatenate([np.log(levels), np.zeros((*levels.shape[:2], 1))], axis=2)


def updated(
    classes: KinClasses, gamma: I8, others: F64, strangers: F64, valid: Flags, left_out: float = 0.0, steps: int = STEPS
) -> tuple[KinClasses, F64]:
    """Estimate the classes, one at least, again from non-matches and a distribution of strangers.

    `others`, `strangers` (float64, shape (n_patterns,)): expected non-matches, and log probability among strangers;
    `valid` (bool, shape (n_fields, n_levels)): which entries are levels; `steps`: at most so many of EM; with 0 the
    classes stay as they are. Returns also the share of strangers among the non-matches of each pattern: shape
    (n_patterns,). O(steps * n_patterns * n_classes * n_fields).
    """
    identified = np.zeros(len(gamma), dtype=np.uint64)
    pairs = np.zeros_like(classes.levels)
    sizes = np.zeros(len(classes) + 1)
    posterior = np.empty((len(gamma), len(classes) + 1))
    for step in range(steps + 1):
        with np.errstate(divide="ignore"):
            log_shares = np.log(classes.shares)
        class_expectation(
            gamma, others, identified, log_tables(classes.levels), log_shares, strangers, 0, pairs, sizes, posterior
        )
        if step == steps:
            break
        sizes[-1] += left_out
        new = np.maximum(sizes, SMALLEST) / np.maximum(sizes, SMALLEST).sum()
        moved = float(np.abs(np.log(new / classes.shares)).max())
        classes = KinClasses(np.stack([shares(one, valid, PRIOR) for one in pairs]), new)
        if moved < TOLERANCE:
            break
    return classes, np.ascontiguousarray(posterior[:, -1])
