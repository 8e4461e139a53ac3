"""Protections of tables and records, each knowing its law P(published | true) and the bounds that follow from it.

`Chain` composes them. Those that are optimisations solve to the optimum, or report the gap when time runs out.
"""

from gemel.risk.attribution.protections.adjustment import TabularAdjustment
from gemel.risk.attribution.protections.controlled import ControlledRounding, UnbiasedControlledRounding
from gemel.risk.attribution.protections.protection import Chain, Outcome, Protection
from gemel.risk.attribution.protections.records import AttributeSuppression, Pram, Recoding, Sampling, Swapping
from gemel.risk.attribution.protections.rounding import (
    Barnardisation,
    ConventionalRounding,
    RandomRounding,
    RecordSuppression,
)
from gemel.risk.attribution.protections.suppression import CellSuppression, IntervalPublication

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
