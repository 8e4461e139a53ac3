"""One run, from two uploads to a released result.

In modes block_keyed and shared it is compared here, resolved by another party and released here. The first half
compares inside blocks and makes the requests: each custodian gets its own rows of the candidate pairs, and the resolver
the pairs' comparison levels. The second half takes the resolver's result, assesses the linked records by their codes
where the specification requests it, and passes the sealed shares on.

With `resolution: {by: carole}`, the fall-back, custodians seal their handles to Carole, and the second half resolves
the request itself. The join is recorded in the audit log before it is used.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gemel.carole.assessment.combined import combine, combine_coded
from gemel.carole.assessment.invented_records import near_copies_warnings
from gemel.carole.engine import Contribution, compare, link
from gemel.carole.engine.decision.coded_links import Expected
from gemel.carole.engine.decision.decoys import records_and_decoys
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.latent.refit import NOTHING_KNOWN, KnownRecords
from gemel.carole.engine.linkage.near_copies import near_copies
from gemel.carole.engine.pairs.shards import request_order
from gemel.carole.engine.resolution.resolution_exchange import ResolvedHandles, decide, open_handles, sealed_result
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest, pack_request, unpack_request
from gemel.carole.engine.resolution.resolution_result import check_result, unpack_result
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.resources import Resources
from gemel.carole.projects.project import JoinedBy, Project
from gemel.carole.service.computing import Computing, own_contribution
from gemel.carole.service.ending import RunWork, end_run, share_files
from gemel.carole.store import Store
from gemel.carole.store.results import RESOLUTION_REQUEST, RESOLUTION_RESULT, handles_of, rows_of
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.wire.named_rows import SharedRows
from gemel.common.wire.row_handles import RowHandlesRequest, request_digest
from gemel.shared.run.job import Terms, lead
from gemel.shared.run.shared_files import compare_opened
from gemel.shared.session.joined_session import JoinedSession, row_part

# The training records and the known joint distribution that custodians have contributed, in every mode.


def known_records(store: Store, project: str, plan: LinkagePlan) -> KnownRecords:
    """Those of both contributions, with a column for each variable of the plan; nothing without a latent step."""
    if plan.latent is None:
        return NOTHING_KNOWN
    return KnownRecords.of([part for side in Side for part in store.uploads.known(project, side)], plan.latent)


# The first half of a run in mode block_keyed: compare inside blocks, and ask custodians and resolver.


def _request_compared(work: RunWork) -> None:
    """Compare two contributions of mode block_keyed, and let the run wait for the other parties."""
    spec, parts = work.spec, _contributions(work)
    candidates, pairs = compare(parts[0], parts[1], work.plan, work.resources, work.progress)
    warnings = near_copies_warnings(near_copies(parts, work.plan, padded=spec.padding is not None))
    candidates = replace(candidates, warnings=(*candidates.warnings, *warnings))
    work.note(int(candidates.patterns.count.sum()), len(candidates.patterns.gamma), candidates.peak_bytes)
    work.progress("seal", 0.0)
    for side, part, rows in zip(Side, parts, (pairs.row_a, pairs.row_b), strict=True):
        # The number of records is not known yet; where it is certainly too large, no request is made.
        spec.resolution.refuse_above(part.fewest_records(rows), side.title(), work.where)
    order = request_order(parts[0], parts[1], pairs, spec.suite)
    project = work.store.projects.get(work.lease.project)
    requested = {
        side: RowHandlesRequest(project.uploads[side].upload, rows[order].astype(np.uint32)).pack()
        for side, rows in zip(Side, (pairs.row_a, pairs.row_b), strict=True)
    }
    _request_rows(work, candidates, order, requested)


def _request_rows(
    work: RunWork, candidates: Candidates, order: NDArray[np.int64], requested: Mapping[Side, bytes]
) -> None:
    """Store the requests, and let the run wait for handles."""
    digests = request_digest(requested[Side.ALICE]), request_digest(requested[Side.BOB])
    known = known_records(work.store, work.lease.project, work.plan)
    request = ResolutionRequest(candidates, digests, work.resources.threads, known)
    contents = {rows_of(side): [content] for side, content in requested.items()}
    contents[RESOLUTION_REQUEST] = [pack_request(request, order)]
    by = JoinedBy.CAROLE if work.spec.resolution.joined else JoinedBy.RESOLVER
    work.store.runs.request_row_handles(work.lease, len(order), contents, by)


def _contributions(work: RunWork) -> tuple[Contribution, Contribution]:
    """What Alice has contributed, and what Bob has: both are read set by set."""
    work.progress("read", 0.0)
    alice, bob = (Contribution(work.store.uploads.open(work.lease.project, side)) for side in Side)
    return alice, bob


# The first half of a run in mode shared: computed with the coordinator and a steward, of which Carole sees the counts.
#
# What names its rows to a custodian are three sealed parts (`common.wire.named_rows`), one of each compute party:
# Carole passes them on and reads none. Pairs follow each other by their places in an order that no party knows, and no
# other is drawn for the requests. How many records the pairs are of is not known before the custodians have answered.

Computed = tuple[Candidates, NDArray[np.int64], dict[Side, bytes]]
"""What was found, which kept pair comes at each place, and what names its rows to each custodian."""


def _request_computed(work: RunWork) -> None:
    """Compute on shares, and let the run wait for the custodians' handles."""
    assert work.computing is not None  # noqa: S101 - every worker has it
    job = partial(_computed, work, work.computing)
    candidates, order, requested = work.computing.computed(work.lease, work.spec, work.reader, work.progress, job)
    work.note(int(candidates.patterns.count.sum()), len(candidates.patterns.gamma), candidates.peak_bytes)
    work.progress("seal", 0.0)
    _request_rows(work, candidates, order, requested)


