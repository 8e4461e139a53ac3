"""The greatest rise of a sensitive value's probability, with an interval by drawing again what is not known.

The value is an extreme of many key groups, for which there is no formula. So the truth is drawn: which pairs are
matches, which people were missed, and how common the values are in the population of which the matches are a sample.
Of each draw the greatest rise is computed. Only the groups that may have it are drawn, so that the cost does not grow
with the file beyond one count of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.expected_matches import Supposed
from gemel.carole.assessment.measures import CONFIDENCE, Measure
from gemel.common.specification.model.assessment import Fraction
from gemel.risk.arrays import Codes, Floats, Integers, Mask

DRAWS = 200
"""Times that the truth is drawn under each set of probabilities."""

GROUPS = 100
"""Key groups that are drawn: those with the greatest rises that are possible."""

_SEED = 21
_REACH = 3.0  # standard deviations that a group's rise may be above what is expected


@dataclass(frozen=True)
class PossibleMatches:
    """Which pairs are matches, by one set of probabilities: that of each pair that may be a link."""

    weight: Floats = field(repr=False)
    missed: float
    population: float


def possible_matches(combined: Combined, cases: Sequence[Supposed], fraction: Fraction) -> tuple[PossibleMatches, ...]:
    """Every set of probabilities that is possible, the most likely first; the pairs' own where there are no `cases`."""
    pairs = combined.pair_probability
    if not cases:
        people = max(1.0, (float(pairs.sum()) + combined.left_out) / fraction.value)
        return (PossibleMatches(pairs, combined.left_out, people),)
    keys = combined.pair_a * len(combined.bob) + combined.pair_b
    order = np.argsort(keys, kind="stable")
    linked = combined.row_a * len(combined.bob) + combined.row_b
    place = np.minimum(np.searchsorted(keys[order], linked), max(len(keys) - 1, 0))
    there = keys[order][place] == linked if len(keys) else np.zeros(len(linked), dtype=np.bool_)
    found = []
    for case in cases:
        matches = case.populations[0] * fraction.value
        for probability in case.probabilities:
            weight = pairs.copy()
            weight[order[place[there]]] = probability[there]
            missed = max(0.0, matches - float(weight.sum()))
            found += [PossibleMatches(weight, missed, N) for N in case.populations]
    return tuple(found)


@dataclass(frozen=True)
class ExpectedCells:
    """Expected matches by key group and value: the occupied cells, as group * levels + value; the place among them of
    each pair that has a value and may be a match, and which pairs these are."""

    cells: Integers = field(repr=False)
    of_pair: Integers = field(repr=False)
    pairs: Integers = field(repr=False)
    levels: int
    groups: int

    @classmethod
    def of(cls, group: Integers, values: Codes, weight: Floats, levels: int, groups: int) -> ExpectedCells:
        """From pairs with their groups, values (-1 where missing) and probabilities."""
        spoken = np.flatnonzero((values >= 0) & (weight > 0))
        cells, which = np.unique(group[spoken] * levels + values[spoken], return_inverse=True)
        return cls(cells.astype(np.int64), which.astype(np.int64), spoken.astype(np.int64), levels, groups)

    @property
    def group(self) -> Integers:
        return self.cells // self.levels

    @property
    def value(self) -> Integers:
        return self.cells % self.levels

    def sums(self, weight: Floats) -> Floats:
        """Sums of numbers of the pairs by cell."""
        return np.bincount(self.of_pair, weight[self.pairs], len(self.cells)).astype(np.float64)

    def posterior(self, weight: Floats) -> tuple[Floats, Floats, Floats]:
        """Expected matches by cell; the prior by value; and the posterior of each cell's value in its group."""
        sums = self.sums(weight)
        totals = np.bincount(self.group, sums, self.groups)
        whole = float(sums.sum())
        prior = np.bincount(self.value, sums, self.levels).astype(np.float64) / (whole if whole > 0 else 1.0)
        own = totals[self.group]
        return sums, prior, np.divide(sums, own, out=np.zeros(len(sums)), where=own > 0)


