"""Protections of tables and records, each knowing its law P(published | true) and the bounds that follow from it.

`Chain` composes them. Those that are optimisations solve to the optimum, or report the gap when time runs out.
"""

from gemel.risk.attribution.protections.records import (
    AttributeSuppression,
    Chain,
    Outcome,
    Pram,
    Protection,
    Recoding,
    Sampling,
    Swapping,
)
from gemel.risk.attribution.protections.suppression import CellSuppression, IntervalPublication
from gemel.risk.attribution.protections.tabular import (
    Barnardisation,
    ControlledRounding,
    ConventionalRounding,
    RandomRounding,
    RecordSuppression,
    TabularAdjustment,
    UnbiasedControlledRounding,
)

__all__ = [
    "AttributeSuppression",
    "Barnardisation",
    "CellSuppression",
    "Chain",
    "ControlledRounding",
    "ConventionalRounding",
    "IntervalPublication",
    "Outcome",
    "Pram",
    "Protection",
    "RandomRounding",
    "Recoding",
    "RecordSuppression",
    "Sampling",
    "Swapping",
    "TabularAdjustment",
    "UnbiasedControlledRounding",
]
