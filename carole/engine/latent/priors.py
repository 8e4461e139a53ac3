"""Beliefs about m, u and p as the pseudo-observations of the extended latent step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.run.plan_parts import LatentPlan
from gemel.carole.fellegi_sunter import FittedScheme
from gemel.carole.fellegi_sunter.kernels import level_counts
from gemel.carole.fellegi_sunter.settings import FieldLevels, MPrior


def with_beliefs(
    scheme: FittedScheme, found: Candidates, latent: LatentPlan
) -> tuple[FittedScheme, NDArray[np.float64] | None]:
    """A scheme and the levels of all pairs, as they are estimated from with a plan's beliefs.

    Parameters
    ----------
    scheme : FittedScheme
        Its fields have beliefs about m of their own; the plan's are added.
    found : Candidates
    latent : LatentPlan

    Returns
    -------
    FittedScheme
    ndarray of float64, shape (n_fields, maximum of levels), or None
        Pairs by field and level with those that beliefs about u are worth; None as in `found`, without such beliefs.
    """
    model = scheme.model
    believed = dict(latent.m_prior)
    fields = tuple(_with_belief(field, believed.get(field.name)) for field in model.fields)
    scheme = replace(scheme, model=replace(model, fields=fields))
    if not latent.u_prior:
        return scheme, found.levels
    levels, patterns = found.levels, found.patterns
    if levels is None:
        levels = level_counts(np.ascontiguousarray(patterns.gamma), patterns.count, model.m.shape[1])
    return scheme, levels + _counts(latent.u_prior, model.fields, levels.shape)


def _with_belief(field: FieldLevels, belief: MPrior | None) -> FieldLevels:
    if belief is None:
        return field
    own = field.m_prior
    weight = own.weight + belief.weight
    agreement = (own.weight * own.agreement + belief.weight * belief.agreement) / weight
    return replace(field, m_prior=MPrior(agreement, weight))


def _counts(
    beliefs: Iterable[tuple[str, MPrior]], fields: Iterable[FieldLevels], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """`agreement` of the weight at a field's highest level and the rest spread evenly over the others."""
    counts, believed = np.zeros(shape), dict(beliefs)
    for row, field in enumerate(fields):
        belief = believed.get(field.name)
        if belief is not None:
            top = field.n_levels - 1
            counts[row, :top] = belief.weight * (1 - belief.agreement) / max(1, top)
            counts[row, top] = belief.weight * belief.agreement
    return counts
