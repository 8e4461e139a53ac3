"""The least coarsening with which every limit holds, among those that the specification allows.

What a coarsening costs is the information that each variable loses: 1 less the entropy of its values among the linked
records over that before, summed over the variables. A variable that is dropped costs 1, one without variation nothing.
Of equal costs fewer steps are less, then the order of the specification. Risks do not all fall as variables are
coarsened, so no coarsening is known to be enough, or not to be, before it is assessed. Small lattices are gone through
from the least cost on, and the first with which every limit holds is the least of all. In large ones steps are taken
one by one, each time that which brings the measures closest to their limits, and then taken back where that is
possible: then no step can be taken back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.ladders import Ladder, Levels
from gemel.risk.lattice_search import cheapest_first, stepwise

EXACT = 100
"""Coarsenings up to which all are gone through."""

ASSESSED = 300
"""Coarsenings that are assessed at most."""

_DIGITS = 12
"""Of costs, so that sums in another order do not decide."""


@dataclass(frozen=True)
class Tried:
    levels: Levels
    cost: float
    excess: float
    breaches: tuple[str, ...]


Judge = Callable[[Levels], tuple[float, tuple[str, ...]]]
"""Assesses a coarsening: its excess and its breaches."""


@dataclass(frozen=True)
class Search:
    """The result of a search: the coarsening with which every limit holds, None if there is none or none was found;
    every one that was assessed, in that order; the number that is allowed, None where no search could help; and
    whether no allowed coarsening costs less, or every one was assessed."""

    found: Tried | None
    tried: tuple[Tried, ...]
    possible: int | None
    exact: bool


@dataclass(frozen=True)
class Costs:
    """The information in each variable at each level, in bits by linked record."""

    bits: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, combined: Combined, ladders: Sequence[Ladder]) -> Costs:
        """Entropies among the linked records; a missing value is a value of its own."""
        found = []
        for ladder in ladders:
            (column,) = combined.columns([ladder.variable])
            codes = combined.codes[:, column]
            bits = [entropy(np.append(groups, groups.max() + 1)[codes]) for groups in ladder.groups]
            found.append((*bits, *[0.0] * (ladder.top + 1 - len(bits))))
        return cls(tuple(found))

    def cost(self, levels: Levels) -> float:
        """What a coarsening loses, in variables."""
        lost = [1.0 - own[level] / own[0] for own, level in zip(self.bits, levels, strict=True) if own[0] > 0.0]
        return round(math.fsum(lost), _DIGITS)


def minimal_coarsening(
    ladders: Sequence[Ladder], costs: Costs, judge: Judge, allowed: Callable[[Levels], bool]
) -> Search:
    tops, start = [ladder.top for ladder in ladders], (0,) * len(ladders)
    known: dict[Levels, Tried] = {}

    def order(levels: Levels) -> tuple[float, int, Levels]:
        return costs.cost(levels), sum(levels), levels

    def tried(levels: Levels) -> Tried:
        if levels not in known:
            known[levels] = Tried(levels, costs.cost(levels), *judge(levels))
        return known[levels]

    def moved(levels: Levels, by: int) -> list[Levels]:
        moves = [(*levels[:q], levels[q] + by, *levels[q + 1 :]) for q in range(len(levels))]
        return [move for q, move in enumerate(moves) if 0 <= move[q] <= tops[q] and any(move) and allowed(move)]

    def tried_beside(levels: Levels, by: int) -> list[Tried]:
        return [tried(move) for move in moved(levels, by) if len(known) < ASSESSED]

    def enough(levels: Levels) -> bool:
        return levels in known and not known[levels].breaches

    def closer(levels: Levels) -> Levels | None:
        """One step further, that which brings the measures closest to their limits."""
        steps = tried_beside(levels, 1)
        return min(steps, key=lambda one: (one.excess, *order(one.levels))).levels if steps else None

    def finer(levels: Levels) -> Levels | None:
        """One step back, to the least with which every limit still holds."""
        return min((one.levels for one in tried_beside(levels, -1) if not one.breaches), key=order, default=None)

    possible = math.prod(top + 1 for top in tops) - 1
    if possible <= EXACT:
        _, *lattice = cheapest_first(start, lambda levels: moved(levels, 1), order)
        least = next((one for levels in lattice if not (one := tried(levels)).breaches), None)
        return Search(least, tuple(known.values()), len(lattice), True)
    coarse = stepwise(start, closer, enough)[-1]
    found = known[stepwise(coarse, finer, lambda _: False)[-1]] if enough(coarse) else None
    return Search(found, tuple(known.values()), possible, False)


def entropy(codes: np.ndarray[Any, np.dtype[np.integer]]) -> float:
    """Of the values of records, in bits."""
    _, counts = np.unique(codes, return_counts=True)
    shares = counts / max(len(codes), 1)
    return max(0.0, float(-(shares * np.log2(shares)).sum()))
