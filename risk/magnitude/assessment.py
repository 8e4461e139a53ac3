"""Everything about magnitude tables in one document: risky cells, what else is withheld, what attackers get back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from gemel.common.errors import parameter
from gemel.common.progress import Progress, silent
from gemel.risk.arrays import Floats, Integers, Mask, finite
from gemel.risk.magnitude.attacks import OUTSIDER, Attack, Intruder, Limits, Suppressed
from gemel.risk.magnitude.audit import PublishedValues, breaches, exact_bounds, require_true
from gemel.risk.magnitude.rules import Contributions, Primary, Rule, primary_cells
from gemel.risk.magnitude.suppression import Problem, Suppression, suppress
from gemel.risk.magnitude.tables import LinkedTables

# An outsider knows what is published. Contributors know more: those whom the rule is on guard against (the coalition
# of the next largest in the cell), and every unit that is alone in some primary cell, and so knows that cell's value
# although it is withheld. They may have contributions in several withheld cells: subtracting them narrows what is left
# of others.


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
            first, last = (np.searchsorted(self._sorted, units, side) for side in ("left", "right"))
            rows = np.concatenate([self._order[a:b] for a, b in zip(first, last, strict=True)])
            cells, place, number = np.unique(self._cell_of[rows], return_inverse=True, return_counts=True)
            amounts = np.bincount(place, self._found.amounts[rows])
            own = dict(zip(cells.tolist(), amounts.tolist(), strict=True))
            known = frozenset(cells[self._found.counts[cells] == number].tolist())
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
        rules = [rule for rule in self._rules if rule.label in broken]
        return max(float(rule.reach(np.asarray(size), np.asarray(own), np.asarray(largest))) for rule in rules)


@dataclass(frozen=True)
class Choice:
    objective: Literal["value", "cells"] = "value"
    totals: bool = True
    exact: bool | None = None
    seconds: float = 60.0
    insiders: bool = True
    known_within: float = math.inf

    def __post_init__(self) -> None:
        if not self.known_within > 0:
            what = "a share above 0 is needed: within 0 all values are known, and nothing can be protected"
            got = f"{100 * self.known_within:g} %"
            raise parameter("--known-within", what, got, "write 50 for what is known to half of its value")


def assess(
    tables: LinkedTables,
    found: Contributions,
    rules: tuple[Rule, ...],
    choice: Choice | None = None,
    published: PublishedValues | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Find the risky cells, choose complementary ones or take those of a published table, and attack the result.

    `published`: a table with suppression made elsewhere; nothing is then chosen.

    Returns plain data, as written to JSON. It holds true values of withheld cells.

    Refused: a published value is not that of the records.
    """
    choice = Choice() if choice is None else choice
    primary = primary_cells(found, rules)
    intruders = Intruders(found, primary, rules)
    attacks = tuple(intruders.outside() + (intruders.inside() if choice.insiders else []))
    marks = np.zeros(tables.n_cells, dtype=bool)
    marks[primary.cells] = True
    chosen: Suppression | None = None
    if published is None:
        problem, withstood = _problem(tables, found, marks, attacks, choice), partial(progress, "suppression")
        chosen = suppress(problem, exact=choice.exact, seconds=choice.seconds, progress=withstood)
        suppressed = chosen.suppressed
        limits = Limits.of(found.values, suppressed, signed=found.signed)
    else:
        require_true(found, published)
        suppressed = published.suppressed
        limits = Limits.of(published.values, suppressed, signed=found.signed, rounding=published.rounding)
    limits = limits.known_within(found.values, suppressed, choice.known_within)
    pattern = Suppressed(tables, limits.rooms(found.values))
    cells = np.flatnonzero(suppressed)
    lower, upper = exact_bounds(pattern, found.values, cells, partial(progress, "bounds"))
    open_cells = primary.cells[~suppressed[primary.cells]]
    succeeding = breaches(pattern, [a for a in attacks if suppressed[a.cell]])
    inner, inside = tables.inner, sum(bool(a.intruder.units) for a in attacks)
    return {
        "variables": [
            {"name": c.name, "levels": len(c.nodes) - 1 - sum(map(bool, c.children[1:])), "nodes": len(c.nodes)}
            for c in tables.classifications
        ],
        "tables": [[tables.classifications[v].name for v in table] for table in tables.tables],
        "rules": [rule.label for rule in rules],
        "risky_by_rule": [sum(rule.label in broken for broken in primary.rules) for rule in rules],
        "signed": found.signed,
        "known_within": finite(choice.known_within),
        "cells": {
            "all": tables.n_cells,
            "inner": int(inner.sum()),
            "empty": int((found.counts == 0).sum()),
            "primary": len(primary.cells),
            "suppressed": len(cells),
            "secondary": int((suppressed & ~marks).sum()),
        },
        "withheld_share": float(found.sizes[suppressed & inner].sum()) / (float(found.sizes[inner].sum()) or 1.0),
        "suppression": None
        if chosen is None
        else {
            "objective": choice.objective,
            "method": chosen.method,
            "optimal": chosen.optimal,
            "cost": chosen.cost,
            "bound": chosen.bound,
            "not_withstood": len(chosen.impossible),
        },
        "rounding": 0.0 if published is None else published.rounding,
        "attacks": {"outsider": len(attacks) - inside, "contributors": inside},
        "published_primary": [tables.described(c) for c in open_cells.tolist()],
        "breaches": [
            {
                "cell": tables.described(attack.cell),
                "by": _attackers(attack),
                "bound": "upper" if attack.sense > 0 else "lower",
                "required": attack.reach,
                "reached": reach,
            }
            for attack, reach in succeeding
        ],
        "recovered": int((upper - lower <= 1e-9 * np.maximum(1.0, np.abs(found.values[cells]))).sum()),
        "suppressed": _cell_documents(tables, found, primary, cells, lower, upper),
    }


def _problem(
    tables: LinkedTables, found: Contributions, marks: Mask, attacks: tuple[Attack, ...], choice: Choice
) -> Problem:
    # Cells to which no one contributes are published as 0: that they are empty is often known.
    candidates = (found.counts > 0) & ~marks
    if not choice.totals:
        candidates &= tables.inner
    largest = float(found.sizes.max(initial=0.0)) or 1.0
    if choice.objective == "cells":
        costs = 1.0 + 1e-3 * found.sizes / largest
    else:
        costs = np.maximum(found.sizes, 1e-9 * largest)
    return Problem(tables, found.values, found.signed, marks, candidates, costs, attacks, choice.known_within)


def _cell_documents(
    tables: LinkedTables, found: Contributions, primary: Primary, cells: Integers, lower: Floats, upper: Floats
) -> list[dict[str, Any]]:
    place = {int(c): k for k, c in enumerate(primary.cells)}
    documents = []
    for cell, low, high in zip(cells.tolist(), lower.tolist(), upper.tolist(), strict=True):
        p = place.get(cell)
        documents.append(
            {
                "cell": tables.described(cell),
                "value": float(found.values[cell]),
                "contributors": int(found.counts[cell]),
                "rules": [] if p is None else list(primary.rules[p]),
                "required": None if p is None else float(primary.reach[p]),
                "lower": finite(low),
                "upper": finite(high),
            }
        )
    return documents


def _attackers(attack: Attack) -> str:
    number = len(attack.intruder.units)
    return "an outsider" if not number else "a contributor" if number == 1 else f"{number} contributors together"
