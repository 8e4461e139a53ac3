"""m and u drawn from their posterior, given which pairs are links: the other half of the draws of a linkage.

Given the links, the levels of a field among them are multinomial and its m has the Dirichlet posterior, under the prior
that estimation has (`FieldLevels.m_prior`). With dependent fields so has each row of
each table of the matches' graph; the graph itself stays as it was chosen. u is drawn likewise from the pairs that are
no links, of which there are so many that it hardly varies; where it is that of all pairs, or there are dependent fields
or classes of kin, it stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gemel.carole.arrays import F64, Flags
from gemel.carole.fellegi_sunter.dependence import EstimationMask
from gemel.carole.fellegi_sunter.dependence.structure import estimated
from gemel.carole.fellegi_sunter.model import PatternCounts, corrected, within_levels
from gemel.carole.fellegi_sunter.model import level_counts as counted_levels
from gemel.carole.fellegi_sunter.model_warnings import (
    FEW_MATCHES,
    default_m,
    expected_levels,
    unidentified_fields,
    worth,
)
from gemel.carole.fellegi_sunter.schemes import FittedScheme
from gemel.carole.fellegi_sunter.settings import Estimation, RuleFields


@dataclass(frozen=True)
class ModelDraws:
    """Draws the parameters of a fitted model.

    `bounds`: inclusive upper bounds of each field's levels.
    """

    fitted: FittedScheme
    bounds: Sequence[Sequence[float]]
    patterns: PatternCounts = field(repr=False)
    settings: Estimation
    rules: Sequence[RuleFields] = ()
    level_counts: F64 | None = field(default=None, repr=False)

    def weights(self, links: F64, rng: np.random.Generator) -> F64:
        """Match weights of the patterns, in bits, under parameters drawn given the links.

        `links` (float64, shape (n_patterns,)): links by pattern.

        Notes
        -----
        O(n_patterns * n_fields).
        """
        fitted, model = self.fitted, self.fitted.model
        scheme, n_levels = fitted.scheme, [len(levels) for levels in self.bounds]
        patterns = scheme.patterns(self.patterns, n_levels)
        counts = scheme.level_counts(self.level_counts, n_levels)
        width = model.m.shape[1]
        valid = within_levels([each.n_levels for each in model.fields])
        believed = worth(model.fields)[:, None] * default_m(model.fields, width)
        learnt = expected_levels(patterns, self.rules, links, width)
        fixed = unidentified_fields(self.rules, len(model.fields))
        m = np.where(fixed[:, None], model.m, dirichlet(learnt + believed, valid, rng))
        if fitted.joint is not None and not fitted.joint.is_plain:
            levels = [each.n_levels for each in model.fields]
            mask = EstimationMask(patterns.mask, self.rules) if self.rules else None
            structure = fitted.joint.matches.structure
            matches = estimated(structure, patterns.gamma, links, m, levels, FEW_MATCHES / 4, mask, rng=rng)
            return replace(fitted, joint=replace(fitted.joint, matches=matches)).match_weights(self.patterns.gamma)
        u = model.u
        if self.settings.u != "all_pairs":
            everywhere = counted_levels(patterns.gamma, patterns.count, width) if counts is None else counts
            p = float(links.sum()) / (float(model.n_a) * model.n_b)
            mean = corrected(everywhere, m, p, valid, self.settings.prior)
            u = dirichlet(mean * everywhere.sum(axis=1, keepdims=True), valid, rng)
        return scheme.of(replace(model, m=m, u=u), self.bounds).match_weights(self.patterns.gamma)


def dirichlet(counts: F64, valid: Flags, rng: np.random.Generator) -> F64:
    """One draw per row from the Dirichlet distribution with these parameters, 0 where there is no level."""
    drawn = np.where(valid, rng.standard_gamma(np.maximum(np.where(valid, counts, 0.0), 1e-3)), 0.0)
    # Parameters far below 1 can come out as 0, which no later observation could mend.
    drawn = np.where(valid, np.maximum(drawn, 1e-100), 0.0)
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))
