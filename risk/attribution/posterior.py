"""Posterior distribution of a queried count by naive Bayes, and exactly by enumeration on small releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers
from gemel.risk.attribution.laws import INFINITE, UNPUBLISHED, Sampled
from gemel.risk.attribution.programming import programme_bounds, require_feasible, system
from gemel.risk.attribution.release import Published, Release, axis_of, block_cells


def recoded_bounds(release: Release, members: dict[str, Sequence[int]]) -> tuple[int, int, bool]:
    """Tight bounds of one cell of any recoded or marginal table."""
    covered: list[Sequence[int]] = [tuple(range(v.size)) for v in release.variables]
    for name, levels in members.items():
        covered[axis_of(release.variables, name)] = tuple(levels)
    table = require_feasible(release)
    block = block_cells(release.shape, covered)
    found = programme_bounds(system(release), [block], witnesses=table[None, :])
    return int(found.lower[0]), int(found.upper[0]), bool(found.lower_tight[0] and found.upper_tight[0])


# The queried count F is that of a cell of any margin of the base table. Naive Bayes gives every count the same prior
# and takes the published counts as independent given F:
#
#     P(F | release) ~ product over tables of P(f | F),   F within its bounds,
#
# over the tables in which one published count is that of the queried cell, and over samples, whose counts add up to
# it (a sum of hypergeometric counts is hypergeometric). Tables that only bound F are in its range. A table with more
# variables, several of whose counts add up to the queried one, can be taken into account by convolution.

Range = Literal["sample", "naive", "tight"]
Query = Mapping[str, int]  # variable to level number; the variables not named are summed out


@dataclass(frozen=True, eq=False)
class Posterior:
    """Distribution of a queried count.

    `counts` (int64, shape (n,)): possible counts, ascending; `probabilities` (float64, shape (n,)).
    """

    counts: Integers
    probabilities: Floats
    used: tuple[str, ...]

    @property
    def correct_match(self) -> float:
        """P(a unique match is correct) = E[1/F]: each of the F people is as likely to be the one."""
        positive = self.counts > 0
        return float((self.probabilities[positive] / self.counts[positive]).sum())

    @property
    def mean(self) -> float:
        return float(self.probabilities @ self.counts)

    @property
    def empty(self) -> float:
        """Probability that no person is there: a negative attribution."""
        return float(self.probabilities[self.counts == 0].sum())


def naive_range(release: Release, query: Query, *, samples_only: bool = False) -> tuple[int, int]:
    """Bounds of a queried count from each table by itself (SE05's naive bounds), without solving anything.

    Every table bounds the count from above by those of its cells that overlap the queried one; a table in which the
    queried count is a sum of whole cells bounds it from below by theirs. With `samples_only`, samples alone are used.
    """
    lower, upper = 0, INFINITE
    for table in release.tables:
        if samples_only and not table.sample:
            continue
        cells, whole = _overlap(release, table, query)
        low, high = table.box
        if isinstance(table.law, Sampled):
            found = int(sum(table.counts[c] for c in cells))
            upper = min(upper, table.law.population - table.law.size + found)
            lower = max(lower, found if whole else 0)
        else:
            upper = min(upper, int(sum(high[c] for c in cells)))
            lower = max(lower, int(sum(low[c] for c in cells)) if whole else 0)
    if upper >= INFINITE:
        people = release.population
        if people is None:
            what = "the queried count has no upper bound"
            raise parameter(release.name, what, remedy="publish a total, or state the population's size")
        upper = people
    return lower, upper


def posterior(
    release: Release, query: Query, *, within: Range | tuple[int, int] = "naive", sums: bool = False
) -> Posterior:
    """Naive Bayes posterior of a queried count."""
    if within == "tight":
        lower, upper, _ = recoded_bounds(release, {n: [k] for n, k in query.items()})
    elif isinstance(within, str):
        lower, upper = naive_range(release, query, samples_only=within == "sample")
    else:
        lower, upper = within
    if lower > upper or upper >= INFINITE:
        raise parameter(release.name, "the queried count's range is empty or has no end", f"{lower}..{upper}")
    counts = np.arange(lower, upper + 1, dtype=np.int64)
    log, used = np.zeros(len(counts)), []
    with np.errstate(divide="ignore"):
        for table in release.tables:
            likelihood = _likelihood(release, table, query, counts, sums=sums)
            if likelihood is not None:
                log += np.log(likelihood)
                used.append(table.name)
    if not np.isfinite(log).any():
        what = "no count in the range is possible under the published tables"
        raise parameter(", ".join(f"table {n!r}" for n in used), what, remedy="check their counts and protections")
    weights = np.exp(log - log.max())
    return Posterior(counts, weights / weights.sum(), tuple(used))


def _likelihood(release: Release, table: Published, query: Query, counts: Integers, *, sums: bool) -> Floats | None:
    """P(what the table shows of the queried count | the count), or None when it shows nothing of use."""
    cells, whole = _overlap(release, table, query)
    shown = [c for c in cells if table.counts[c] != UNPUBLISHED]
    if table.law.whole_table is not None or len(shown) < len(cells) or table.intervals is not None:
        return None
    if table.sample:
        return table.law.probability(np.asarray(sum(int(table.counts[c]) for c in cells)), counts) if whole else None
    if whole and len(cells) == 1:
        return table.law.probability(table.counts[cells[0]], counts)
    if whole and sums:
        return sum_likelihood(table, cells, counts)
    return None


def sum_likelihood(table: Published, cells: Sequence[tuple[int, ...]], counts: Integers) -> Floats:
    """The posterior of a sum given several protected counts: the convolution of their posteriors under flat priors.

    Relative to its largest value; SE05, "the former case".
    """
    total = np.ones(1)
    offset = 0
    low, high = table.box
    for cell in cells:
        values = np.arange(low[cell], high[cell] + 1, dtype=np.int64)
        total = np.convolve(total, table.law.probability(table.counts[cell], values))
        offset += int(low[cell])
    inside = (counts >= offset) & (counts < offset + len(total))
    return np.asarray(np.where(inside, total[np.clip(counts - offset, 0, len(total) - 1)], 0.0) / total.max())


def _overlap(release: Release, table: Published, query: Query) -> tuple[list[tuple[int, ...]], bool]:
    """The table's cells that overlap the queried one, and whether the queried count is exactly their sum."""
    for name, level in query.items():
        if not 0 <= level < release.variable(name).size:
            raise parameter(f"variable {name!r}", "no such level", str(level))
    choices: list[list[int]] = []
    whole = set(query) <= set(table.names)
    for axis in table.axes:
        if axis.variable in query:
            level = query[axis.variable]
            places = [i for i, m in enumerate(axis.members) if level in m]
            whole = whole and all(len(axis.members[i]) == 1 for i in places) and bool(places)
            choices.append(places)
        else:
            whole = whole and release.covered(axis)
            choices.append(list(range(len(axis.labels))))
    return list(product(*choices)), whole
