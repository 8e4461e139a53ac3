"""Handles: which rows of a run's candidate pairs are one record, for a resolver who knows nothing else of them.

In mode block_keyed a record has another row under every rule, and Carole must not learn which rows are one record. She
names this custodian's row of each candidate pair; the custodian gives each record a random number, new for every run,
and sends the numbers, signed and sealed to the resolver, in the order of the pairs: it sees which pairs share a record,
and neither rows nor identifiers. Only where the approved specification has `resolution: {by: carole}` are they for
Carole, up to a cap (`count_joined`). That the rows are of candidate pairs a custodian cannot verify: it bounds how many
of one record it submits handles of (`requested_rows`).

The resolver also receives which handles are of dummies and decoys, which must not be linked; each numbered record's row
in the set of codes, where the linked records are to be assessed; and its codes, never with a label, where it makes an
extended latent step.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import polars as pl
import structlog

from gemel.common.arrays import I16, I64, U32
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.pki.sealing_suites import require_sealing_keys
from gemel.common.rpc.transfer import Content
from gemel.common.wire.row_handles import (
    CODES_ROWS,
    DECOYS,
    HANDLES,
    RECORDS,
    VALUES,
    About,
    request_digest,
    seal_row_handles,
)
from gemel.custodian.encoding.columns import random_order
from gemel.custodian.state.row_map import unpack_codes, unpack_decoys, unpack_map
from gemel.custodian.state.state_database import JOINED, Upload
from gemel.custodian.steps.epochs import owner_of
from gemel.custodian.steps.requested_rows import count_requested, packed, requested_rows_of
from gemel.custodian.steps.step_context import Outcome, StepContext, Task, require_approved
from gemel.protos.linkage.v1 import resolution_pb2

# The cap on Carole's joins: for how many records she may learn which rows are one, counted here over all runs.
#
# Each run has other random numbers, but rows requested in two runs would link their numbers. So the count is of the
# different records requested in the project, whatever the run, the upload and the epoch. It is stored before a
# response is sent, encrypted like the map from which it comes, and erased with it.


def count_joined(context: StepContext, task: Task, requested: pl.Series) -> int:
    """Count the records whose rows Carole is about to receive, and refuse if they are too many."""
    records = requested.cast(pl.String).unique()
    for epoch in range(1, task.epoch + 1):
        known = context.state.secret(task.project, epoch, JOINED)
        if known is not None:
            records = pl.concat([pl.read_parquet(io.BytesIO(known)).to_series(), records]).unique()
    whose = f"{context.party.title}, in all runs together"
    task.spec.resolution.refuse_above(len(records), whose, task.of_run)
    context.state.keep_secret(task.project, task.epoch, JOINED, packed(records.to_frame("identifier")))
    return len(records)


log = structlog.get_logger()


def submit_row_handles(context: StepContext, task: Task) -> Outcome:
    """Fetch the rows that Carole requests and send a handle for each, signed, and sealed to the party that joins them.

    Raises `GemelError`: UPLOAD_CORRUPT for rows that are not in the task's upload, and in mode shared as
    `requested_rows_of`; LEAKAGE if she requests more than the specification allows; NOT_FOUND if the map of the upload
    has been erased; errors of hers.
    """
    require_approved(context, task)
    with context.progress.stage(task.project, "submitting handles of candidate pairs"):
        upload = context.state.uploads.of_run(task.project, task.upload)
        kind = resolution_pb2.RUN_ARTIFACT_ROWS
        part_of = partial(resolution_pb2.FetchArtifactRequest, project=task.project, run=task.run, artifact=kind)
        request = context.fetch(task, context.carole.FetchArtifact, part_of, task.of_run).whole()
        rows = _rows(context, task, request, upload)
        row_map = context.state.uploads.row_map(upload)
        identifiers, decoys = unpack_map(row_map), unpack_decoys(row_map)
        reported = {HANDLES: handles_of(identifiers.head(upload.rows), rows, decoys.head(upload.rows))}
        if task.spec.padding is not None or task.spec.decoys:
            reported[RECORDS] = np.array([different_among(identifiers, rows)], dtype=np.uint32)
        if task.spec.decoys:
            reported[DECOYS] = np.array([different_among(decoys, rows)], dtype=np.uint32)
        if task.spec.assessment is not None or task.spec.latent is not None:
            place = codes_rows(identifiers, upload.rows, rows, reported[HANDLES])
        if task.spec.assessment is not None:
            reported[CODES_ROWS] = place
        if task.spec.latent is not None:
            names = [variable.name for variable in task.spec.variables_of(context.party.side)]
            reported[VALUES] = values_of_rows(unpack_codes(row_map), names, upload.rows + place.astype(np.int64))
        requested = count_requested(context, task, upload, rows, identifiers, decoys)
        # Whether Carole joins is decided by the approved specification alone.
        reader = context.keyring.linker if task.spec.resolution.joined else owner_of(context.trust.members, task)
        require_sealing_keys(task.spec, (reader,), task.of_run)
        if task.spec.resolution.joined:
            joined = count_joined(context, task, identifiers.gather(pl.Series(rows)))
            log.warning("joined by Carole", project=task.project, run=task.run, records=joined)
        about = About(
            task.project, task.run, context.party.side, task.specification_digest, request_digest(request),
            reader.name, reader.sealing, task.spec.suite,
        )  # fmt: skip
        sealed = seal_row_handles(context.keyring.identity, about, reported)
        kind = resolution_pb2.RUN_ARTIFACT_HANDLES
        chunk_of = partial(resolution_pb2.PutArtifactRequest, project=task.project, run=task.run, artifact=kind)
        context.send(task, context.carole.PutArtifact, chunk_of, Content.of(sealed))
    # With the refusals, the custodian's own record of what was requested of it: Carole's log has her word only.
    counted = {"records": requested.records, "joins": requested.joins}
    log.info("handles", project=task.project, run=task.run, pairs=len(rows), **counted)
    return Outcome.DONE


def handles_of(identifiers: pl.Series, rows: U32, decoys: pl.Series | None = None) -> U32:
    """A random number for the record of each row, the same for rows of one record, from 0 without gaps.

    `identifiers` are the custodian's own of each signed row, `decoys` a number for its decoy; both are null for a
    dummy. Records' numbers come first, then decoys', then dummies', one for each: uint32, shape (n_rows,).
    """
    handles = np.empty(len(rows), dtype=np.uint32)
    left = np.ones(len(rows), dtype=np.bool_)
    given = 0
    for names in (identifiers, decoys, pl.Series(np.arange(len(identifiers)))):
        if names is None:
            continue
        requested = names.gather(pl.Series(rows))
        here = left & requested.is_not_null().to_numpy()
        # Not in the order of first appearance, which the order of the pairs would reveal.
        place = requested.filter(pl.Series(here)).rank("dense").to_numpy().astype(np.int64) - 1
        order = random_order(int(place.max(initial=-1)) + 1)
        handles[here] = given + order[place]
        given, left = given + len(order), left & ~here
    return handles


def different_among(names: pl.Series, rows: U32) -> int:
    return names.gather(pl.Series(rows)).drop_nulls().n_unique()


def codes_rows(identifiers: pl.Series, n_signed: int, rows: U32, handles: U32) -> U32:
    """Row in the set of codes of each handle's record: uint32, shape (n_records,); decoys and dummies have no codes."""
    handle, first = np.unique(handles, return_index=True)
    requested = pl.DataFrame({"identifier": identifiers.gather(pl.Series(rows[first])), "handle": handle})
    requested = requested.drop_nulls()
    coded = identifiers.slice(n_signed).alias("identifier").to_frame().with_row_index("row")
    found = requested.join(coded, on="identifier", how="inner").sort("handle")
    if found.height != requested.height:
        what = "rows of codes are requested for an upload that does not have them"
        got = f"{found.height} of {requested.height}"
        remedy = "contribute again under the specification that all parties have approved"
        raise GemelError(ErrorCode.NOT_FOUND, what, where="handles", got=got, remedy=remedy)
    return found["row"].to_numpy().astype(np.uint32)