def _computed(work: RunWork, computing: Computing, session: JoinedSession) -> Computed:
    alice, bob = (own_contribution(work.store, work.spec, work.reader, side) for side in Side)
    uploads = {side: work.store.uploads.shares(work.lease.project, side).upload for side in Side}
    terms = Terms(session.terms.specification_digest, work.plan, work.resources.memory_bytes)
    own = row_part(session, computing.identity, work.reader.members, uploads)
    led = lead(session.party(), (alice, bob), terms, own, work.progress)
    candidates, pairs = compare_opened(led, work.plan, work.resources, work.progress)
    requested = {
        side: SharedRows(uploads[side], session.terms.session, three).pack() for side, three in led.parts.items()
    }
    return candidates, np.arange(len(pairs.pattern)), requested


def _resolve_or_release(work: RunWork) -> int | None:
    """Carry out the next half of a run: the number of links, or None where the run now waits for other parties.

    In mode shared the first half is computed together with two other parties.
    """
    store, lease, spec, plan = work.store, work.lease, work.spec, work.plan
    result: bytes | memoryview | None = store.artifacts.read(lease.run, RESOLUTION_RESULT)
    if result is None and spec.resolution.joined:
        result = _join(work)
    if result is None:
        (_request_computed if spec.mode == "shared" else _request_compared)(work)
        return None
    rows: dict[Side, bytes] = {}
    for side in Side:
        content = store.artifacts.read(lease.run, rows_of(side))
        assert content is not None  # noqa: S101 - written with the question whose answer is there
        rows[side] = bytes(content)
    request = store.artifacts.read(lease.run, RESOLUTION_REQUEST)
    assert request is not None  # noqa: S101 - written with the rows
    expected = combined = copies = None
    if spec.assessment is not None:
        work.progress("read", 0.0)
        alice, bob = (store.uploads.codes(lease.project, side) for side in Side)
        expected = Expected(alice.n_rows, bob.n_rows, plan.one_to_one)
    variables = plan.latent.variables if plan.latent is not None and spec.joint_reported else None
    decided = unpack_result(result, spec.release.recipients_of_pairs, expected, variables)
    compared, of_pairs = unpack_request(request, plan).found, None
    if spec.mode != "shared":
        row_a, row_b = (RowHandlesRequest.unpack(rows[side]).rows for side in Side)
        of_pairs = row_a, row_b
    check_result(decided, compared, of_pairs, plan)
    if spec.assessment is not None:
        combined = combine_coded(decided, alice, bob, spec)
        # Counted once more than for the resolver's warnings: what passes through its hands judges no release.
        if spec.mode != "shared":  # where no party sees which rows of a file resemble each other
            copies = near_copies(_contributions(work), plan, padded=spec.padding is not None)

    files = {side: {"rows.bin": rows[side], "resolved.bin": sealed} for side, sealed in decided.shares.items()}
    held_bytes = sum(map(len, (*decided.shares.values(), *rows.values())))
    return end_run(work, decided.document, combined, lambda: files, held_bytes, copies, decided.joint)


