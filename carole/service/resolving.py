"""A run in modes block_keyed and shared: compared here, resolved by another party, released here.

The first half compares inside blocks and makes the requests (`requesting`, `shared_requests`): each custodian gets its
own rows of the candidate pairs, and the resolver the pairs' comparison levels. The second half takes the resolver's
result, assesses the linked records by their codes where the specification requests it, and passes the sealed shares on.

With `resolution: {by: carole}`, the fall-back, custodians seal their handles to Carole, and the second half resolves
the request itself. The join is recorded in the audit log before it is used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gemel.carole.assessment import combine, combine_coded, near_copies_warnings
from gemel.carole.engine import Contribution, compare, link
from gemel.carole.engine.decision.coded_links import Expected
from gemel.carole.engine.decision.decoy_pairs import records_and_decoys
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.latent.known_records import NOTHING_KNOWN, KnownRecords
from gemel.carole.engine.linkage.near_copies import near_copies
from gemel.carole.engine.pairs.request_order import request_order
from gemel.carole.engine.resolution.resolution_exchange import ResolvedHandles, decide, open_handles, sealed_result
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest, pack_request, unpack_request
from gemel.carole.engine.resolution.resolution_result import unpack_result
from gemel.carole.engine.resolution.result_check import check_result
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.resources import Resources
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.engine.shared.comparing import compare_opened
from gemel.carole.engine.shared.job import Terms, lead
from gemel.carole.projects.project import JoinedBy, Project
from gemel.carole.service.computing import Computing, own_contribution
from gemel.carole.service.ending import end_run, granted_joint, relayed_shares, shares
from gemel.carole.store import Store
from gemel.carole.store.results import RESOLUTION_REQUEST, RESOLUTION_RESULT, handles_of, rows_of
from gemel.carole.store.runs import Lease
from gemel.common.documents.result_warning import result_warning
from gemel.common.documents.statistics_document import StatisticsDocument
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.pki.reader import Reader
from gemel.common.progress import Progress
from gemel.common.rpc.joined_session import JoinedSession
from gemel.common.rpc.session_rows import row_part
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification
from gemel.common.wire.named_rows import SharedRows
from gemel.common.wire.row_handles import RowHandlesRequest, request_digest
from gemel.risk.models import JointDistribution

# The training records and the known joint distribution that custodians have contributed, in every mode.


def known_records(store: Store, project: str, plan: LinkagePlan) -> KnownRecords:
    """Those of both contributions, with a column for each variable of the plan; nothing without a latent step."""
    if plan.latent is None:
        return NOTHING_KNOWN
    return KnownRecords.of([part for side in Side for part in store.uploads.known(project, side)], plan.latent)


Note = Callable[[int, int, int], None]
"""Called with candidate pairs, comparison patterns and the most memory that a run's data took, once it has compared."""


def no_note(pairs: int, patterns: int, peak_bytes: int) -> None:
    """For a run whose figures no one reads."""


# The first half of a run in mode block_keyed: compare inside blocks, and ask custodians and resolver.


def request_compared(
    store: Store, lease: Lease, spec: Specification, resources: Resources, progress: Progress, note: Note
) -> None:
    """Compare two contributions of mode block_keyed, and let the run wait for the other parties."""
    plan, parts = plan_of(spec), contributions(store, lease, progress)
    found, kept = compare(parts[0], parts[1], plan, resources, progress)
    warnings = near_copies_warnings(near_copies(parts, plan, padded=spec.padding is not None))
    found = replace(found, warnings=(*found.warnings, *warnings))
    note(int(found.patterns.count.sum()), len(found.patterns.gamma), found.peak_bytes)
    progress("seal", 0.0)
    for side, part, rows in zip(Side, parts, (kept.row_a, kept.row_b), strict=True):
        # The number of records is not known yet; where it is certainly too large, no request is made.
        spec.resolution.refuse_above(part.fewest_records(rows), side.title(), where_of(lease))
    order = request_order(parts[0], parts[1], kept, spec.suite)
    held = store.projects.get(lease.project)
    requested = {
        side: RowHandlesRequest(held.uploads[side].upload, rows[order].astype(np.uint32)).pack()
        for side, rows in zip(Side, (kept.row_a, kept.row_b), strict=True)
    }
    request_rows(store, lease, spec, found, order, requested, resources)


