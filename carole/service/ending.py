"""The end of a run, the same in every mode: assess the output, seal the shares, store all of it or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.combined_assessment import Assessment, AssessmentContext, assess
from gemel.carole.assessment.differences import EarlierRelease
from gemel.carole.assessment.ladders import Ladder
from gemel.carole.assessment.protected import Protected, protected
from gemel.carole.assessment.released_counts import coding, unpack
from gemel.carole.engine.linkage.near_copies import NearCopies
from gemel.carole.engine.run.resources import Resources
from gemel.carole.projects import PolicyDecision, Project
from gemel.carole.store import Store
from gemel.carole.store.release_record import COUNTS
from gemel.carole.store.releases import Kept, ReleaseTrace
from gemel.carole.store.results import REPORT
from gemel.carole.store.runs import Lease, OvertakenError
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.documents.statistics_document import StatisticsDocument
from gemel.common.logging_setup import log
from gemel.common.progress import Progress
from gemel.common.specification import Specification
from gemel.risk.models.joint_distribution import JointDistribution


def end_run(
    store: Store,
    lease: Lease,
    spec: Specification,
    document: StatisticsDocument,
    combined: Combined | None,
    make_shares: Callable[[StatisticsDocument, JointDistribution | None], dict[str, Iterable[bytes]]],
    held_bytes: int,
    resources: Resources,
    progress: Progress,
    copies: tuple[NearCopies, NearCopies] | None = None,
    joint: JointDistribution | None = None,
) -> int:
    """Assess a run's output, seal the shares, and release, hold or refuse them according to the policy.

    Where a limit is breached and the specification allows coarsenings, the least with which every limit holds is what
    is assessed and released.

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
        Gives every recipient's share, by role, with the statistics and the joint distribution as they are released.
    held_bytes
        Memory of what the shares are made of.
    resources
        What the run may use; the assessment gets what is left of it.
    copies
        Near-copies within each contribution, where the specification requests an assessment.
    joint
        What the extended latent step estimated, in codes; None: there was none.
    """
    links = document.linkage.links
    if combined is None:
        progress("seal", 0.0)
        store.runs.finish(lease, links, make_shares(document, joint))
        return links
    left = replace(resources, memory_bytes=max(0, resources.memory_bytes - held_bytes))
    while True:
        beside = _Beside.now(store, lease, document.linkage, copies, combined, left, progress)
        found = protected(combined, spec, joint, beside, beside.reports, beside.released)
        progress("seal", 0.0)
        assessment = found.assessment
        shares = make_shares(_stated(document, found), found.joint)
        sealed = {**shares, REPORT: (assessment.report,), COUNTS: (assessment.counts,)}
        try:
            store.runs.finish(lease, links, sealed, _decision(found), beside.runs)
        except OvertakenError:
            log.info("released meanwhile: assessed again", project=lease.project)
        else:
            return links


@dataclass(frozen=True)
class _Beside:
    """What a run's output is assessed beside, as it is now: the same for the output and for what is made of it."""

    store: Store
    lease: Lease
    project: Project
    linkage: LinkageDocument
    copies: tuple[NearCopies, NearCopies] | None
    combined: Combined
    resources: Resources
    progress: Progress
    former: tuple[int, int]
    earlier: tuple[ReleaseTrace, ...]
    reports: tuple[bytes, ...]

    @classmethod
    def now(
        cls,
        store: Store,
        lease: Lease,
        linkage: LinkageDocument,
        copies: tuple[NearCopies, NearCopies] | None,
        combined: Combined,
        resources: Resources,
        progress: Progress,
    ) -> _Beside:
        former = store.projects.former()(lease.project)
        project = store.projects.get(lease.project)
        earlier = tuple(store.releases.earlier(project.name))
        reports = tuple(store.results.reports(lease.project))
        numbers = former.projects, former.links
        return cls(store, lease, project, linkage, copies, combined, resources, progress, numbers, earlier, reports)

    @property
    def runs(self) -> set[str]:
        """The runs whose releases it is assessed beside."""
        return {trace.run for trace in self.earlier}

    def released(self) -> Iterator[EarlierRelease]:
        """The releases of the project's custodians, newest first."""
        return _released(self.store, self.project, self.earlier)

    def __call__(
        self,
        combined: Combined,
        spec: Specification,
        joint: JointDistribution | None,
        *,
        attacked: Combined | None = None,
        ladders: Sequence[Ladder] | None = None,
        advise: bool = True,
    ) -> Assessment:
        """Assess the output, or one that was made of it, which takes memory beside it."""
        more = 0 if combined is self.combined else self.combined.n_bytes
        more += 0 if attacked is None else attacked.n_bytes
        context = AssessmentContext(
            self.lease.run,
            earlier=self.reports,
            resources=replace(self.resources, memory_bytes=max(0, self.resources.memory_bytes - more)),
            progress=self.progress,
            linkage=self.linkage,
            released=self.released(),
            codes=coding(self.project.name, self.project.encoding_digest, self.project.epoch),
            copies=self.copies,
            former=self.former,
        )
        return assess(combined, spec, context, joint=joint, attacked=attacked, ladders=ladders, advise=advise)


def _decision(found: Protected) -> PolicyDecision:
    assessed, differ = found.assessment, found.assessment.differences
    reason = differ.reason if "differences" in assessed.breaches else ""
    return PolicyDecision(
        assessed.judged,
        assessed.breaches,
        assessed.digest,
        differ.compared,
        differ.unseen,
        reason,
        found.changes,
        found.breached,
    )


def _stated(document: StatisticsDocument, found: Protected) -> StatisticsDocument:
    """The statistics with how the variables are released."""
    if not found.changes:
        return document
    changed = [{"variable": name, "coarsening": step} for name, step in found.changes.items()]
    return StatisticsDocument.of({**document.plain(), "coarsened": changed}, "statistics")


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