def _join(work: RunWork) -> bytes | None:
    """The result of the run's own request, from the handles that custodians sent Carole; None before they have."""
    store, lease, spec, reader = work.store, work.lease, work.spec, work.reader
    request = store.artifacts.read(lease.run, RESOLUTION_REQUEST)
    sealed = {side: store.artifacts.read(lease.run, handles_of(side)) for side in Side}
    if request is None or any(artifact is None for artifact in sealed.values()):
        return None
    work.progress("join", 0.0)
    requested = unpack_request(request, work.plan)
    reported: dict[Side, ResolvedHandles] = {}
    for side, artifact in sealed.items():
        assert artifact is not None  # noqa: S101 - seen above
        reported[side] = open_handles(reader, lease.run, spec, requested, side, artifact)
    records = {side: len(np.unique(of_side.handles)) for side, of_side in reported.items()}
    maximum = spec.resolution.max_records
    assert maximum is not None  # noqa: S101 - no specification joins without a cap
    store.runs.join(lease, reader.name, records, maximum)
    for side, count in records.items():
        spec.resolution.refuse_above(count, side.title(), work.where)
    warning = result_warning(
        "joined_by_carole", records_a=records[Side.ALICE], records_b=records[Side.BOB], maximum=maximum
    )
    requested = replace(requested, found=replace(requested.found, warnings=(warning, *requested.found.warnings)))
    sides = reported[Side.ALICE], reported[Side.BOB]
    decided = decide(requested, *sides, work.plan, work.progress, lease.run, work.resources.threads)
    return sealed_result(decided, requested, spec, reader.members, lease.run)


# One run, from two uploads to a released result.


def carry_out(work: RunWork) -> int | None:
    """Link a project's two contributions, assess the output, seal the shares, release them according to the policy.

    Returns the number of links; in mode block_keyed a run has two halves, and None is returned where it waits for
    custodians and resolver.
    """
    store, lease, spec, plan = work.store, work.lease, work.spec, work.plan
    if spec.in_blocks:
        return _resolve_or_release(work)
    _refuse_too_large(store.projects.get(lease.project), work.resources)
    started = time.perf_counter()
    # In modes open and trusted the file is one set, the first; the manifest was refused otherwise.
    work.progress("read", 0.0)
    alice = store.uploads.open(lease.project, Side.ALICE).read(0)
    work.progress("read", 0.5)
    bob = store.uploads.open(lease.project, Side.BOB).read(0)
    seconds = {"read": time.perf_counter() - started}
    linkage = link(alice, bob, plan, work.resources, work.progress, known_records(store, lease.project, plan))
    work.note(linkage.n_candidates, len(linkage.patterns.gamma), linkage.peak_bytes)
    records_a, records_b = (records_and_decoys(part, spec.decoys)[0] for part in (alice, bob))
    copies = near_copies((records_a, records_b), plan)
    linkage = replace(linkage, warnings=(*linkage.warnings, *near_copies_warnings(copies)))
    combined = None if spec.assessment is None else combine(linkage, records_a, records_b, spec)
    del alice, bob, records_a, records_b  # frees the signatures' memory for the assessment
    document = findings(linkage, plan, work.resources, seconds)
    joint = None if linkage.latent is None else linkage.latent.joint
    files = partial(share_files, spec, linkage)
    return end_run(work, document, combined, files, linkage.pairs.n_bytes, copies, joint)


def _refuse_too_large(project: Project, resources: Resources) -> None:
    total = sum(upload.total_bytes for upload in project.uploads.values())
    if total > resources.memory_bytes:
        what = "the two contributions do not fit into the memory of a run"
        got = f"{total} bytes of signatures for {resources.memory_bytes}"
        remedy = "raise it in Carole's configuration, have fewer workers, or use fewer signature bits"
        raise GemelError(ErrorCode.MEMORY, what, where="limits.memory", got=got, remedy=remedy)
