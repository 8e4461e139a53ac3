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
    """One coarsening that was assessed."""

    levels: Levels
    cost: float
    excess: float
    breaches: tuple[str, ...]


Judge = Callable[[Levels], tuple[float, tuple[str, ...]]]
"""Assesses a coarsening: its excess and its breaches."""


@dataclass(frozen=True)
class Search:
    """The result of a search.

    Attributes
    ----------
    found
        The coarsening; None if there is none with which every limit holds, or none was found.
    tried
        Every one that was assessed, in that order.
    possible
        Number of coarsenings that are allowed.
    exact
        Whether no allowed coarsening costs less, or every one was assessed.
    """

    found: Tried | None
    tried: tuple[Tried, ...]
    possible: int
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
    """Search the least coarsening with which every limit holds."""
    possible = math.prod(ladder.top + 1 for ladder in ladders) - 1
    walk = _Walk([ladder.top for ladder in ladders], costs, judge, allowed)
    if possible <= EXACT:
        return walk.every()
    return Search(walk.by_steps(), tuple(walk.known.values()), possible, False)


class _Walk:
    def __init__(self, tops: Sequence[int], costs: Costs, judge: Judge, allowed: Callable[[Levels], bool]) -> None:
        self._tops = tops
        self._costs = costs
        self._judge = judge
        self._allowed = allowed
        self.known: dict[Levels, Tried] = {}

    def every(self) -> Search:
        _, *possible = cheapest_first((0,) * len(self._tops), lambda levels: self._moved(levels, 1), self._order)
        enough = next((tried for levels in possible if not (tried := self._tried(levels)).breaches), None)
        return Search(enough, tuple(self.known.values()), len(possible), True)

    def by_steps(self) -> Tried | None:
        coarse = stepwise((0,) * len(self._tops), self._closer, self._enough)[-1]
        return self.known[stepwise(coarse, self._finer, lambda _: False)[-1]] if self._enough(coarse) else None

    def _enough(self, levels: Levels) -> bool:
        return levels in self.known and not self.known[levels].breaches

    def _closer(self, levels: Levels) -> Levels | None:
        """One step further, that which brings the measures closest to their limits."""
        steps = [self._tried(further) for further in self._moved(levels, 1) if self._room]
        return min(steps, key=lambda one: (one.excess, *self._order(one.levels))).levels if steps else None

    def _finer(self, levels: Levels) -> Levels | None:
        """One step back, to the least with which every limit still holds."""
        back = [self._tried(finer) for finer in self._moved(levels, -1) if self._room]
        return min((one.levels for one in back if not one.breaches), key=self._order, default=None)

    @property
    def _room(self) -> bool:
        return len(self.known) < ASSESSED

    def _moved(self, levels: Levels, by: int) -> list[Levels]:
        moves = [(*levels[:q], levels[q] + by, *levels[q + 1 :]) for q in range(len(levels))]
        return [
            moved
            for q, moved in enumerate(moves)
            if 0 <= moved[q] <= self._tops[q] and any(moved) and self._allowed(moved)
        ]

    def _order(self, levels: Levels) -> tuple[float, int, Levels]:
        return self._costs.cost(levels), sum(levels), levels

    def _tried(self, levels: Levels) -> Tried:
        if levels not in self.known:
            self.known[levels] = Tried(levels, self._costs.cost(levels), *self._judge(levels))
        return self.known[levels]


def entropy(codes: np.ndarray[Any, np.dtype[np.integer]]) -> float:
    """Of the values of records, in bits."""
    _, counts = np.unique(codes, return_counts=True)
    shares = counts / max(len(codes), 1)
    return max(0.0, float(-(shares * np.log2(shares)).sum()))
