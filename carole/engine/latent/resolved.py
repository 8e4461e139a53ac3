"""The extended latent step of a resolver, who has the kept pairs only, and of their records nothing but codes.

Carole keeps more pairs for it than for a decision by agreement (`selection`), since values may lift what they would not
be asked of otherwise. By agreement it decides as a run in mode open does, on those that such a run keeps; the value
model sees them all, and takes the values of the others to be no evidence.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.decision.conclusion import conclude
from gemel.carole.engine.decision.estimated import fitted_scheme, scored_patterns
from gemel.carole.engine.decision.refinement import worth_keeping
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.inputs.values import check_variables, values_of
from gemel.carole.engine.latent.known_records import NOTHING_KNOWN, KnownRecords
from gemel.carole.engine.latent.step import extended
from gemel.carole.engine.pairs.selection import choose_patterns
from gemel.carole.engine.run.memory import KEPT_BYTES, MemoryBudget
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.plan_parts import LatentPlan
from gemel.carole.engine.run.result import Linkage
from gemel.carole.extended_latent import ArrayPairs
from gemel.common.progress import Progress
from gemel.common.signatures.signature_sets import SignatureSet

UNLIMITED = 1 << 62
"""Bytes: the resolver has no limit but its machine's memory."""

Rows = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Of A and of B, for each pair."""


def resolved_with_values(
    found: Candidates,
    rows: Rows,
    files: tuple[SignatureSet, SignatureSet],
    plan: LinkagePlan,
    progress: Progress,
    known: KnownRecords = NOTHING_KNOWN,
) -> tuple[Linkage, NDArray[np.int64]]:
    """Decide by agreement, then by agreement and values.

    Parameters
    ----------
    found : Candidates
    rows : tuple of ndarray of int32, shape (n_kept,)
        The records of each kept pair.
    files : tuple of SignatureSet
        Codes of both files' records.
    plan : LinkagePlan
        With a latent step.
    progress : callable
        Called with the stage, "decide" or "latent", and the fraction of it done.
    known : KnownRecords, optional
        Training records, or the joint distribution itself.

    Returns
    -------
    Linkage
        Of all pairs, whatever values make of them: a custodian may be shown any.
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


def _as_in_mode_open(found: Candidates, plan: LinkagePlan) -> tuple[Candidates, NDArray[np.bool_]]:
    """The pairs that a run keeps for a decision by agreement, and which they are."""
    fitted = fitted_scheme(found.patterns, found.levels, found.n_a, found.n_b, plan)
    scored = worth_keeping(fitted, scored_patterns(fitted, found.patterns), plan, found.levels)
    selected = choose_patterns(scored, plan.threshold, found.patterns.n_pairs, KEPT_BYTES).patterns
    selected = selected[np.isin(selected, found.selected)]
    among = np.isin(found.pattern, selected)
    return replace(found, pattern=found.pattern[among], selected=selected), among


def _places(rows: Rows, others: Rows) -> NDArray[np.int64]:
    """Where each pair of `others` is among `rows`, both of the same pairs."""
    (given, own) = (a.astype(np.int64) << 32 | b for a, b in (rows, others))
    order = np.argsort(given)
    return order[np.searchsorted(given[order], own)].astype(np.int64)
