"""A linkage of mode block_keyed in one process: Carole's comparison, the custodians' answers, the resolver's decision.

The pairs go through the same request, in the same order, as between the services, so that all sums are made alike.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gemel.carole.assessment.invented_records import near_copies_warnings
from gemel.carole.engine import Resources, compare
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.inputs.files import contribution_of
from gemel.carole.engine.latent.refit import KnownRecords
from gemel.carole.engine.linkage.near_copies import near_copies
from gemel.carole.engine.pairs.sharded_pairs import request_order
from gemel.carole.engine.resolution.resolution_exchange import ResolvedHandles, decide
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest, pack_request, unpack_request
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.specified import plan_of
from gemel.common.documents.statistics_document import StatisticsDocument
from gemel.common.progress import Progress
from gemel.common.signatures.layout import CODES
from gemel.common.signatures.signature_sets import VariableCodes
from gemel.common.specification import Specification
from gemel.coordinator.api.decided_pairs import DecidedPairs, decided
from gemel.custodian.encoding.records import Encoded

_DIGEST = bytes(32)
"""In the place of the digests of requests that no one is sent."""


Sent = tuple[Encoded, int]
"""What a custodian would send and keep, and the number of its records."""

NamedRows = tuple[Sent, NDArray[np.int64]]
"""The same, and the row of its file of each pair."""


def link_block_keyed(
    alice: Sent,
    bob: Sent,
    spec: Specification,
    resources: Resources,
    progress: Progress,
    known: KnownRecords,
) -> tuple[DecidedPairs, StatisticsDocument]:
    """Compare and decide."""
    plan = plan_of(spec)
    sides = alice, bob
    a, b = (contribution_of(encoded.sets, n_records) for encoded, n_records in sides)
    found, kept = compare(a, b, plan, resources, progress)
    warnings = near_copies_warnings(near_copies((a, b), plan, padded=spec.padding is not None))
    found = replace(found, warnings=(*found.warnings, *warnings))
    order = request_order(a, b, kept, spec.suite)
    # The rows of all rules come first, then those of the codes.
    rows_a, rows_b = (
        encoded.order[own[order]] for (encoded, _), own in zip(sides, (kept.row_a, kept.row_b), strict=True)
    )
    return resolved(found, order, (alice, rows_a), (bob, rows_b), plan, resources, progress, known)


def resolved(
    found: Candidates,
    order: NDArray[np.int64],
    alice: NamedRows,
    bob: NamedRows,
    plan: LinkagePlan,
    resources: Resources,
    progress: Progress,
    known: KnownRecords,
) -> tuple[DecidedPairs, StatisticsDocument]:
    """The custodians' answers and the resolver's decision.

    Parameters
    ----------
    found
        Of the comparison.
    order
        Which kept pair comes at each place of the request.
    alice, bob
        What each has sent and kept, and the row of its file of the pair at each place.

    Raises
    ------
    GemelError
        As the resolver.
    """
    request = ResolutionRequest(found, (_DIGEST, _DIGEST), resources.threads, known)
    read = unpack_request(pack_request(request, order), plan)
    handles = [
        _handles(encoded, row, n_records, values=plan.latent is not None) for (encoded, n_records), row in (alice, bob)
    ]
    rows = alice[1], bob[1]
    result = decide(read, handles[0], handles[1], plan, progress, "in process", resources.threads)
    at = result.order
    return decided(result.linkage, (rows[0][at], rows[1][at])), result.document


def _handles(encoded: Encoded, row: NDArray[np.int64], n_records: int, *, values: bool) -> ResolvedHandles:
    """The number of each pair's record: records' first, then decoys', then dummies', as a custodian reports them."""
    distinct, handle = np.unique(row, return_inverse=True)
    records = int(np.searchsorted(distinct, n_records))
    decoys = int(np.searchsorted(distinct, n_records + encoded.decoys)) - records
    reported = ResolvedHandles(handle.astype(np.int32), records, decoys=decoys)
    if not values:
        return reported
    (coded,) = (part for part in encoded.sets if part.rule == CODES)
    place = np.empty(n_records, dtype=np.int64)
    place[encoded.orders[CODES]] = np.arange(n_records)
    codes = {
        name: VariableCodes(variable.categories, variable.codes[place[distinct[:records]]])
        for name, variable in coded.variables.items()
    }
    return replace(reported, values=codes)
