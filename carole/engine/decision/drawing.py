"""Draws of a run's linkage, where they are to be released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.decision.refinement import estimation
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.fellegi_sunter import FittedScheme, PatternCounts, RuleFields
from gemel.carole.fellegi_sunter.fixed_point import LinkProbabilities
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.linkage_draws import LinkageDraws, draw_linkages
from gemel.carole.fellegi_sunter.model_draws import ModelDraws
from gemel.common.progress import StageProgress

DRAWS_STREAM = 8
"""Distinguishes the random numbers of drawn linkages from others of the same seed."""


@dataclass(frozen=True)
class Drawing:
    """What linkages are drawn from.

    Parameters
    ----------
    fitted : FittedScheme
    patterns : PatternCounts
        By the fields' levels.
    levels : ndarray of float64 or None
        Pairs by field and level over all pairs of records.
    rules : sequence of RuleFields
    plan : LinkagePlan
    """

    fitted: FittedScheme
    patterns: PatternCounts = field(repr=False)
    levels: NDArray[np.float64] | None = field(repr=False)
    rules: Sequence[RuleFields]
    plan: LinkagePlan

    def drawn(
        self,
        links: LinkPosterior,
        kept: KeptPairs,
        posterior: LinkProbabilities | None,
        rarity: NDArray[np.float64] | None,
        progress: StageProgress,
    ) -> LinkageDraws:
        """As many linkages as the plan requests, by positions of the kept pairs; the same ones for the same seed.

        Parameters
        ----------
        links : LinkPosterior
            The kept pairs under the plan's assignment.
        kept : KeptPairs
        posterior : LinkProbabilities or None
            Of the kept pairs; None where pairs do not compete.
        rarity : ndarray of float64, optional
            Added to each kept pair's weight, in bits.
        progress : callable
            Called with the fraction done.
        """
        plan, bounds = self.plan, [each.bounds for each in self.plan.compared]
        if posterior is None:
            posterior = links.probabilities(self.fitted.match_weights(self.patterns.gamma)[kept.pattern])
        model = ModelDraws(self.fitted, bounds, self.patterns, estimation(plan), self.rules, self.levels)
        rng = np.random.default_rng([plan.seed, DRAWS_STREAM])
        return draw_linkages(
            links, kept.pattern, posterior, model.weights, self.patterns.n_patterns, plan.draws, rng, rarity, progress
        )
