"""The bound on the rows whose handles are requested: how many joins Carole and the coordinator may learn together.

Handles show which of the requested rows are one record: of k rows of a record k - 1 are joined to another. An honest
run requests the rows of its candidate pairs, of which few are of one record, since a pair is under one rule only; but
this custodian cannot verify what is a candidate. It therefore counts, over all runs, uploads and epochs, the rows that
have been requested of each record under each rule. The count is stored before a response is sent, encrypted like the
map from which it comes, and erased with it; the numbers alone stay, so that a later upload does not begin at none.

A refusal discloses something too: that the request would have joined more than is left. So a custodian that has
refused goes on refusing, whatever is requested next, until its operator has approved a higher cap.
"""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.specification import Requested, ResolutionSpec
from gemel.common.wire.named_rows import NamedRowsContext, SharedRows, open_rows
from gemel.common.wire.row_handles import RowHandlesRequest
from gemel.custodian.state.state_tables import REQUEST_COUNT, REQUESTED, Upload
from gemel.custodian.steps.shared_upload import computing
from gemel.custodian.steps.step_context import StepContext, Task
from gemel.protos.linkage.v1 import contribution_pb2

_ALL_EPOCHS = 0
"""The epoch that the count is stored under."""
_RULE, _RECORD, _DECOY = "rule", "record", "decoy"


@dataclass
class _Count:
    """What is stored in numbers: `carried` is what was counted under maps that are erased."""

    total: Requested = field(default_factory=Requested)
    carried: Requested = field(default_factory=Requested)
    refused: dict[str, float] = field(default_factory=dict)
    """By cap, the highest under which a request was refused."""

    @classmethod
    def unpack(cls, content: bytes) -> _Count:
        read = json.loads(content)
        return cls(Requested(**read["total"]), Requested(**read["carried"]), read["refused"])

    def pack(self) -> bytes:
        return json.dumps(asdict(self), sort_keys=True).encode()


def requested_rows_of(context: StepContext, task: Task, content: bytes, upload: Upload) -> RowHandlesRequest:
    """The rows that a request for handles names: as Carole states them, or in mode shared as three parties name them.

    In mode shared Carole does not learn them: each compute party has sealed its share to this custodian.
    """
    members = computing(context, task)
    if members is None:
        return RowHandlesRequest.unpack(content)
    shared = SharedRows.unpack(content)
    if shared.upload != upload.id:
        return RowHandlesRequest(shared.upload, np.empty(0, dtype=np.uint32))
    named = NamedRowsContext(
        project=task.project,
        run=task.run,
        session=shared.session,
        side=context.party.side,
        specification=task.specification_digest,
        upload=upload.id,
        reader=context.keyring.member.name,
        key=context.keyring.member.sealing,
        suite=task.spec.suite,
    )
    carole, coordinator, steward = (member.identity for member in members)
    rows = open_rows(context.keyring.sealing, (carole, coordinator, steward), named, shared.parts, upload.rows)
    return RowHandlesRequest(shared.upload, rows)


def count_requested(
    context: StepContext,
    task: Task,
    upload: Upload,
    rows: NDArray[np.uint32],
    identifiers: pl.Series,
    decoys: pl.Series,
) -> Requested:
    """Count the rows whose handles are about to be submitted, and refuse if they would join too many.

    Notes
    -----
    O(n log n) in the rows ever requested. Dummies are not counted: none is joined to another row.
    """
    state, where = context.state, f"project {task.project}, run {task.run}"
    stored, known = (state.secret(task.project, _ALL_EPOCHS, kind) for kind in (REQUEST_COUNT, REQUESTED))
    count = _Count() if stored is None else _Count.unpack(stored)
    counted = _identified(upload, np.unique(rows), identifiers, decoys)
    if known is not None:
        counted = pl.concat([_unpacked(known), counted]).unique()
    else:
        count.carried = count.total
    now, uploaded = _numbers(counted), _uploaded(upload, identifiers, decoys)
    count.total = Requested(count.carried.records + now.records, count.carried.joins + now.joins)
    resolution = task.spec.resolution
    try:
        resolution.refuse_requested(count.total, uploaded, context.party.title, where)
    except GemelError:
        # What was requested is not counted, since nothing is sent.
        before = _Count() if stored is None else _Count.unpack(stored)
        for name, cap in resolution.exceeded(count.total, uploaded).items():
            before.refused[name] = max(cap, before.refused.get(name, cap))
        state.keep_secret(task.project, _ALL_EPOCHS, REQUEST_COUNT, before.pack())
        raise
    _refuse_again(resolution, count.refused, where)
    state.keep_secret(task.project, _ALL_EPOCHS, REQUESTED, _packed(counted))
    # Second: numbers without their rows are taken for those of maps that are erased.
    state.keep_secret(task.project, _ALL_EPOCHS, REQUEST_COUNT, count.pack())
    return count.total


def _refuse_again(resolution: ResolutionSpec, refused: dict[str, float], where: str) -> None:
    for name, cap in resolution.caps.items():
        if cap is not None and cap <= refused.get(name, -1.0):
            raise GemelError(
                ErrorCode.LEAKAGE,
                f"after a request above resolution.{name} no handles are submitted until a higher cap is approved",
                where=where,
                got=f"{cap:g}, under which a request was refused before",
                remedy="ask the coordinator why so many rows were requested; then have the specification amended with"
                " a higher cap, or erase the project",
            )


def _identified(upload: Upload, rows: NDArray[np.uint32], identifiers: pl.Series, decoys: pl.Series) -> pl.DataFrame:
    """Rule and record, or decoy, of some rows of an upload, each of them once; none of dummies.

    A rule is named with the encoding that it belongs to, and so is a decoy with the upload: in an upload of the same
    encoding, also of another epoch, a record's row is the same as before.
    """
    manifest = contribution_pb2.Manifest.FromString(upload.manifest)
    starts = np.cumsum([0, *(part.rows for part in manifest.sets)])
    rule = np.searchsorted(starts, rows, side="right") - 1
    encoding = manifest.encoding_digest.hex()
    names = pl.Series([f"{encoding} {part.rule}" for part in manifest.sets], dtype=pl.String)
    place = pl.Series(rows)
    return (
        pl.DataFrame(
            {
                _RULE: names.gather(pl.Series(rule)),
                _RECORD: identifiers.gather(place).cast(pl.String),
                _DECOY: decoys.gather(place).cast(pl.String),
            }
        )
        .with_columns(pl.format("{} {}", pl.lit(upload.id), _DECOY).alias(_DECOY))
        .filter(pl.col(_RECORD).is_not_null() | pl.col(_DECOY).is_not_null())
    )


def _numbers(identified: pl.DataFrame) -> Requested:
    records = identified.get_column(_RECORD).drop_nulls().n_unique()
    return Requested(records, identified.height - identified.select(_RECORD, _DECOY).n_unique())


def _uploaded(upload: Upload, identifiers: pl.Series, decoys: pl.Series) -> Requested:
    """All records of an upload, and all joins of their rows and of decoys'."""
    joins = 0
    for names in (identifiers, decoys):
        signed = names.head(upload.rows).drop_nulls()
        joins += len(signed) - signed.n_unique()
    return Requested(contribution_pb2.Manifest.FromString(upload.manifest).records, joins)


def _packed(counted: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    # Sorted, or their order would show which were requested first.
    counted.sort(_RULE, _RECORD, _DECOY).write_parquet(content, compression="zstd")
    return content.getvalue()


def _unpacked(content: bytes) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(content))
