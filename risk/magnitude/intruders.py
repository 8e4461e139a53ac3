"""Who attacks each primary cell, and how far each must be left in doubt.

An outsider knows what is published. Contributors know more: those whom the rule is on guard against (the coalition of
the next largest in the cell), and every unit that is alone in some primary cell, and so knows that cell's value
although it is withheld. They may have contributions in several withheld cells: subtracting them narrows what is left of
others.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from gemel.risk.magnitude.attacks import Attack
from gemel.risk.magnitude.contributors import Contributions
from gemel.risk.magnitude.knowledge import OUTSIDER, Intruder
from gemel.risk.magnitude.rules import Primary, Rule


class Intruders:
    """The attacks that a suppression must withstand."""

    def __init__(self, found: Contributions, primary: Primary, rules: tuple[Rule, ...]) -> None:
        self._found, self._primary, self._rules = found, primary, rules
        self._order = np.argsort(found.units, kind="stable")
        self._sorted = found.units[self._order]
        self._cell_of = np.repeat(np.arange(len(found.values)), np.diff(found.start))
        self._known: dict[tuple[int, ...], Intruder] = {}

    def outside(self) -> list[Attack]:
        """The outsider's two attacks on each primary cell; the lower bound need not fall below 0."""
        attacks: list[Attack] = []
        for cell, reach in zip(self._primary.cells.tolist(), self._primary.reach.tolist(), strict=True):
            attacks += self._both(cell, reach, OUTSIDER)
        return attacks

    def inside(self) -> list[Attack]:
        """Attacks by contributors that know more than an outsider does, of cells other than the one attacked."""
        attacks: list[Attack] = []
        for cell in self._primary.cells.tolist():
            for units in self._attackers(cell):
                intruder = self._intruder(units)
                if set(intruder.own) | intruder.known <= {cell} or cell in intruder.known:
                    continue
                reach = self._reach(cell, units, intruder.own.get(cell, 0.0))
                if reach > 1e-9 * self._found.sizes[cell]:
                    attacks += self._both(cell, reach, intruder)
        return attacks

    def _both(self, cell: int, reach: float, intruder: Intruder) -> Iterator[Attack]:
        yield Attack(cell, 1, reach, intruder)
        lower = reach
        if not self._found.signed:
            lower = min(reach, float(self._found.values[cell]) - intruder.own.get(cell, 0.0))
        if lower > 1e-9 * self._found.sizes[cell]:
            yield Attack(cell, -1, lower, intruder)

    def _attackers(self, cell: int) -> list[tuple[int, ...]]:
        """Coalitions: for each rule the next largest units after the largest, and each unit alone in some cell."""
        units = self._found.units[self._found.of(cell)]
        coalitions = [tuple(sorted(units[1 : 1 + rule.others].tolist())) for rule in self._rules]
        coalitions += [(unit,) for unit in self._alone]
        return [c for c in dict.fromkeys(coalitions) if c]

    @cached_property
    def _alone(self) -> list[int]:
        counts = self._found.counts
        cells = [c for c in self._primary.cells.tolist() if counts[c] == 1]
        return sorted({int(self._found.units[self._found.start[c]]) for c in cells})

    def _intruder(self, units: tuple[int, ...]) -> Intruder:
        """All that units have, in all cells."""
        if units not in self._known:
            own: dict[int, float] = {}
            present: dict[int, int] = {}
            for unit in units:
                first, last = np.searchsorted(self._sorted, [unit, unit + 1])
                for row in self._order[first:last].tolist():
                    cell = int(self._cell_of[row])
                    own[cell] = own.get(cell, 0.0) + float(self._found.amounts[row])
                    present[cell] = present.get(cell, 0) + 1
            counts = self._found.counts
            known = frozenset(cell for cell, number in present.items() if counts[cell] == number)
            self._known[units] = Intruder(units, own, known)
        return self._known[units]

    def _reach(self, cell: int, units: tuple[int, ...], own: float) -> float:
        """The widest reach that a rule which the cell breaks requires against these units."""
        found = self._found
        rows = found.of(cell)
        others = found.copies[rows] - np.isin(found.units[rows], units)
        left = np.flatnonzero(others > 0)
        if not len(left):
            return 0.0
        largest = found.amounts[rows][left[0]]
        broken = self._primary.rules[int(np.searchsorted(self._primary.cells, cell))]
        size = found.sizes[cell]
        return max(
            float(rule.reach(np.asarray(size), np.asarray(own), np.asarray(largest)))
            for rule in self._rules
            if rule.label in broken
        )
