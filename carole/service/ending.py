"""The end of a run, the same in every mode: assess the output, seal the shares, store all of it or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from tryst.carole.assessment import Combined, assess
from tryst.carole.assessment.combined_assessment import Assessment
from tryst.carole.assessment.differences import EarlierRelease
from tryst.carole.assessment.released_counts import coding, unpack
from tryst.carole.engine.near_copies import NearCopies
from tryst.carole.engine.resources import Resources
from tryst.carole.projects import PolicyDecision, Project
from tryst.carole.store import Store
from tryst.carole.store.release_record import COUNTS
from tryst.carole.store.releases import Kept, ReleaseTrace
from tryst.carole.store.results import REPORT
from tryst.carole.store.runs import Lease, OvertakenError
from tryst.common.documents.statistics_document import StatisticsDocument
from tryst.common.logging_setup import log
from tryst.common.progress import Progress
from tryst.common.specification import Specification
from tryst.risk.models import JointDistribution


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
    joint: JointDistribution | None = None,
) -> int:
    """Assess a run's output, seal the shares, and release, hold or refuse them according to the policy.

    The report and the policy decision are stored in the transaction that ends the run: no result exists without them.
    What another worker releases of the same custodians while this run is assessed is not in its report; then it is
    assessed again.

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
    joint
        What the extended latent step estimated, in codes; None: there was none.

    Returns
    -------
    int
        Number of links.

    Raises
    ------
    TrystError
        As `assess`; errors of making the shares; WRONG_STATE if the run was taken from this worker.
    """
    links = document.linkage.links
    if combined is None:
        progress("seal", 0.0)
        store.runs.finish(lease, links, make_shares())
        return links
    left = replace(resources, memory_bytes=max(0, resources.memory_bytes - held_bytes))
    while True:
        former = store.projects.former()(lease.project)
        project = store.projects.get(lease.project)
        earlier = store.releases.earlier(project.name)
        assessed = assess(
            combined,
            spec,
            lease.run,
            store.results.reports(lease.project),
            left,
            progress,
            document.linkage,
            _released(store, project, earlier),
            coding(project.name, project.encoding_digest, project.epoch),
            copies,
            (former.projects, former.links),
            joint,
        )
        progress("seal", 0.0)
        sealed = {**make_shares(), REPORT: (assessed.report,), COUNTS: (assessed.counts,)}
        try:
            store.runs.finish(lease, links, sealed, _decision(assessed), {trace.run for trace in earlier})
        except OvertakenError:
            log.info("released meanwhile: assessed again", project=lease.project)
        else:
            return links


def _decision(assessed: Assessment) -> PolicyDecision:
    differ = assessed.differences
    reason = differ.reason if "differences" in assessed.breaches else ""
    return PolicyDecision(assessed.judged, assessed.breaches, assessed.digest, differ.compared, differ.unseen, reason)


def _released(store: Store, project: Project, earlier: Sequence[ReleaseTrace]) -> Iterator[EarlierRelease]:
    """The releases of the project's custodians, newest first.

    The report is for the project's coordinator too, who may not know what belongs to another one: of that only the
    run's name is reported.
    """
    for trace in reversed(earlier):
        own = trace.owner == project.owner
        content = store.releases.counts(trace) if trace.kept is Kept.COUNTS else None
        known = own and trace.kept is not Kept.LOST
        yield EarlierRelease(
            trace.run,
            trace.project if own else "",
            trace.links if known else None,
            None if content is None else unpack(content),
            str(Kept.EXPIRED if trace.kept is Kept.COUNTS else trace.kept),
        )