def request_rows(
    store: Store,
    lease: Lease,
    spec: Specification,
    found: Candidates,
    order: NDArray[np.int64],
    requested: Mapping[Side, bytes],
    resources: Resources,
) -> None:
    """Store the requests, and let the run wait for handles."""
    digests = request_digest(requested[Side.ALICE]), request_digest(requested[Side.BOB])
    contents = {rows_of(side): [content] for side, content in requested.items()}
    known = known_records(store, lease.project, plan_of(spec))
    request = ResolutionRequest(found, digests, resources.threads, known)
    contents[RESOLUTION_REQUEST] = [pack_request(request, order)]
    by = JoinedBy.CAROLE if spec.resolution.joined else JoinedBy.RESOLVER
    store.runs.request_row_handles(lease, len(order), contents, by)


def contributions(store: Store, lease: Lease, progress: Progress) -> tuple[Contribution, Contribution]:
    """What Alice has contributed, and what Bob has: both are read set by set."""
    progress("read", 0.0)
    alice, bob = (Contribution(store.uploads.open(lease.project, side)) for side in Side)
    return alice, bob


def where_of(lease: Lease) -> str:
    """How errors name a run."""
    return f"{lease.project}, run {lease.run}"


# The first half of a run in mode shared: computed with the coordinator and a steward, of which Carole sees the counts.
#
# What names its rows to a custodian are three sealed parts (`common.wire.named_rows`), one of each compute party:
# Carole passes them on and reads none. Pairs follow each other by their places in an order that no party knows, and no
# other is drawn for the requests. How many records the pairs are of is not known before the custodians have answered.

Computed = tuple[Candidates, NDArray[np.int64], dict[Side, bytes]]
"""What was found, which kept pair comes at each place, and what names its rows to each custodian."""


def request_computed(
    store: Store,
    lease: Lease,
    spec: Specification,
    reader: Reader,
    computing: Computing,
    resources: Resources,
    progress: Progress,
    note: Note,
) -> None:
    """Compute on shares, and let the run wait for the custodians' handles."""
    job = partial(_computed, store, lease, spec, reader, computing, resources, progress)
    found, order, requested = computing.computed(lease, spec, reader, progress, job)
    note(int(found.patterns.count.sum()), len(found.patterns.gamma), found.peak_bytes)
    progress("seal", 0.0)
    request_rows(store, lease, spec, found, order, requested, resources)


def _computed(
    store: Store,
    lease: Lease,
    spec: Specification,
    reader: Reader,
    computing: Computing,
    resources: Resources,
    progress: Progress,
    session: JoinedSession,
) -> Computed:
    """Carole's part in one session."""
    plan = plan_of(spec)
    alice, bob = (own_contribution(store, spec, reader, side) for side in Side)
    uploads = {side: store.uploads.shares(lease.project, side).upload for side in Side}
    terms = Terms(session.terms.specification_digest, plan, resources.memory_bytes)
    own = row_part(session, computing.identity, reader.members, uploads)
    led = lead(session.party(), (alice, bob), terms, own, progress)
    found, kept = compare_opened(led, plan, resources, progress)
    requested = {
        side: SharedRows(uploads[side], session.terms.session, three).pack() for side, three in led.parts.items()
    }
    return found, np.arange(len(kept.pattern)), requested


