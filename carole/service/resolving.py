"""A run in modes block_keyed and shared: compared here, resolved by another party, released here.

The first half compares inside blocks and makes the requests (`requesting`, `shared_requests`): each custodian gets its
own rows of the candidate pairs, and the resolver the pairs' comparison levels. The second half takes the resolver's
result, assesses the linked records by their codes where the specification requests it, and passes the sealed shares on.

With `resolution: {by: carole}`, the fall-back, custodians seal their handles to Carole, and the second half resolves
the request itself. The join is recorded in the audit log before it is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gemel.carole.assessment import combine_coded
from gemel.carole.engine.decision.coded_links import Expected
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.linkage.near_copies import near_copies
from gemel.carole.engine.resolution.resolution_exchange import ResolvedHandles, decide, open_handles, sealed_result
from gemel.carole.engine.resolution.resolution_request import unpack_request
from gemel.carole.engine.resolution.resolution_result import unpack_result
from gemel.carole.engine.resolution.result_check import check_result
from gemel.carole.engine.run.resources import Resources
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.service.computing import Computing, own_contribution
from gemel.carole.service.ending import end_run
from gemel.carole.service.requesting import contributions, request_compared, request_rows, where_of
from gemel.carole.service.shares import granted_joint, relayed_shares
from gemel.carole.service.stages import Note
from gemel.carole.store import Store
from gemel.carole.store.artifacts import RESOLUTION_REQUEST, RESOLUTION_RESULT, handles_of, rows_of
from gemel.carole.store.runs import Lease
from gemel.common.documents.result_warning import result_warning
from gemel.common.documents.statistics_document import StatisticsDocument
from gemel.common.parties import Side
from gemel.common.pki.reader import Reader
from gemel.common.progress import Progress
from gemel.common.specification import Specification
from gemel.common.wire.named_rows import SharedRows
from gemel.common.wire.row_handles import RowHandlesRequest
from gemel.risk.models import JointDistribution
from gemel.shared.run.job import Terms, lead
from gemel.shared.run.shared_files import compare_opened
from gemel.shared.session.joined_session import JoinedSession, row_part

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
