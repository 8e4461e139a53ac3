"""The model before estimation: matches nearly always agree, others as all pairs do."""

from __future__ import annotations

from dataclasses import replace

from gemel.carole.arrays import F64
from gemel.carole.fellegi_sunter.model import Model, PatternCounts, shares, within_levels
from gemel.carole.fellegi_sunter.model import level_counts as counted_levels
from gemel.carole.fellegi_sunter.model_warnings import default_m
from gemel.carole.fellegi_sunter.settings import Estimation


def believed_model(
    model: Model, patterns: PatternCounts, settings: Estimation | None = None, level_counts: F64 | None = None
) -> Model:
    """The model that estimation under the assignment starts from.

    A pair that may be a match under it must be among those kept, whatever its score in the pairwise fit.
    """
    settings = settings or Estimation()
    width = model.m.shape[1]
    valid = within_levels([field.n_levels for field in model.fields])
    everywhere = counted_levels(patterns.gamma, patterns.count, width) if level_counts is None else level_counts
    return replace(model, m=default_m(model.fields, width), u=shares(everywhere, valid, settings.prior))
