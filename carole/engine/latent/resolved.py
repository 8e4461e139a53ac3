"""The extended latent step of a resolver, who has the kept pairs only, and of their records nothing but codes.

Carole keeps more pairs for it than for a decision by agreement (`selection`), since values may lift what they would not
be asked of otherwise. By agreement it decides as a run in mode open does, on those that such a run keeps; the value
model sees them all, and takes the values of the others to be no evidence.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from gemel.carole.arrays import I32, I64, Flags
from gemel.carole.engine.decision.coded_links import GROUP
from gemel.carole.engine.decision.conclusion import conclude
from gemel.carole.engine.decision.estimated import fitted_scheme, scored_patterns
from gemel.carole.engine.decision.refinement import worth_keeping
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.inputs.files import check_variables, values_of
from gemel.carole.engine.latent.refit import NOTHING_KNOWN, KnownRecords
from gemel.carole.engine.latent.step import extended
from gemel.carole.engine.pairs.selection import choose_patterns
from gemel.carole.engine.run.contribution import n_distinct
from gemel.carole.engine.run.plan import LatentPlan, LinkagePlan
from gemel.carole.engine.run.resources import KEPT_BYTES, MemoryBudget
from gemel.carole.engine.run.result import Linkage
from gemel.carole.extended_latent import ArrayPairs
from gemel.common.progress import Progress
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification
from gemel.risk.models import JointDistribution

UNLIMITED = 1 << 62
"""Bytes: the resolver has no limit but its machine's memory."""

Rows = tuple[I32, I32]
"""Of A and of B, for each pair."""


def resolved_with_values(
    found: Candidates,
    rows: Rows,
    files: tuple[SignatureSet, SignatureSet],
    plan: LinkagePlan,
    progress: Progress,
    known: KnownRecords = NOTHING_KNOWN,
) -> tuple[Linkage, I64]:
    """Decide by agreement, then by agreement and values.

    Parameters
    ----------
    rows : tuple of ndarray of int32, shape (n_kept,)
        The records of each kept pair.

    Returns
    -------
    ndarray of int64, shape (n_kept,)
        Which kept pair each of the linkage's pairs is.
    """
    latent = plan.latent or LatentPlan()
    check_variables(*files, latent)
    values, left_out = values_of(*files, latent)
    if values is None:
        linkage, order = conclude(found, *rows, plan, progress)
        return replace(linkage, warnings=(*linkage.warnings, *left_out)), order
    near, among = _as_in_mode_open(found, plan)
    linkage, _ = conclude(near, rows[0][among], rows[1][among], plan, progress)
    started = time.perf_counter()
    every = ArrayPairs(*rows, found.pattern)
    budget = MemoryBudget(UNLIMITED)
    linkage = extended(
        values, every, found, linkage, plan, budget, lambda done: progress("latent", done), known, every=every
    )
    seconds = {**linkage.seconds, "latent": time.perf_counter() - started}
    linkage = replace(linkage, warnings=(*linkage.warnings, *left_out), seconds=seconds)
    return linkage, _places(rows, (linkage.pairs.row_a, linkage.pairs.row_b))


def _as_in_mode_open(found: Candidates, plan: LinkagePlan) -> tuple[Candidates, Flags]:
    """The pairs that a run keeps for a decision by agreement, and which they are."""
    fitted = fitted_scheme(found.patterns, found.levels, found.n_a, found.n_b, plan)
    scored = worth_keeping(fitted, scored_patterns(fitted, found.patterns), plan, found.levels)
    selected = choose_patterns(scored, plan.threshold, found.patterns.n_pairs, KEPT_BYTES).patterns
    selected = selected[np.isin(selected, found.selected)]
    among = np.isin(found.pattern, selected)
    return replace(found, pattern=found.pattern[among], selected=selected), among


def _places(rows: Rows, others: Rows) -> I64:
    """Where each pair of `others` is among `rows`, both of the same pairs."""
    (given, own) = (a.astype(np.int64) << 32 | b for a, b in (rows, others))
    order = np.argsort(given)
    return order[np.searchsorted(given[order], own)].astype(np.int64)


# The joint distribution as a resolver reports it to Carole: of many links, or not at all.
#
# Carole names the pairs that it is estimated from. Were it reported of a request of one pair, she would read that
# pair's codes from it to the last variable: however faint one observation is beside the prior, exact probabilities
# show which cell it raised. She has both rows' signatures, which must stay apart from codes (`benchmarks leakage`,
# section latent).


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
