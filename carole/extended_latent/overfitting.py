"""How much better a value model fits its own pairs than others: the cost of estimating it from uncertain matches.

The pairs are split in two by Alice's records, and a model estimated from each half is evaluated on the other by the
mean log probability of values it has not seen; the amount by which the model estimated from all pairs exceeds it is
over-fitting. With repeated estimation the weights themselves come from an earlier round's model, which has seen both
halves, so from the second round on the figure is too low; expected matches that grow from round to round are the other
sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from gemel.carole.extended_latent.estimation import ValueFit, estimate, match_records
from gemel.carole.extended_latent.settings import ExtendedSettings
from gemel.carole.extended_latent.variables import Values, WeightedPairs
from gemel.common.arrays import I32
from gemel.risk.models.fitted import FittedModel


@dataclass(frozen=True)
class Round:
    """One estimation of the value model.

    `bits`, `bits_held_out`: mean log2 probability of the known values of an expected match: by the model estimated from
    all pairs, and by one estimated from the other half of the pairs. NaN where there were too few pairs to split.
    `matches`: expected under it.
    """

    bits: float
    bits_held_out: float
    matches: float

    @property
    def overfit(self) -> float:
        """By how much the model fits its own pairs better than others, in bits a match."""
        return self.bits - self.bits_held_out


def held_out(
    values: Values, fitted: ValueFit, weighted: WeightedPairs, settings: ExtendedSettings, training: I32 | None = None
) -> tuple[float, float]:
    """Mean log2 probability of an expected match, by a model estimated with it and by one estimated without it."""
    if fitted.model.match is None:
        return math.nan, math.nan
    inside = _bits(values, fitted.model.match, weighted)
    rng = np.random.default_rng(settings.seed)
    half = rng.permutation(values.n_a)[weighted.row_a] % 2
    parts = [weighted.among(half == h) for h in (0, 1)]
    if min(part.total for part in parts) < 1:
        return inside, math.nan
    settings = replace(settings, precision=fitted.precision)
    outside = 0.0
    for matches_behind_m, tried_on in (parts, parts[::-1]):
        model = estimate(values, matches_behind_m, settings, training).model.match
        if model is not None:
            outside += _bits(values, model, tried_on) * tried_on.total / weighted.total
    return inside, outside


def _bits(values: Values, model: FittedModel, weighted: WeightedPairs) -> float:
    data = match_records(values, weighted)
    return float(np.average(model.log_marginal(data.records), weights=data.weights)) / math.log(2.0)
