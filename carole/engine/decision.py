"""From kept pairs to links."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carole.engine.plan import LinkagePlan
from carole.engine.result import ScoredPairs, ScoredPatterns
from carole.engine.stream import KeptPairs
from carole.fellegi_sunter.assignment import optimal_assignment
from carole.fellegi_sunter.model import Model


def decide(
    kept: KeptPairs, scored: ScoredPatterns, model: Model, plan: LinkagePlan
) -> tuple[ScoredPairs, NDArray[np.int64], tuple[str, ...]]:
    weight, match = scored.weight[kept.pattern], scored.probability[kept.pattern]
    gain = weight * np.log(2) + np.log(model.p) - np.log1p(-model.p) - np.log(plan.threshold / (1 - plan.threshold))
    links = optimal_assignment(kept.row_a, kept.row_b, gain) if plan.one_to_one else np.flatnonzero(gain >= 0)
    return ScoredPairs(kept.row_a, kept.row_b, kept.pattern, weight, match, match), links, ()