def greatest_rise(counted: ExpectedCells, weight: Floats, inside: Mask, possible: Sequence[PossibleMatches]) -> Measure:
    """The greatest rise in a group `inside`, with linked records, with its interval; the method is left empty.

    The value takes the link probabilities `weight` of the pairs.
    """
    _, prior, posterior = counted.posterior(weight)
    rises = (posterior - prior[counted.value])[inside[counted.group]]
    value = float(rises.max(initial=0.0))
    if not len(rises) or not possible:
        return Measure(value, "", value if possible else None, value if possible else None)
    tail = (1.0 - CONFIDENCE) / 2.0
    ends = [np.quantile(drawn_rises(counted, matches, inside), [tail, 1.0 - tail]) for matches in possible]
    low, high = min(float(end[0]) for end in ends), max(float(end[1]) for end in ends)
    return Measure(value, "", max(0.0, min(value, low)), min(1.0, max(value, high)))


def drawn_rises(counted: ExpectedCells, matches: PossibleMatches, inside: Mask, draws: int = DRAWS) -> Floats:
    """The greatest rise of each draw, float64, shape (draws,); the same for the same numbers.

    Matches of a cell are binomial with the mean probability of its pairs. A missed one is of a new group as often as
    the next record would be (Good: matches alone in their group over matches), and else of a group as large groups are
    hit; its value is as common as in the file. How common a value is in the population is beta, with the variance of a
    sample without replacement and of the links.
    """
    rng = np.random.default_rng(_SEED)
    weight = np.clip(matches.weight, 0.0, 1.0)
    sums, prior, posterior = counted.posterior(weight)
    number = np.bincount(counted.of_pair, minlength=len(sums))
    spread = counted.sums(weight * (1.0 - weight))
    totals = np.bincount(counted.group, sums, counted.groups)
    n = float(sums.sum())
    if n <= 0.0:
        return np.zeros(draws)
    common = _commonness(rng, counted, prior, spread, n, matches.population, draws)
    members = np.bincount(counted.group, number, counted.groups)
    single = float(totals[members == 1].sum()) / n
    # Candidate groups: of the greatest rises that chance might give them.
    every = np.bincount(counted.group, spread, counted.groups)[counted.group]
    variance = (1.0 - 2.0 * posterior) * spread + posterior**2 * every
    reach = np.sqrt(np.maximum(variance, 0.0)) / np.maximum(totals[counted.group], 1e-12)
    hoped = np.minimum(posterior + _REACH * reach, 1.0) - prior[counted.value]
    best = np.full(counted.groups, -np.inf)
    np.maximum.at(best, counted.group, hoped)
    best[~inside] = -np.inf
    chosen = np.argsort(-best, kind="stable")[:GROUPS]
    chosen = chosen[np.isfinite(best[chosen])]
    place = np.full(counted.groups, -1)
    place[chosen] = np.arange(len(chosen))
    cell = np.flatnonzero(place[counted.group] >= 0)
    mean = np.clip(sums[cell] / np.maximum(number[cell], 1), 0.0, 1.0)
    there = np.zeros((draws, len(chosen), counted.levels))
    where = place[counted.group[cell]], counted.value[cell]
    there[:, where[0], where[1]] = rng.binomial(number[cell], mean, (draws, len(cell)))
    if matches.missed > 0:
        rate = matches.missed * (1.0 - single) * (totals[chosen] / n)[:, None] * prior[None, :]
        there += rng.poisson(rate, there.shape)
    size = there.sum(axis=2, keepdims=True)
    share = np.divide(there, size, out=np.zeros_like(there), where=size > 0)
    found = (share - common[:, None, :]).max(axis=(1, 2), initial=0.0)
    if matches.missed > 0:
        new = rng.poisson(matches.missed * single * prior, common.shape) > 0
        found = np.maximum(found, np.where(new, 1.0 - common, 0.0).max(axis=1))
    return np.asarray(found)


def _commonness(
    rng: np.random.Generator, counted: ExpectedCells, prior: Floats, spread: Floats, n: float, N: float, draws: int
) -> Floats:
    """Draws of how common each value is in the population, shape (draws, levels)."""
    by_value = np.bincount(counted.value, spread, counted.levels)
    by_links = ((1.0 - 2.0 * prior) * by_value + prior**2 * by_value.sum()) / n**2
    variance = prior * (1.0 - prior) / n * max(0.0, 1.0 - n / max(N, n)) + np.maximum(by_links, 0.0)
    common = np.tile(prior, (draws, 1))
    drawn = (variance > 0) & (prior > 0) & (prior < 1)
    if drawn.any():
        p, v = prior[drawn], variance[drawn]
        size = np.maximum(p * (1.0 - p) / v - 1.0, 1e-3)
        common[:, drawn] = rng.beta(p * size, (1.0 - p) * size, (draws, int(drawn.sum())))
    return common
