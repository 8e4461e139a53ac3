"""The first half of a run in mode block_keyed: compare inside blocks, and ask custodians and resolver.

Pairs are sent in a pseudo-random order, which discloses nothing about blocks (`request_order`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gemel.carole.assessment import near_copies_warnings
from gemel.carole.engine import Contribution, compare
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.linkage.near_copies import near_copies
from gemel.carole.engine.pairs.sharded_pairs import request_order
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest, pack_request
from gemel.carole.engine.run.resources import Resources
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.projects import JoinedBy
from gemel.carole.service.known_records import known_records
from gemel.carole.service.stages import Note
from gemel.carole.store import Store
from gemel.carole.store.artifacts import RESOLUTION_REQUEST, rows_of
from gemel.carole.store.runs import Lease
from gemel.common.parties import Side
from gemel.common.progress import Progress
from gemel.common.specification import Specification
from gemel.common.wire.row_handles import RowHandlesRequest, request_digest


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
