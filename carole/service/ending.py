"""The end of a run, the same in every mode: assess the output, seal the shares, store all of it or nothing."""

from __future__ import annotations

import io
import json
import secrets
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.combined_assessment import Assessment, AssessmentContext, assess
from gemel.carole.assessment.differences import EarlierRelease
from gemel.carole.assessment.ladders import Ladder
from gemel.carole.assessment.protected import Protected, protected
from gemel.carole.assessment.released_counts import coding, unpack
from gemel.carole.engine.linkage.near_copies import NearCopies
from gemel.carole.engine.resolution.padded import ShownPairs, shown_pairs
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.resources import Resources
from gemel.carole.engine.run.result import Linkage
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.fellegi_sunter.linkage_draws import DrawnLinks
from gemel.carole.projects.project import PolicyDecision
from gemel.carole.store import Store
from gemel.carole.store.releases import COUNTS, Kept
from gemel.carole.store.results import REPORT
from gemel.carole.store.runs import Lease, OvertakenError
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.documents.model_document import StatisticsDocument
from gemel.common.keys.sealing import SealContext, seal
from gemel.common.logging_setup import log
from gemel.common.parties import Role, Side
from gemel.common.pki.members import Members
from gemel.common.pki.reader import Reader
from gemel.common.progress import Progress
from gemel.common.specification import Specification
from gemel.common.wire.chunks import rechunked
from gemel.risk.models.joint_distribution import JointDistribution

if TYPE_CHECKING:
    from gemel.carole.service.computing import Computing


Note = Callable[[int, int, int], None]
"""Called with candidate pairs, comparison patterns and the most memory that a run's data took, once it has compared."""


@dataclass(frozen=True)
class RunWork:
    """A run at work: what it links, what it may use, and who is told how far it has come."""

    store: Store
    lease: Lease
    spec: Specification
    reader: Reader
    """Carole's own keys, and the membership list."""
    resources: Resources
    progress: Progress
    note: Note = lambda pairs, patterns, peak_bytes: None
    computing: Computing | None = None
    """With whom she computes in mode shared; every worker has it."""

    @cached_property
    def plan(self) -> LinkagePlan:
        return plan_of(self.spec)

    @property
    def where(self) -> str:
        """How errors name the run."""
        return f"{self.lease.project}, run {self.lease.run}"


def end_run(
    work: RunWork,
    document: StatisticsDocument,
    combined: Combined | None,
    files: Callable[[], Files],
    held_bytes: int,
    copies: tuple[NearCopies, NearCopies] | None = None,
    joint: JointDistribution | None = None,
) -> int:
    """Assess a run's output, seal the shares, and release, hold or refuse them according to the policy.

    Where a limit is breached and the specification allows coarsenings, the least with which every limit holds is what
    is assessed and released.

    The report and the policy decision are stored in the transaction that ends the run: no result exists without them.
    What another worker releases of the same custodians while this run is assessed is not in its report; then it is
    assessed again.

    `combined`: the linked records' codes, and `copies`: near-copies within each contribution, where the specification
    requests an assessment. `files`: gives what the shares have beside the statistics and the joint distribution.
    `held_bytes`: memory of what they are made of; the assessment gets what is left of the run's. `joint`: what the
    extended latent step estimated, in codes; None: there was none.
    """
    links, store, lease, members = document.linkage.links, work.store, work.lease, work.reader.members
    if combined is None:
        work.progress("seal", 0.0)
        store.runs.finish(lease, links, shares(work.spec, lease.run, files(), document, members, joint))
        return links
    while True:
        beside = _Beside(work, document.linkage, copies, combined, held_bytes)
        found = protected(combined, work.spec, joint, beside, beside.reports, beside.released)
        work.progress("seal", 0.0)
        assessment = found.assessment
        sealed = shares(work.spec, lease.run, files(), _stated(document, found), members, found.joint)
        sealed |= {REPORT: (assessment.report,), COUNTS: (assessment.counts,)}
        try:
            store.runs.finish(lease, links, sealed, _decision(found), {trace.run for trace in beside.earlier})
        except OvertakenError:
            log.info("released meanwhile: assessed again", project=lease.project)
        else:
            return links


