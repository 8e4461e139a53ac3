"""Magnitude tables: sums of a value over cells, and what they disclose of those who contribute to them.

`LinkedTables` are the cells of one or more tables with totals and hierarchies, `contributions` who stands behind each,
`primary_cells` the risky ones by primary rules, `suppress` the choice of other cells to withhold, `exact_bounds` and
`breaches` the audit, `assess` everything in one document. Numbers only, but for `reader`, `written` and the command.
"""

from tryst.risk.magnitude.assessment import Choice, assess
from tryst.risk.magnitude.attacks import Attack
from tryst.risk.magnitude.audit import breaches, exact_bounds
from tryst.risk.magnitude.classification import Classification
from tryst.risk.magnitude.contributors import Contributions, contributions
from tryst.risk.magnitude.knowledge import Intruder
from tryst.risk.magnitude.published import PublishedValues, assess_published
from tryst.risk.magnitude.rules import Dominance, MinimumFrequency, PriorPosterior, primary_cells
from tryst.risk.magnitude.suppression import Problem, Suppression, suppress
from tryst.risk.magnitude.tables import LinkedTables

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
