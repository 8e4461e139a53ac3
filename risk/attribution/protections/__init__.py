"""Protections of tables and records, each knowing its law P(published | true) and the bounds that follow from it.

`Chain` composes them. Those that are optimisations solve to the optimum, or to the best found when time runs out.
"""

from collections.abc import Callable

from gemel.risk.attribution.protections.records import (
    AttributeSuppression,
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

KINDS: dict[str, Callable[..., Protection]] = {
    "conventional": ConventionalRounding,
    "random": RandomRounding,
    "barnardisation": Barnardisation,
    "record_suppression": RecordSuppression,
    "controlled": ControlledRounding,
    "unbiased_controlled": UnbiasedControlledRounding,
    "cell_suppression": CellSuppression,
    "interval": IntervalPublication,
    "adjustment": TabularAdjustment,
    "swapping": Swapping,
    "pram": Pram,
    "sampling": Sampling,
    "recoding": Recoding,
    "attribute_suppression": AttributeSuppression,
}
"""By the names that documents have for them."""
