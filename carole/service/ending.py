"""The end of a run, the same in every mode: assess the output, seal the shares, store all of it or nothing."""

from __future__ import annotations

from dataclasses import replace

from tryst.carole.assessment import Combined, assess
from tryst.carole.engine.near_copies import NearCopies
from tryst.carole.engine.resources import Resources
from tryst.carole.projects import PolicyDecision
from tryst.carole.service.shares import Decided, shares
from tryst.carole.store import Store
from tryst.carole.store.results import REPORT
from tryst.carole.store.runs import Lease
from tryst.common.documents.statistics_document import StatisticsDocument
from tryst.common.parties import Side
from tryst.common.pki.members import Members
from tryst.common.progress import Progress
from tryst.common.specification import Specification


def end_run(
    store: Store,
    lease: Lease,
    spec: Specification,
    members: Members,
    decided: Decided,
    document: StatisticsDocument,
    combined: Combined | None,
    resources: Resources,
    progress: Progress,
    joint: bytes | None = None,
    copies: tuple[NearCopies, NearCopies] | None = None,
) -> int:
    """Assess a run's output, seal the shares, and release, hold or refuse them according to the policy.

    The report and the policy decision are stored in the transaction that ends the run: no result exists without them.

    Parameters
    ----------
    decided
        The pairs, and which of them are links.
    document
        The model and the aggregates.
    combined
        The linked records' codes, where the specification requests an assessment.
    resources
        What the run may use; the assessment gets what the pairs leave.
    joint
        The joint distribution of the variables in codes, where there is one: it goes into the shares of recipients to
        whom the specification grants it, and is stored nowhere else.
    copies
        Near-copies within each contribution, where the specification requests an assessment.

    Returns
    -------
    int
        Number of links.

    Raises
    ------
    TrystError
        As `assess` and `shares`; WRONG_STATE if the run was taken from this worker.
    """
    assessed = None
    if combined is not None:
        left = replace(resources, memory_bytes=max(0, resources.memory_bytes - decided.pairs.n_bytes))
        assessed = assess(
            combined, spec, lease.run, store.results.reports(lease.project), left, progress, document.linkage, copies
        )
    progress("seal", 0.0)
    granted = {} if joint is None else {side: joint for side in Side if spec.release.joint_to(side)}
    grants = store.projects.get(lease.project).grants
    sealed = shares(lease.project, lease.run, decided, document, grants, members, granted)
    if assessed is not None:
        sealed[REPORT] = (assessed.report,)
    links = int(decided.links.size)
    policy_decision = None if assessed is None else PolicyDecision(assessed.judged, assessed.breaches, assessed.digest)
    store.runs.finish(lease, links, sealed, policy_decision)
    return links