def resolve_or_release(
    store: Store,
    lease: Lease,
    spec: Specification,
    reader: Reader,
    resources: Resources,
    progress: Progress,
    note: Note,
    computing: Computing | None,
) -> int | None:
    """Carry out the next half of a run: the number of links, or None where the run now waits for other parties.

    In mode shared the first half is computed together with two other parties.
    """
    found: bytes | memoryview | None = store.artifacts.read(lease.run, RESOLUTION_RESULT)
    if found is None and spec.resolution.joined:
        found = _join(store, lease, spec, reader, resources, progress)
    if found is None:
        if spec.mode == "shared":
            assert computing is not None  # noqa: S101 - every worker has it
            request_computed(store, lease, spec, reader, computing, resources, progress, note)
        else:
            request_compared(store, lease, spec, resources, progress, note)
        return None
    rows = {side: _rows(store, lease.run, side) for side in Side}
    request, plan = store.artifacts.read(lease.run, RESOLUTION_REQUEST), plan_of(spec)
    assert request is not None  # noqa: S101 - written with the rows
    expected = combined = copies = None
    if spec.assessment is not None:
        progress("read", 0.0)
        alice, bob = (store.uploads.codes(lease.project, side) for side in Side)
        expected = Expected(alice.n_rows, bob.n_rows, plan.one_to_one)
    variables = plan.latent.variables if plan.latent is not None and spec.joint_reported else None
    decided = unpack_result(found, spec.release.recipients_of_pairs, expected, variables)
    compared, of_pairs = unpack_request(request, plan).found, None
    if spec.mode != "shared":
        row_a, row_b = (RowHandlesRequest.unpack(rows[side]).rows for side in Side)
        of_pairs = row_a, row_b
    check_result(decided, compared, of_pairs, plan)
    if spec.assessment is not None:
        combined = combine_coded(decided, alice, bob, spec)
        # Counted once more than for the resolver's warnings: what passes through its hands judges no release.
        if spec.mode != "shared":  # where no party sees which rows of a file resemble each other
            copies = near_copies(contributions(store, lease, progress), plan, padded=spec.padding is not None)

    def sealed(stated: StatisticsDocument, own: JointDistribution | None) -> dict[str, Iterable[bytes]]:
        joint = granted_joint(own, spec)
        return relayed_shares(spec, lease.run, decided.shares, rows, stated, reader.members, joint)

    held_bytes = sum(map(len, (*decided.shares.values(), *rows.values())))
    return end_run(
        store, lease, spec, decided.document, combined, sealed, held_bytes, resources, progress, copies, decided.joint
    )


def _join(
    store: Store, lease: Lease, spec: Specification, reader: Reader, resources: Resources, progress: Progress
) -> bytes | None:
    """The result of the run's own request, from the handles that custodians sent Carole; None before they have."""
    request = store.artifacts.read(lease.run, RESOLUTION_REQUEST)
    sealed = {side: store.artifacts.read(lease.run, handles_of(side)) for side in Side}
    if request is None or any(artifact is None for artifact in sealed.values()):
        return None
    progress("join", 0.0)
    requested = unpack_request(request, plan_of(spec))
    reported: dict[Side, ResolvedHandles] = {}
    for side, artifact in sealed.items():
        assert artifact is not None  # noqa: S101 - seen above
        reported[side] = open_handles(reader, lease.run, spec, requested, side, artifact)
    records = {side: len(np.unique(of_side.handles)) for side, of_side in reported.items()}
    maximum = spec.resolution.max_records
    assert maximum is not None  # noqa: S101 - no specification joins without a cap
    store.runs.join(lease, reader.name, records, maximum)
    for side, count in records.items():
        spec.resolution.refuse_above(count, side.title(), where_of(lease))
    warning = result_warning(
        "joined_by_carole", records_a=records[Side.ALICE], records_b=records[Side.BOB], maximum=maximum
    )
    requested = replace(requested, found=replace(requested.found, warnings=(warning, *requested.found.warnings)))
    sides = reported[Side.ALICE], reported[Side.BOB]
    decided = decide(requested, *sides, plan_of(spec), progress, lease.run, resources.threads)
    return sealed_result(decided, requested, spec, reader.members, lease.run)


def _rows(store: Store, run: str, side: Side) -> bytes:
    content = store.artifacts.read(run, rows_of(side))
    assert content is not None  # noqa: S101 - written with the question whose answer is there
    return bytes(content)


# One run, from two uploads to a released result.


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
