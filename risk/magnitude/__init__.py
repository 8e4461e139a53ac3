"""Magnitude tables: sums of a value over cells, and what they disclose of those who contribute to them.

`LinkedTables` are the cells of one or more tables with totals and hierarchies, `contributions` who stands behind each,
`primary_cells` the risky ones by primary rules, `suppress` the choice of other cells to withhold, `exact_bounds` and
`breaches` the audit, `assess` everything in one document. Numbers only, but for `reader`, `written` and the command.
"""

from gemel.risk.magnitude.assessment import Choice, assess
from gemel.risk.magnitude.attacks import Attack, Intruder
from gemel.risk.magnitude.audit import PublishedValues, assess_published, breaches, exact_bounds
from gemel.risk.magnitude.rules import (
    Contributions,
    Dominance,
    MinimumFrequency,
    PriorPosterior,
    contributions,
    primary_cells,
)
from gemel.risk.magnitude.suppression import Problem, Suppression, suppress
from gemel.risk.magnitude.tables import Classification, LinkedTables

__all__ = [
    "Attack",
    "Choice",
    "Classification",
    "Contributions",
    "Dominance",
    "Intruder",
    "LinkedTables",
    "MinimumFrequency",
    "PriorPosterior",
    "Problem",
    "PublishedValues",
    "Suppression",
    "assess",
    "assess_published",
    "breaches",
    "contributions",
    "exact_bounds",
    "primary_cells",
    "suppress",
]
