"""Beliefs about m, u and p as the pseudo-observations of the extended latent step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tryst.carole.engine.plan_parts import LatentPlan
from tryst.carole.extended_latent import Priors
from tryst.carole.fellegi_sunter.model import Model
from tryst.carole.fellegi_sunter.settings import MPrior


def priors_of(latent: LatentPlan, model: Model) -> Priors:
    """The priors of a plan for a fitted model's fields and levels.

    Parameters
    ----------
    latent : LatentPlan
    model : Model
        Of Fellegi-Sunter.

    Returns
    -------
    Priors
        Of a field that is named, `agreement` of the weight at its highest level and the rest spread evenly over the
        others; nothing of other fields.
    """
    matches, non_matches = latent.p_prior
    return Priors(_counts(latent.m_prior, model), _counts(latent.u_prior, model), matches, non_matches)


def _counts(beliefs: Sequence[tuple[str, MPrior]], model: Model) -> NDArray[np.float64] | None:
    if not beliefs:
        return None
    counts = np.zeros(model.m.shape)
    believed = dict(beliefs)
    for row, field in enumerate(model.fields):
        belief = believed.get(field.name)
        if belief is not None:
            top = field.n_levels - 1
            counts[row, :top] = belief.weight * (1 - belief.agreement) / max(1, top)
            counts[row, top] = belief.weight * belief.agreement
    return counts
