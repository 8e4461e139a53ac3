"""The end of a run, the same in every mode: assess the output, seal the shares, store all of it or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tryst.carole.assessment import Combined, assess
from tryst.carole.engine.near_copies import NearCopies
from tryst.carole.engine.resources import Resources
from tryst.carole.projects import PolicyDecision
from tryst.carole.store import Store
from tryst.carole.store.results import REPORT
from tryst.carole.store.runs import Lease
from tryst.common.documents.statistics_document import StatisticsDocument
from tryst.common.progress import Progress
from tryst.common.specification import Specification


def end_run(
    store: Store,
    lease: Lease,
    spec: Specification,
    document: StatisticsDocument,
    combined: Combined | None,
    make_shares: Callable[[], dict[str, Iterable[bytes]]],
    held_bytes: int,
    resources: Resources,
    progress: Progress,
    copies: tuple[NearCopies, NearCopies] | None = None,
) -> int:
    """Assess a run's output, seal the shares, and release, hold or refuse them according to the policy.

    The report and the policy decision are stored in the transaction that ends the run: no result exists without them.

    Parameters
    ----------
    document
        The model and the aggregates, the number of links among them.
    combined
        The linked records' codes, where the specification requests an assessment.
    make_shares
        Gives every recipient's share, by role.
    held_bytes
        Memory of what the shares are made of.
    resources
        What the run may use; the assessment gets what is left of it.
    copies
        Near-copies within each contribution, where the specification requests an assessment.

    Returns
    -------
    int
        Number of links.

    Raises
    ------
    TrystError
        As `assess`; errors of making the shares; WRONG_STATE if the run was taken from this worker.
    """
    assessed = None
    if combined is not None:
        left = replace(resources, memory_bytes=max(0, resources.memory_bytes - held_bytes))
        assessed = assess(
            combined, spec, lease.run, store.results.reports(lease.project), left, progress, document.linkage, copies
        )
    progress("seal", 0.0)
    sealed = make_shares()
    if assessed is not None:
        sealed[REPORT] = (assessed.report,)
    links = document.linkage.links
    policy_decision = None if assessed is None else PolicyDecision(assessed.judged, assessed.breaches, assessed.digest)
    store.runs.finish(lease, links, sealed, policy_decision)
    return links
