"""The difference of two releases of a table: whom it discloses who is counted in one of them and not in the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers
from gemel.risk.attribution.laws import Conventional, Random

Counts = NDArray[np.int64]

_ROUNDS = 10


def aligned(former: Floats, latter: Floats, levels: Sequence[int], work: int) -> list[Integers] | None:
    """The order of a table's levels in which it is most like another one.

    The releases of two projects have codes under different keys: which level of one is which of the other is found by
    the counts, as whoever has both tables with their labels knows it. Levels are matched by their counts, axis by axis,
    until nothing improves. Of equal levels any order is as good.

    `former`, `latter` (float64): of one shape: counts, or expected ones; `levels`: of each axis, how many leading
    levels may be put in another order; the rest (missing values) stay.

    Returns list of int64 or None: for each axis the level of `former` that takes each place (`in_order` applies it);
    None where a step would need more than `work`.

    Not always the best order: where two tables differ in many cells, a better one may exist. Nor always the right one:
    where the change itself makes two levels trade their counts, the order found hides it. O(levels * cells) for each
    axis and round.
    """
    if any(n * former.size > work for n in levels):
        return None
    orders = [np.arange(size) for size in former.shape]
    found = former
    best = math.inf
    for turn in range(_ROUNDS):
        for axis, n in enumerate(levels):
            order = _matched(found, latter, axis, n, profiles=turn == 0)
            orders[axis] = orders[axis][order]
            found = np.take(found, order, axis=axis)
        now = float(np.abs(found - latter).sum())
        if turn and now >= best:
            break
        best = now
    return orders


def in_order(table: Counts, orders: Sequence[Integers]) -> Counts:
    """A table with its levels in the order that `aligned` has found."""
    return table[np.ix_(*orders)]


def _matched(former: Floats, latter: Floats, axis: int, n: int, *, profiles: bool) -> Integers:
    """One axis put into the order that leaves least; by `profiles` the order of the other axes does not matter."""
    slices = [
        np.moveaxis(table, axis, 0)[:n].reshape(n, math.prod(table.shape) // max(table.shape[axis], 1))
        for table in (former, latter)
    ]
    if profiles:
        slices = [np.sort(part, axis=1) for part in slices]
    cost = np.stack([np.abs(slices[1] - row).sum(axis=1) for row in slices[0]]) if n else np.zeros((0, 0))
    rows, places = linear_sum_assignment(cost)
    order = np.arange(former.shape[axis])
    order[places] = rows
    return order


# Whoever has both tables subtracts one from the other. What is left is a table of the people who have come and of those
# who have gone; a person who has changed a value has gone from one cell and come into another. It is attacked like any
# small table: a cell of one or two people identifies them, and where all who agree in the other variables are in one
# category, that category follows for each of them (attribution, as T11 ch. 2 has it for a table that is published).
#
# Only net numbers show: that as many have come as have gone, in one cell, is not seen by anyone. So the measure
# supposes the intruder who knows that no others have come or gone; with much coming and going it is too high.
#
# Counts that were rounded leave a range for each true count; a difference shows only where these ranges do not overlap.

SMALL = 2  # people in a cell up to whom each is disclosed: of two, each knows the other


@dataclass(frozen=True, eq=False)
class Ranges:
    """What a release shows of a table: the true counts, and the range in which each is known to lie.

    `low`, `high` (pair of ndarrays of int64): lower and upper bound of each count, as they are where all random draws
    went down, and where all went up. Without random draws both are the same.
    """

    counts: Counts = field(repr=False)
    low: tuple[Counts, Counts] = field(repr=False)
    high: tuple[Counts, Counts] = field(repr=False)

    @classmethod
    def of(cls, counts: Counts, protection: str, base: int | None) -> Ranges:
        """Ranges of a table published as it is (``none``), or rounded to `base` (``conventional``, ``random``).

        Refused: PARAMETER for another protection, or a base that it cannot have.
        """
        if protection == "none":
            return cls(counts, (counts, counts), (counts, counts))
        if base is None or protection not in ("conventional", "random"):
            what = "a table is published as it is, or rounded by the protections conventional or random"
            raise parameter("", what, f"{protection!r}, base {base}")
        if protection == "conventional":
            law = Conventional(base)
            box = law.bounds(law.rounded(counts))
            return cls(counts, box, box)
        down = counts // base * base
        up = np.where(counts % base, down + base, down)
        drawn = Random(base)
        return cls(counts, drawn.bounds(down), drawn.bounds(up))

    def changed(self, change: Callable[[Counts], Counts]) -> Ranges:
        return Ranges(
            change(self.counts),
            (change(self.low[0]), change(self.low[1])),
            (change(self.high[0]), change(self.high[1])),
        )

    def over(self, axes: Sequence[int]) -> Ranges:
        return self.changed(partial(margin, axes=axes))


@dataclass(frozen=True)
class Difference:
    """The people in one release of a table and not in the other, and those of them who are disclosed.

    `people`: who have come or gone, as far as the releases show it; `small_cells`: cells of one or two of them;
    `small`, `attributed`: people in such cells; people whose category in some variable follows from the others;
    `disclosed`: people of whom either holds.
    """

    people: int
    small_cells: int
    small: int
    attributed: int
    disclosed: int

    @property
    def share(self) -> float:
        """Those disclosed as a share of the people in the difference; 0 where no one is in it."""
        return self.disclosed / self.people if self.people else 0.0


def difference(former: Ranges, latter: Ranges, targets: Sequence[int]) -> Difference:
    """Attack the difference of two releases of a table.

    `targets`: axes of the variables that must not be learnt.

    Refused: PARAMETER for tables of different shapes.

    Of random rounding the draws count that show most. O(cells * targets).
    """
    if former.counts.shape != latter.counts.shape:
        got = f"shapes {former.counts.shape} and {latter.counts.shape}"
        raise parameter("", "tables are compared over the same levels", got)
    # A cell has come or gone, never both: the difference is of numbers of people.
    people = _shown(former, latter) + _shown(latter, former)
    there = people > 0
    few = there & (people <= SMALL)
    follows = np.zeros(people.shape, dtype=bool)
    for axis in targets:
        # In another category some have come or gone too: then it is not known of whom this one is.
        follows |= there & (there.sum(axis=axis, keepdims=True) == 1)
    numbers = people.sum(), few.sum(), people[few].sum(), people[follows].sum(), people[few | follows].sum()
    return Difference(*(int(number) for number in numbers))


def sum_difference(whole: Counts, parts: Sequence[Counts], targets: Sequence[int], share: float) -> Difference | None:
    """Attack a table that was published as a whole and in parts: what the parts together leave of it.

    Returns None where the people left are more than `share` of those counted: then the parts are not its parts.
    """
    total = np.sum(np.stack(parts), axis=0)
    left = int(np.abs(whole - total).sum())
    if not left or left > share * max(int(whole.sum()), 1):
        return None
    return difference(Ranges.of(total, "none", None), Ranges.of(whole, "none", None), targets)


def _shown(former: Ranges, latter: Ranges) -> Counts:
    visible = latter.high[0] - former.low[1] >= 1
    shown: Counts = np.where(visible, np.maximum(latter.counts - former.counts, 0), 0).astype(np.int64)
    return shown


def margin(counts: Counts, axes: Sequence[int]) -> Counts:
    """The margin over some axes, in the order given."""
    order = sorted(axes)
    kept = counts.sum(axis=tuple(a for a in range(counts.ndim) if a not in order))
    return np.transpose(kept, [order.index(a) for a in axes])
