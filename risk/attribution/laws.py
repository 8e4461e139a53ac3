"""The laws of protected counts: P(published | true) of one cell, and the bounds of the truth that it implies.

A law knows a single cell. `bounds` always holds for an intruder who knows the scheme; `probability` exists where the
published count depends on nothing but the cell's own true count (given, for a sample, the known sizes), which is what
naive Bayes needs. Where a scheme looks at the whole table (an optimisation), requesting a probability is an error
with that reason.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers, Mask

INFINITE = 2**31 - 1  # an upper bound that is none

UNPUBLISHED = -1  # stands in a published table for a count that is withheld


class Law(ABC):
    """What an intruder who knows the scheme knows of a cell; a law states it of the counts that were published."""

    name: ClassVar[str]
    whole_table: ClassVar[str | None] = None
    """What errors call a scheme that looks at the whole table: no single cell has a `probability` under it."""

    def bounds(self, published: ArrayLike) -> tuple[Integers, Integers]:
        """Trivial lower and upper bounds of the true counts; 0 and `INFINITE` where nothing was published."""
        counts, hidden = _split(published)
        lower, upper = self._range(counts)
        return np.where(hidden, 0, np.maximum(lower, 0)), np.where(hidden, INFINITE, np.minimum(upper, INFINITE))

    def probability(self, published: ArrayLike, true: ArrayLike) -> Floats:
        """P(published | true) for each pair of counts, broadcast; 1 where nothing was published."""
        counts, hidden = _split(published)
        return np.where(hidden, 1.0, self._chance(counts, np.asarray(true, dtype=np.int64)))

    @abstractmethod
    def _range(self, counts: Integers) -> tuple[Integers, Integers]:
        """From what to what the true counts go; below 0 too."""

    def _chance(self, counts: Integers, true: Integers) -> Floats | Mask:
        what = f"{self.whole_table} has no law of a single cell: what it publishes depends on the whole table"
        raise parameter("", what, remedy="use its bounds")

    @property
    def exact(self) -> bool:
        """Whether a published count is the true one."""
        return False


def _split(published: ArrayLike) -> tuple[Integers, Mask]:
    counts = np.asarray(published, dtype=np.int64)
    return np.maximum(counts, 0), counts == UNPUBLISHED


@dataclass(frozen=True)
class Exact(Law):
    """The true count, or nothing (a suppressed cell)."""

    name = "exact"
    exact = True

    def _range(self, counts: Integers) -> tuple[Integers, Integers]:
        return counts, counts

    def _chance(self, counts: Integers, true: Integers) -> Mask:
        return np.asarray(counts == true)


@dataclass(frozen=True)
class _Based(Law):
    """Multiples of a base, none of which is further from the true count than `_reach`."""

    base: int

    def __post_init__(self) -> None:
        if self.base < 1:
            raise parameter("", "a rounding base is a whole number of 1 or more", str(self.base))

    @property
    def _reach(self) -> int:
        return self.base - 1

    def _range(self, counts: Integers) -> tuple[Integers, Integers]:
        if (counts % self.base).any():
            what = f"rounded counts must be multiples of the base {self.base}"
            got = f"{int((counts % self.base != 0).sum())} that are not"
            raise parameter("", what, got, "check the base, or publish the table with another protection")
        return counts - self._reach, counts + self._reach


@dataclass(frozen=True)
class Conventional(_Based):
    """The nearest multiple of an odd base (T11 calls this controlled rounding, too)."""

    name = "conventional"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base % 2 == 0:
            raise parameter("", "conventional rounding needs an odd base, or there are ties", str(self.base))

    @property
    def _reach(self) -> int:
        return (self.base - 1) // 2

    def rounded(self, counts: Integers) -> Integers:
        return (counts + self._reach) // self.base * self.base

    def _chance(self, counts: Integers, true: Integers) -> Mask:
        return np.asarray(counts == self.rounded(true))


@dataclass(frozen=True)
class Random(_Based):
    """Up or down to a multiple of the base, so that the expectation is the true count."""

    name = "random"

    def _chance(self, counts: Integers, true: Integers) -> Floats:
        return np.asarray(np.maximum(1.0 - np.abs(counts - true) / self.base, 0.0) * (counts % self.base == 0))


@dataclass(frozen=True)
class Adjacent(_Based):
    """A multiple of the base next to the true count, chosen with regard to the whole table (controlled rounding)."""

    name = "controlled"
    whole_table = "controlled rounding"


@dataclass(frozen=True)
class Barnardised(Law):
    """A count above 0 stays with probability `stay`, and else goes one up or one down; 0 stays 0.

    The bounds do not depend on `stay`. A published 0 is a true 0 or 1, and only a true count of 1 or more is changed.
    """

    stay: float
    name = "barnardised"

    def __post_init__(self) -> None:
        if not 0.0 <= self.stay <= 1.0:
            raise parameter("", "the Barnardisation parameter is a probability", str(self.stay))

    def _range(self, counts: Integers) -> tuple[Integers, Integers]:
        return np.where(counts == 0, 0, np.maximum(counts - 1, 1)), counts + 1

    def _chance(self, counts: Integers, true: Integers) -> Floats:
        moved = np.where(np.abs(counts - true) == 1, (1.0 - self.stay) / 2.0, 0.0)
        return np.where(true == 0, (counts == 0).astype(float), np.where(counts == true, self.stay, moved))


@dataclass(frozen=True)
class Sampled(Law):
    """A simple random sample of `size` units from a population of `population`, both known (hypergeometric)."""

    population: int
    size: int
    name = "sample"

    def __post_init__(self) -> None:
        if not 0 <= self.size <= self.population:
            got = f"{self.size} of {self.population}"
            raise parameter("", "a sample is no larger than its population", got, "give the population's total")

    def _range(self, counts: Integers) -> tuple[Integers, Integers]:
        return counts, counts + (self.population - self.size)

    def _chance(self, counts: Integers, true: Integers) -> Floats:
        log = log_binomial(true, counts) + log_binomial(self.population - true, self.size - counts)
        return np.exp(log - log_binomial(self.population, self.size))


@dataclass(frozen=True)
class BelowThreshold(Law):
    """Counts under a threshold are set to 0: the records of rare cells are deleted (record suppression)."""

    threshold: int
    name = "threshold"

    def _range(self, counts: Integers) -> tuple[Integers, Integers]:
        return counts, np.where(counts == 0, max(self.threshold - 1, 0), counts)

    def _chance(self, counts: Integers, true: Integers) -> Mask:
        return np.asarray(counts == np.where(true < self.threshold, 0, true))


@dataclass(frozen=True)
class Within(Law):
    """The truth lies within a distance of what is published, and the scheme looks at the whole table.

    Controlled tabular adjustment and swapping; `floor` and `ceiling` cap the distance downwards and upwards.
    """

    floor: int
    ceiling: int
    name = "within"
    whole_table = "this scheme"

    def _range(self, counts: Integers) -> tuple[Integers, Integers]:
        return counts - self.floor, counts + self.ceiling


@dataclass(frozen=True)
class Composed(Law):
    """One law after another: the second protects what the first published (Chapman and Kolmogorov's sum)."""

    first: Law
    second: Law
    name = "composed"

    @property
    def exact(self) -> bool:
        return self.first.exact and self.second.exact

    def _range(self, counts: Integers) -> tuple[Integers, Integers]:
        low, high = self.second.bounds(counts)
        # What the first law could have published lies in low..high; its own bounds are looked up over that range,
        # because not every count in between is one that it publishes.
        lower, upper = np.zeros_like(low), np.full_like(high, INFINITE)
        for index in np.argwhere(high < INFINITE):
            place = tuple(index)
            box = self.first.bounds(self._between(low[place], high[place]))
            lower[place], upper[place] = box[0].min(), box[1].max()
        return lower, upper

    def _chance(self, counts: Integers, true: Integers) -> Floats:
        counts, true = np.broadcast_arrays(counts, true)
        possible = np.ones(counts.shape, dtype=bool)
        if isinstance(self.second, _Based):
            possible = counts % self.second.base == 0
        low, high = self.second.bounds(np.where(possible, counts, UNPUBLISHED))
        chance = np.where(possible, 1.0, 0.0)
        for index in np.argwhere(possible & (high < INFINITE)):
            place = tuple(index)
            between = self._between(low[place], high[place])
            step = self.first.probability(between, true[place]) * self.second.probability(counts[place], between)
            chance[place] = step.sum()
        return chance

    def _between(self, low: int, high: int) -> Integers:
        between = np.arange(low, high + 1, dtype=np.int64)
        if isinstance(self.first, _Based):
            between = between[between % self.first.base == 0]
        return between


def log_binomial(n: ArrayLike, k: ArrayLike) -> Floats:
    """log C(n, k), minus infinity outside 0 <= k <= n."""
    n, k = np.asarray(n), np.asarray(k)
    possible = (k >= 0) & (k <= n)
    n_, k_ = np.where(possible, n, 0), np.where(possible, k, 0)
    return np.where(possible, gammaln(n_ + 1.0) - gammaln(k_ + 1.0) - gammaln(n_ - k_ + 1.0), -np.inf)
