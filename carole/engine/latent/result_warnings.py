"""Warnings about what the latent step was estimated from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.plan_parts import LatentPlan
from gemel.carole.engine.run.result import Linkage
from gemel.carole.extended_latent import ExtendedFit
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.message_words import listed
from gemel.common.specification.model.schemes import SCHEMES

MIN_LINKS = 2
"""Of fewer links nothing can vary."""


def latent_warnings(fit: ExtendedFit, before: Linkage, plan: LinkagePlan) -> Iterator[ResultWarning]:
    """Few records for the joint distribution, variables constant among links, beliefs that had no effect.

    Parameters
    ----------
    fit : ExtendedFit
    before : Linkage
        By agreement alone.
    plan : LinkagePlan
    """
    estimated = fit.value_fit.records > 0
    if estimated and fit.joint is not None and fit.joint.parameters > fit.value_fit.records:
        records, parameters = fit.value_fit.records, int(fit.joint.parameters)
        yield result_warning("few_records_for_joint", records=records, parameters=parameters)
    # Training records may show what the links do not.
    if estimated and not fit.value_fit.training:
        for name in constant_among_links(fit, before):
            yield result_warning("variable_constant_among_links", variable=name)
    names = unmoved(plan)
    if names:
        yield result_warning("priors_without_effect", parameters=listed(names))


def unmoved(plan: LinkagePlan) -> list[str]:
    """Of m, u and p those whose beliefs have no effect under a plan.

    A scheme that is not calibrated is not estimated again, and under an assignment p follows from the number of links.
    """
    latent = plan.latent or LatentPlan()
    calibrated = SCHEMES[plan.scheme].calibrated
    given = {
        "m": bool(latent.m_prior) and not calibrated,
        "u": bool(latent.u_prior) and not calibrated,
        "p": any(latent.p_prior) and (plan.competing or latent.p == "held" or not calibrated),
    }
    return [name for name, without in given.items() if without]


def constant_among_links(fit: ExtendedFit, before: Linkage) -> Iterator[str]:
    """Variables that have several categories in the files, and one in all links.

    O(links * variables).
    """
    links = before.links
    if len(links) < MIN_LINKS:
        return
    values = fit.values
    seen = values.evidence(before.pairs.row_a[links], before.pairs.row_b[links])
    for column in values.model_columns:
        known = seen[:, column][seen[:, column] >= 0]
        everywhere = np.concatenate([values.codes_a[:, column], values.codes_b[:, column]])
        several = len(np.unique(everywhere[everywhere >= 0])) > 1
        if len(known) >= MIN_LINKS and several and (known == known[0]).all():
            yield values.variables[column].name
