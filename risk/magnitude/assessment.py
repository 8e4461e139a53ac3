"""Everything about magnitude tables in one document: risky cells, what else is withheld, what attackers get back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.common.progress import Progress
from gemel.risk.magnitude.attacks import Attack
from gemel.risk.magnitude.audit import Limits, breaches, exact_bounds, pattern_of
from gemel.risk.magnitude.contributors import Contributions
from gemel.risk.magnitude.intruders import Intruders
from gemel.risk.magnitude.knowledge import Numbers
from gemel.risk.magnitude.published import PublishedValues, finite, require_true
from gemel.risk.magnitude.rules import Primary, Rule, primary_cells
from gemel.risk.magnitude.suppression import Problem, Suppression, suppress
from gemel.risk.magnitude.tables import LinkedTables

Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class Choice:
    """How complementary cells are chosen, and against whom.

    Parameters
    ----------
    objective
        ``value``: the least sum of withheld values; ``cells``: the fewest cells.
    totals
        Whether sums may be withheld; risky ones are in any case.
    exact
        As in `suppression.suppress`.
    seconds
        As there.
    insiders
        Whether contributors attack, too.
    known_within
        Share of its value within which every attacker knows each withheld cell beforehand; infinite for nothing.
    """

    objective: Literal["value", "cells"] = "value"
    totals: bool = True
    exact: bool | None = None
    seconds: float = 60.0
    insiders: bool = True
    known_within: float = math.inf

    def __post_init__(self) -> None:
        if not self.known_within > 0:
            raise parameter(
                "--known-within",
                "a share above 0 is needed: within 0 all values are known, and nothing can be protected",
                f"{100 * self.known_within:g} %",
                "write 50 for what is known to half of its value",
            )


def assess(
    tables: LinkedTables,
    found: Contributions,
    rules: tuple[Rule, ...],
    choice: Choice | None = None,
    published: PublishedValues | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Find the risky cells, choose complementary ones or take those of a published table, and attack the result.

    Parameters
    ----------
    tables, found
        The cells, and who stands behind them.
    rules
        Primary rules.
    choice
        How complementary cells are chosen.
    published
        A table with suppression made elsewhere; nothing is then chosen.
    progress
        Called with the stage and its share done.

    Returns
    -------
    dict
        Plain data, as written to JSON. It holds true values of withheld cells.

    Raises
    ------
    GemelError
        A published value is not that of the records.
    """
    choice = Choice() if choice is None else choice
    primary = primary_cells(found, rules)
    intruders = Intruders(found, primary, rules)
    attacks = tuple(intruders.outside() + (intruders.inside() if choice.insiders else []))
    marks = np.zeros(tables.n_cells, dtype=bool)
    marks[primary.cells] = True
    chosen: Suppression | None = None
    if published is None:
        chosen = _chosen(tables, found, marks, attacks, choice, progress)
        suppressed = chosen.suppressed
        limits = Limits.of(found.values, suppressed, signed=found.signed)
    else:
        require_true(found, published)
        suppressed = published.suppressed
        limits = Limits.of(published.values, suppressed, signed=found.signed, rounding=published.rounding)
    limits = limits.known_within(found.values, suppressed, choice.known_within)
    pattern = pattern_of(tables, found.values, limits)
    cells = np.flatnonzero(suppressed)
    lower, upper = exact_bounds(pattern, found.values, cells, None if progress is None else partial(progress, "bounds"))
    open_cells = primary.cells[~suppressed[primary.cells]]
    succeeding = breaches(pattern, [a for a in attacks if suppressed[a.cell]])
    inner = tables.inner
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
        "withheld_share": _share(found.sizes, suppressed & inner, inner),
        "suppression": None if chosen is None else _suppression_document(chosen, choice),
        "rounding": 0.0 if published is None else published.rounding,
        "attacks": {
            "outsider": sum(not a.intruder.units for a in attacks),
            "contributors": sum(bool(a.intruder.units) for a in attacks),
        },
        "published_primary": [tables.described(c) for c in open_cells.tolist()],
        "breaches": [
            {
                "cell": tables.described(b.attack.cell),
                "by": _attackers(b.attack),
                "bound": "upper" if b.attack.sense > 0 else "lower",
                "required": b.attack.reach,
                "reached": b.reach,
            }
            for b in succeeding
        ],
        "recovered": int((upper - lower <= 1e-9 * np.maximum(1.0, np.abs(found.values[cells]))).sum()),
        "suppressed": _cell_documents(tables, found, primary, cells, lower, upper),
    }


def table_values(tables: LinkedTables, found: Contributions, assessment: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of the protected table: the level of each variable, and the value, None where withheld."""
    hidden = {tuple(sorted(entry["cell"].items())) for entry in assessment["suppressed"]}
    rows = []
    for cell in range(tables.n_cells):
        described = tables.described(cell)
        withheld = tuple(sorted(described.items())) in hidden
        levels = {c.name: described.get(c.name, c.nodes[0]) for c in tables.classifications}
        rows.append({**levels, "value": None if withheld else float(found.values[cell])})
    return rows


def _chosen(
    tables: LinkedTables,
    found: Contributions,
    marks: Marks,
    attacks: tuple[Attack, ...],
    choice: Choice,
    progress: Progress | None,
) -> Suppression:
    # Cells to which no one contributes are published as 0: that they are empty is often known.
    candidates = (found.counts > 0) & ~marks
    if not choice.totals:
        candidates &= tables.inner
    largest = float(found.sizes.max(initial=0.0)) or 1.0
    if choice.objective == "cells":
        costs = 1.0 + 1e-3 * found.sizes / largest
    else:
        costs = np.maximum(found.sizes, 1e-9 * largest)
    problem = Problem(tables, found.values, found.signed, marks, candidates, costs, attacks, choice.known_within)
    shown = None if progress is None else partial(progress, "suppression")
    return suppress(problem, exact=choice.exact, seconds=choice.seconds, progress=shown)


def _cell_documents(
    tables: LinkedTables,
    found: Contributions,
    primary: Primary,
    cells: NDArray[np.int64],
    lower: Numbers,
    upper: Numbers,
) -> list[dict[str, Any]]:
    counts = found.counts
    place = {int(c): k for k, c in enumerate(primary.cells)}
    documents = []
    for k, cell in enumerate(cells.tolist()):
        p = place.get(cell)
        documents.append(
            {
                "cell": tables.described(cell),
                "value": float(found.values[cell]),
                "contributors": int(counts[cell]),
                "rules": [] if p is None else list(primary.rules[p]),
                "required": None if p is None else float(primary.reach[p]),
                "lower": finite(float(lower[k])),
                "upper": finite(float(upper[k])),
            }
        )
    return documents


def _suppression_document(chosen: Suppression, choice: Choice) -> dict[str, Any]:
    return {
        "objective": choice.objective,
        "method": chosen.method,
        "optimal": chosen.optimal,
        "cost": chosen.cost,
        "bound": chosen.bound,
        "not_withstood": len(chosen.impossible),
    }


def _attackers(attack: Attack) -> str:
    number = len(attack.intruder.units)
    return "an outsider" if not number else "a contributor" if number == 1 else f"{number} contributors together"


def _share(sizes: Numbers, part: Marks, whole: Marks) -> float:
    total = float(sizes[whole].sum())
    return float(sizes[part].sum()) / total if total else 0.0
