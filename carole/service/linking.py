"""One run, from two uploads to a released result."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from gemel.carole.assessment import combine, near_copies_warnings
from gemel.carole.engine import link
from gemel.carole.engine.decision.decoys import records_and_decoys
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.linkage.near_copies import near_copies
from gemel.carole.engine.run.resources import Resources
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.projects import Project
from gemel.carole.service.computing import Computing
from gemel.carole.service.ending import end_run
from gemel.carole.service.known_records import known_records
from gemel.carole.service.resolving import resolve_or_release
from gemel.carole.service.shares import granted_joint, shares
from gemel.carole.service.stages import Note, no_note
from gemel.carole.store import Store
from gemel.carole.store.runs import Lease
from gemel.common.documents.statistics_document import StatisticsDocument
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.pki.reader import Reader
from gemel.common.progress import Progress
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification
from gemel.risk.models import JointDistribution


def carry_out(
    store: Store,
    lease: Lease,
    spec: Specification,
    reader: Reader,
    resources: Resources,
    progress: Progress,
    note: Note = no_note,
    *,
    computing: Computing | None = None,
) -> int | None:
    """Link a project's two contributions, assess the output, seal the shares, release them according to the policy.

    Returns the number of links. Where the specification requests an assessment, the report and the policy decision are
    stored in the transaction that ends the run: no result exists without them.

    In mode block_keyed a run has two halves, and None is returned where it waits for custodians and resolver.
    """
    if spec.in_blocks:
        return resolve_or_release(store, lease, spec, reader, resources, progress, note, computing)
    _refuse_too_large(store.projects.get(lease.project), resources)
    started = time.perf_counter()
    progress("read", 0.0)
    alice = _contribution(store, lease.project, Side.ALICE)
    progress("read", 0.5)
    bob = _contribution(store, lease.project, Side.BOB)
    seconds = {"read": time.perf_counter() - started}
    plan = plan_of(spec)
    linkage = link(alice, bob, plan, resources, progress, known_records(store, lease.project, plan))
    note(linkage.n_candidates, len(linkage.patterns.gamma), linkage.peak_bytes)
    records_a, records_b = (records_and_decoys(part, spec.decoys)[0] for part in (alice, bob))
    copies = near_copies((records_a, records_b), plan)
    linkage = replace(linkage, warnings=(*linkage.warnings, *near_copies_warnings(copies)))
    combined = None if spec.assessment is None else combine(linkage, records_a, records_b, spec)
    del alice, bob, records_a, records_b  # frees the signatures' memory for the assessment
    document = findings(linkage, plan, resources, seconds)

    joint = None if linkage.latent is None else linkage.latent.joint

    def sealed(stated: StatisticsDocument, own: JointDistribution | None) -> dict[str, Iterable[bytes]]:
        return shares(spec, lease.run, linkage, stated, reader.members, granted_joint(own, spec))

    held_bytes = linkage.pairs.n_bytes
    return end_run(store, lease, spec, document, combined, sealed, held_bytes, resources, progress, copies, joint)


def _contribution(store: Store, name: str, side: Side) -> SignatureSet:
    # In modes open and trusted the file is one set, the first; the manifest was refused otherwise.
    return store.uploads.open(name, side).read(0)


def _refuse_too_large(project: Project, resources: Resources) -> None:
    total = sum(upload.total_bytes for upload in project.uploads.values())
    if total > resources.memory_bytes:
        raise GemelError(
            ErrorCode.MEMORY,
            "the two contributions do not fit into the memory of a run",
            where="limits.memory",
            got=f"{total} bytes of signatures for {resources.memory_bytes}",
            remedy="raise it in Carole's configuration, have fewer workers, or use fewer signature bits",
        )
