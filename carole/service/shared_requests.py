"""The first half of a run in mode shared: computed with the coordinator and a steward, of which Carole sees the counts.

What names its rows to a custodian are three sealed parts (`common.wire.named_rows`), one of each compute party: Carole
passes them on and reads none. Pairs follow each other by their places in an order that no party knows, and no other is
drawn for the requests. How many records the pairs are of is not known before the custodians have answered.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.run.resources import Resources
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.engine.shared.comparing import compare_opened
from gemel.carole.engine.shared.job import Terms, lead
from gemel.carole.service.computing import Computing, own_contribution
from gemel.carole.service.requesting import request_rows
from gemel.carole.service.stages import Note
from gemel.carole.store import Store
from gemel.carole.store.runs import Lease
from gemel.common.parties import Side
from gemel.common.pki.reader import Reader
from gemel.common.progress import Progress
from gemel.common.rpc.joined_session import JoinedSession
from gemel.common.rpc.session_rows import row_part
from gemel.common.specification import Specification
from gemel.common.wire.named_rows import SharedRows

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
    """Compute on shares, and let the run wait for the custodians' handles.

    Raises
    ------
    GemelError
        As `Computing.computed`, `carole.engine.shared.job.lead` and `carole.engine.compare`; WRONG_STATE if the run was
        taken from this worker.
    """
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