def values_of_rows(codes: Mapping[str, I16], names: Sequence[str], rows: I64) -> U32:
    """The codes of some rows, as they are reported, one row after the other: uint32, shape (n_rows * n_variables,); 0
    for none.
    """
    if missing := [name for name in names if name not in codes]:
        what = "codes are requested of an upload whose codes were not kept"
        raise GemelError(ErrorCode.NOT_FOUND, what, where=f"handles, variable {missing[0]}", remedy="contribute again")
    table = [codes[name][rows].astype(np.int64) + 1 for name in names]
    return np.stack(table, axis=1).astype(np.uint32).ravel() if table else np.empty(0, dtype=np.uint32)


def _rows(context: StepContext, task: Task, request: bytes, upload: Upload) -> U32:
    requested = requested_rows_of(context, task, request, upload)
    if requested.upload != upload.id:
        raise _wrong(task, "rows of another upload than the newest")
    if len(requested.rows) and int(requested.rows.max()) >= upload.rows:
        raise _wrong(task, f"a row that is not among the {upload.rows} uploaded")
    return requested.rows


def _wrong(task: Task, got: str) -> GemelError:
    what = "Carole must name rows of this custodian's own upload"
    remedy = "run the same version of Gemel on both sides; if you do, report it to her operator"
    return GemelError(ErrorCode.UPLOAD_CORRUPT, what, where=task.of_run, got=got, remedy=remedy)
