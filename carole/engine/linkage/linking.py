"""The link of two whole files: of records, or of the persons that several records of a file are."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from gemel.carole.engine.decision.conclusion import conclude
from gemel.carole.engine.decision.decoys import decoys_of_files, records_and_decoys
from gemel.carole.engine.inputs.files import WholeFiles
from gemel.carole.engine.latent.refit import NOTHING_KNOWN, KnownRecords
from gemel.carole.engine.linkage.clusters import both_persons, with_entities
from gemel.carole.engine.linkage.local import Run
from gemel.carole.engine.pairs.selection import copies
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.resources import Resources
from gemel.carole.engine.run.result import Linkage
from gemel.common.progress import Progress
from gemel.common.signatures.signature_sets import SignatureSet


def link(
    a: SignatureSet,
    b: SignatureSet,
    plan: LinkagePlan,
    resources: Resources,
    progress: Progress,
    known: KnownRecords = NOTHING_KNOWN,
) -> Linkage:
    """Link two signature sets.

    Parameters
    ----------
    a, b : SignatureSet
        Of the whole files, with their decoys where the plan has any.
    resources : Resources
        Memory and threads.
    progress : callable
        Called with the stage ("persons" under clusters, "tables", "levels", "count", "model", "keep", "decide", and
        "latent" where there is such a step) and the fraction of it done, on the calling thread. An exception from it
        ends the run.

    Returns
    -------
    Linkage
        The same for a given plan whatever the number of threads; memory only changes the floor of the kept pairs.

    Raises
    ------
    GemelError
        EMPTY_SOURCE, ENCODING_MISMATCH or PARAMETER if the inputs cannot be linked under the plan, NOT_IDENTIFIED
        if the model's parameters cannot be estimated from them, MEMORY if the run would need more than it may use.

    Notes
    -----
    Time is that of comparing distinct values (or candidate pairs, where that is less) and of two passes over the
    pairs, at some 10 ns per pair and pass on a core; estimation depends on the distinct comparison vectors only.
    """
    if plan.assignment == "clusters":
        return _clustered(a, b, plan, resources, progress)
    whole = a, b
    a, b = (records_and_decoys(part, plan.decoys)[0] for part in whole)
    run = Run(WholeFiles(a, b), plan, resources, progress)
    with ThreadPoolExecutor(resources.threads, thread_name_prefix="linkage") as pool:
        found, kept, fitted = run.compared(pool)
        found = replace(found, copies=(copies(a, plan, fitted.model), copies(b, plan, fitted.model)))
        decoys = decoys_of_files(whole, plan, partial(run.above, pool)) if plan.decoys else None
        linkage, _ = conclude(found, kept.row_a, kept.row_b, plan, progress, fitted, decoys)
        return linkage if plan.latent is None else run.extended(linkage, found, known)


def _clustered(
    a: SignatureSet, b: SignatureSet, plan: LinkagePlan, resources: Resources, progress: Progress
) -> Linkage:
    """The persons of each file, then these linked one to one, then all pairs of their records."""
    started = time.perf_counter()
    run = Run(WholeFiles(a, b), plan, resources, progress)
    own, doubts = both_persons(a, b, plan, resources, progress)
    seconds = {"persons": time.perf_counter() - started}
    with ThreadPoolExecutor(resources.threads, thread_name_prefix="linkage") as pool:
        found, kept, fitted = run.compared(pool)
    found = replace(found, copies=(own[0].first, own[1].first))
    linkage, _ = conclude(found, kept.row_a, kept.row_b, plan, progress, fitted)
    linkage = replace(linkage, seconds={**seconds, **linkage.seconds}, warnings=(*linkage.warnings, *doubts))
    return with_entities(linkage, own, a, b, plan, resources)
