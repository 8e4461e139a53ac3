"""Protections of each count by itself: conventional and random rounding, Barnardisation, deletion of rare records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.risk.attribution.laws import UNPUBLISHED, Barnardised, BelowThreshold, Conventional, Random
from gemel.risk.attribution.protections.protection import Outcome, Protection, with_counts
from gemel.risk.attribution.release import Published

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class ConventionalRounding(Protection):
    """Each count to the nearest multiple of an odd base."""

    base: int

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        law = Conventional(self.base)
        rounded = (given.counts + (self.base - 1) // 2) // self.base * self.base
        return Outcome(with_counts(given, _kept(given, rounded), law))


@dataclass(frozen=True)
class RandomRounding(Protection):
    """Each count up or down to a multiple of the base; up with probability (remainder / base)."""

    base: int

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        law = Random(self.base)
        remainder = given.counts % self.base
        up = generator.random(given.counts.shape) * self.base < remainder
        rounded = given.counts - remainder + self.base * up
        return Outcome(with_counts(given, _kept(given, rounded), law))


@dataclass(frozen=True)
class Barnardisation(Protection):
    """Each count above 0 stays with probability `stay`, else goes one up or one down with equal chances."""

    stay: float

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        law = Barnardised(self.stay)
        step = generator.choice(
            [0, -1, 1], size=given.counts.shape, p=[self.stay, (1 - self.stay) / 2, (1 - self.stay) / 2]
        )
        moved = np.where(given.counts > 0, given.counts + step, 0).astype(np.int64)
        return Outcome(with_counts(given, _kept(given, moved), law))


@dataclass(frozen=True)
class RecordSuppression(Protection):
    """Delete the records of cells with fewer than `threshold` of them (people unusual enough to be recognised)."""

    threshold: int

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        law = BelowThreshold(self.threshold)
        deleted = np.where(given.counts < self.threshold, 0, given.counts)
        return Outcome(with_counts(given, _kept(given, deleted), law))


def _kept(given: Published, counts: Integers) -> Integers:
    """Leave withheld counts withheld."""
    return np.where(given.counts == UNPUBLISHED, UNPUBLISHED, counts)
