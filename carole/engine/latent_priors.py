"""What is believed of m where the latent step estimates it again."""

from __future__ import annotations

from dataclasses import replace

from tryst.carole.engine.plan_parts import LatentPlan
from tryst.carole.fellegi_sunter import FittedScheme


def believing(fitted: FittedScheme, latent: LatentPlan) -> FittedScheme:
    """A fit whose fields have the step's own beliefs, where there are any; its parameters are as before."""
    if not latent.m_prior:
        return fitted
    beliefs = dict(latent.m_prior)
    fields = tuple(replace(field, m_prior=beliefs.get(field.name, field.m_prior)) for field in fitted.model.fields)
    return replace(fitted, model=replace(fitted.model, fields=fields))
