"""The joint distribution as a resolver reports it to Carole: of many links, or not at all.

Carole names the pairs that it is estimated from. Were it reported of a request of one pair, she would read that pair's
codes from it to the last variable: however faint one observation is beside the prior, exact probabilities show which
cell it raised. She has both rows' signatures, which must stay apart from codes (`benchmarks leakage`, section latent).
"""

from __future__ import annotations

from gemel.carole.engine.decision.coded_links import GROUP
from gemel.carole.engine.run.result import Linkage
from gemel.carole.engine.run.row_numbers import n_distinct
from gemel.common.specification import Specification
from gemel.risk.models.joint_distribution import JointDistribution


def of_few_links(linkage: Linkage) -> bool:
    """Whether the links are of fewer than `GROUP` records of one of the files.

    Records and not links: where a record may have several, they would all be of one.
    """
    pairs, links = linkage.pairs, linkage.links
    return min(n_distinct(pairs.row_a[links]), n_distinct(pairs.row_b[links])) < GROUP


def reported_joint(linkage: Linkage, spec: Specification) -> JointDistribution | None:
    """The joint distribution for Carole; None if it is neither released nor assessed, or of few links.

    Training records do not make up for links: Carole has them, and would find what the pairs added.
    """
    if linkage.latent is None or not spec.joint_reported or of_few_links(linkage):
        return None
    return linkage.latent.joint