class _Beside:
    """What a run's output is assessed beside, as it is now: the same for the output and for what is made of it."""

    def __init__(
        self,
        work: RunWork,
        linkage: LinkageDocument,
        copies: tuple[NearCopies, NearCopies] | None,
        combined: Combined,
        held_bytes: int,
    ) -> None:
        self._work, self._linkage, self._copies = work, linkage, copies
        self._combined, self._held_bytes = combined, held_bytes
        store, name = work.store, work.lease.project
        former = store.projects.former()(name)
        self._former = former.projects, former.links
        self._project = store.projects.get(name)
        self.earlier = tuple(store.releases.earlier(name))
        self.reports = tuple(store.results.reports(name))

    def released(self) -> Iterator[EarlierRelease]:
        """The releases of the project's custodians, newest first.

        The report is for the project's coordinator too, who may not know what belongs to another one: of that only the
        run's name is reported.
        """
        for trace in reversed(self.earlier):
            own = trace.owner == self._project.owner
            content = self._work.store.releases.counts(trace) if trace.kept is Kept.COUNTS else None
            yield EarlierRelease(
                trace.run,
                trace.project if own else "",
                trace.links if own and trace.kept is not Kept.LOST else None,
                None if content is None else unpack(content),
                str(Kept.EXPIRED if trace.kept is Kept.COUNTS else trace.kept),
            )

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
        used = self._held_bytes + (0 if combined is self._combined else self._combined.n_bytes)
        used += 0 if attacked is None else attacked.n_bytes
        resources, project = self._work.resources, self._project
        context = AssessmentContext(
            self._work.lease.run,
            earlier=self.reports,
            resources=replace(resources, memory_bytes=max(0, resources.memory_bytes - used)),
            progress=self._work.progress,
            linkage=self._linkage,
            released=self.released(),
            codes=coding(project.name, project.encoding_digest, project.epoch),
            copies=self._copies,
            former=self._former,
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
    if not found.changes:
        return document
    changed = [{"variable": name, "coarsening": step} for name, step in found.changes.items()]
    return StatisticsDocument.of({**document.plain(), "coarsened": changed}, "statistics")


# Each recipient's share of a result: what the specification grants it, and nothing more.

_ID_BYTES = 8


Files = Mapping[Side, Mapping[str, bytes]]
"""What is shown of pairs and entities to each custodian, by the names of files."""


def share_files(spec: Specification, linkage: Linkage) -> Files:
    """The tables of each custodian's share, as Carole makes them where no resolver does."""
    ids = _ids(linkage.pairs.weight.size)
    entity_ids = _ids(0 if linkage.entities is None else linkage.entities.n)
    files: dict[Side, dict[str, bytes]] = {}
    for side in Side:
        shown = shown_pairs(linkage, spec.release, side)
        tables = {} if shown is None else _tables(linkage, shown, side, ids, entity_ids)
        files[side] = {f"{name}.parquet": _parquet(table) for name, table in tables.items()}
    return files


def shares(
    spec: Specification,
    run: str,
    files: Files,
    document: StatisticsDocument,
    members: Members,
    joint: JointDistribution | None = None,
) -> dict[str, Iterable[bytes]]:
    """Every recipient's share, by role: sealed for a custodian, the plain statistics for the coordinator.

    `joint`: in codes, for those to whom it is granted; it is stored nowhere else. Raises SEALED if sealing to a
    recipient's key fails; NOT_FOUND if a role has no member.
    """
    statistics = json.dumps(document.plain(), allow_nan=False, sort_keys=True).encode()
    granted = joint is not None and any(map(spec.release.joint_to, Side))
    in_codes = joint.to_json().encode() if joint is not None and granted else b""
    made: dict[str, Iterable[bytes]] = {}
    for side in Side:
        if getattr(spec.release, str(side)) == "nothing":
            continue
        member = members.in_role(side.role)
        shown = dict(files.get(side, {}))
        if in_codes and spec.release.joint_to(side):
            shown["joint.json"] = in_codes
        content = _archive({**shown, "statistics.json": statistics})
        context = SealContext(spec.project, run, member.name, spec.suite)
        made[str(side.role)] = seal(member.sealing, context, rechunked([content]))
    if spec.release.coordinator != "nothing":
        made[str(Role.COORDINATOR)] = (statistics,)
    return made


def _tables(
    linkage: Linkage, shown: ShownPairs, side: Side, ids: NDArray[np.str_], entity_ids: NDArray[np.str_]
) -> dict[str, pl.DataFrame]:
    rows = (linkage.pairs.row_a if side is Side.ALICE else linkage.pairs.row_b)[shown.pair]
    own_ids = ids[shown.pair]
    pairs = pl.DataFrame(
        {
            "row": rows.astype(np.uint32),
            "pair_id": pl.Series(own_ids, dtype=pl.String),
            "link_probability": shown.probability,
            "linked": shown.linked,
        }
    ).sort("row", "pair_id")
    tables = {"links": pairs.filter("linked").drop("linked").rename({"pair_id": "link_id"})}
    if shown.draws is not None:
        tables["draws"] = _draws(shown.draws, shown, rows, own_ids)
    if shown.every:
        tables["pairs"] = pairs
    if linkage.entities is not None:
        own, other = (linkage.entities.a, linkage.entities.b)[:: 1 if side is Side.ALICE else -1]
        entities = _entities(own, other, entity_ids)
        return {**tables, "links": _by_entity(tables["links"], entities), "entities": entities}
    copies = linkage.copies[0 if side is Side.ALICE else 1]
    return tables if copies is None else {**tables, "copies": _copies(copies)}


def _entities(own: NDArray[np.int64], other: NDArray[np.int64], ids: NDArray[np.str_]) -> pl.DataFrame:
    """The records of one file whose entity has another record, of either file."""
    together = (np.bincount(own, minlength=len(ids)) > 1) | (np.bincount(other, minlength=len(ids)) > 0)
    rows = np.flatnonzero(together[own])
    return pl.DataFrame({"row": rows.astype(np.uint32), "entity_id": pl.Series(ids[own[rows]], dtype=pl.String)})


def _by_entity(links: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    """A line for each linked record, that of its most probable pair, under the id of its entity."""
    ranked = links.sort("link_probability", descending=True, maintain_order=True)
    one_each = ranked.unique("row", keep="first").drop("link_id").join(entities, on="row")
    return one_each.rename({"entity_id": "link_id"}).select(links.columns).sort("row")


def _copies(first: NDArray[np.integer]) -> pl.DataFrame:
    """The records of one file that counted as one, under a random id for each person."""
    persons, person, records = np.unique(first, return_inverse=True, return_counts=True)
    several = np.flatnonzero(records[person] > 1)
    ids = _ids(persons.size)[person[several]]
    return pl.DataFrame({"row": several.astype(np.uint32), "copy_id": pl.Series(ids, dtype=pl.String)})


def _draws(drawn: DrawnLinks, shown: ShownPairs, rows: NDArray[np.int32], ids: NDArray[np.str_]) -> pl.DataFrame:
    at = drawn.pair
    return pl.DataFrame(
        {
            "row": rows[at].astype(np.uint32),
            "pair_id": pl.Series(ids[at], dtype=pl.String),
            "draw": drawn.draw.astype(np.uint32),
            "link_probability": shown.probability[at],
        }
    ).sort("draw", "row", "pair_id")


def _parquet(table: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    table.write_parquet(content)
    return content.getvalue()


def _archive(files: Mapping[str, bytes]) -> memoryview:
    content = io.BytesIO()
    # Stored, not compressed: the recipient then knows the memory it needs from the length.
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, part in files.items():
            archive.writestr(name, part)
    return content.getbuffer()


def _ids(count: int) -> NDArray[np.str_]:
    while True:
        digits = secrets.token_bytes(count * _ID_BYTES).hex()
        width = 2 * _ID_BYTES
        ids = np.array([digits[i * width : (i + 1) * width] for i in range(count)], dtype=f"U{width}")
        if np.unique(ids).size == count:
            return ids
