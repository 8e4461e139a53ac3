"""The bound on the rows whose handles are requested: how many joins Carole and the coordinator may learn together.

Handles show which of the requested rows are one record: of k rows of a record k - 1 are joined to another. An honest
run requests few rows of one record, since a pair is under one rule only; but this custodian cannot verify what is a
candidate. It therefore counts, over all runs, uploads and epochs, the rows that have been requested of each record
under each rule. The count is stored before a response is sent, encrypted like the map from which it comes, and erased
with it; the numbers alone stay, so that a later upload does not begin at none.

A refusal discloses something too: that the request would have joined more than is left. So a custodian that has refused
goes on refusing, whatever is requested next, until its operator has approved a higher cap.
"""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass, field

import numpy as np
import polars as pl

from gemel.common.arrays import U32
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.sealing import SealContext
from gemel.common.parties import Side
from gemel.common.specification import Requested, ResolutionSpec, Specification
from gemel.common.wire.named_rows import NamedRowsContext, SharedRows, open_rows
from gemel.common.wire.resolved_share import ResolvedShare, malformed, open_share
from gemel.common.wire.row_handles import RowHandlesRequest
from gemel.custodian.state.state_database import REQUEST_COUNT, REQUESTED, Upload
from gemel.custodian.steps.share import Share
from gemel.custodian.steps.signing import computing
from gemel.custodian.steps.step_context import StepContext, Task
from gemel.protos.linkage.v1 import contribution_pb2

_ALL_EPOCHS = 0
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
    """The rows that a request for handles names, as Carole states them; in mode shared, where each compute party has
    sealed its share of them to this custodian, as the three name them, and Carole does not learn them.
    """
    members = computing(context, task)
    if members is None:
        return RowHandlesRequest.unpack(content)
    shared = SharedRows.unpack(content)
    if shared.upload != upload.id:
        return RowHandlesRequest(shared.upload, np.empty(0, dtype=np.uint32))
    reader = context.keyring.member
    named = NamedRowsContext(
        task.project, task.run, shared.session, context.party.side, task.specification_digest, upload.id,
        reader.name, reader.sealing, task.spec.suite,
    )  # fmt: skip
    carole, coordinator, steward = (member.identity for member in members)
    rows = open_rows(context.keyring.sealing, (carole, coordinator, steward), named, shared.parts, upload.rows)
    return RowHandlesRequest(shared.upload, rows)


def count_requested(
    context: StepContext, task: Task, upload: Upload, rows: U32, identifiers: pl.Series, decoys: pl.Series
) -> Requested:
    """Count the rows whose handles are about to be submitted, and refuse if they would join too many.

    O(n log n) in the rows ever requested. Dummies are not counted: none is joined to another row.
    """
    state, where = context.state, task.of_run
    stored, known = (state.secret(task.project, _ALL_EPOCHS, kind) for kind in (REQUEST_COUNT, REQUESTED))
    count = _Count() if stored is None else _Count.unpack(stored)
    counted = _identified(upload, np.unique(rows), identifiers, decoys)
    if known is not None:
        counted = pl.concat([pl.read_parquet(io.BytesIO(known)), counted]).unique()
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
    state.keep_secret(task.project, _ALL_EPOCHS, REQUESTED, packed(counted))
    # Second: numbers without their rows are taken for those of maps that are erased.
    state.keep_secret(task.project, _ALL_EPOCHS, REQUEST_COUNT, count.pack())
    return count.total


def _refuse_again(resolution: ResolutionSpec, refused: dict[str, float], where: str) -> None:
    for name, cap in resolution.caps.items():
        if cap is not None and cap <= refused.get(name, -1.0):
            what = f"after a request above resolution.{name} no handles are submitted until a higher cap is approved"
            got = f"{cap:g}, under which a request was refused before"
            remedy = "ask the coordinator why so many rows were requested; then have the specification amended with"
            remedy += " a higher cap, or erase the project"
            raise GemelError(ErrorCode.LEAKAGE, what, where=where, got=got, remedy=remedy)


def _identified(upload: Upload, rows: U32, identifiers: pl.Series, decoys: pl.Series) -> pl.DataFrame:
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
    record, decoy = (of_rows.gather(place).cast(pl.String) for of_rows in (identifiers, decoys))
    named = pl.DataFrame({_RULE: names.gather(pl.Series(rule)), _RECORD: record, _DECOY: decoy})
    named = named.with_columns(pl.format("{} {}", pl.lit(upload.id), _DECOY).alias(_DECOY))
    return named.filter(pl.col(_RECORD).is_not_null() | pl.col(_DECOY).is_not_null())


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


def packed(requested: pl.DataFrame) -> bytes:
    """What was requested, as it is stored: sorted, or its order would show what was requested first."""
    content = io.BytesIO()
    requested.sort(pl.all()).write_parquet(content, compression="zstd")
    return content.getvalue()


# The tables of a share in mode block_keyed, from what the resolver has sealed to this custodian.
#
# The resolver names a pair by its place in the request for handles that the custodian has answered; Carole adds that
# request, whose digest the resolver states. So nothing can be named but a candidate pair of this custodian's rows. The
# custodian knows which rows are one record, as neither Carole nor the resolver does, and checks that the links, and
# those of each drawn linkage, have a record as often as the specification allows, and that there are as many as were
# counted.

ROUNDING = 0.05
"""A mean of link probabilities is rounded, of few links to one decimal."""


def resolved_tables(context: StepContext, task: Task, share: Share, upload: Upload) -> dict[str, pl.DataFrame]:
    """The tables that the resolver grants, by row of this custodian's upload."""
    assert share.rows is not None  # noqa: S101 - the two are there together
    assert share.resolved is not None  # noqa: S101
    try:
        request = requested_rows_of(context, task, share.rows, upload)
    except GemelError:
        raise malformed("a request for handles of another form") from None
    if request.upload != upload.id or (len(request.rows) and int(request.rows.max()) >= upload.rows):
        raise malformed("pairs of rows that are not in this custodian's upload")
    sealing = SealContext(task.project, task.run, context.keyring.member.name, task.spec.suite)
    found = open_share(context.keyring.sealing, sealing, share.resolved, share.rows, len(request.rows))
    grant = getattr(task.spec.release, str(context.party.side))
    if (found.draw is not None) != (grant == "draws") or (grant == "links" and not found.linked.all()):
        raise malformed("other pairs than are granted")
    if grant == "pairs" and len(found.pair) != len(request.rows):
        raise malformed("some of the pairs only, although all are granted")
    return _tables(found, request.rows, grant)


def check_resolved(
    tables: dict[str, pl.DataFrame], share: Share, spec: Specification, side: Side, names: pl.Series
) -> None:
    """Refuse a resolver's links that cannot be those of the agreed plan.

    The share's statistics have numbers that Carole has checked and the audit log has; `names` is of each row of the
    upload the custodian's identifier; null for a dummy or a decoy.
    """
    links = tables["links"]
    counted = share.statistics.get("linkage", {}).get("links")
    if links.height != counted:
        raise malformed(f"{links.height} links where the statistics count {counted}")
    records = names.gather(links["row"])
    if records.null_count():
        raise malformed("links of a dummy or a decoy")
    once = not spec.links.allows_several(side.other)
    if once and not records.is_unique().all():
        raise malformed("two links of one record")
    if once and "draws" in tables:
        drawn = tables["draws"].select("draw", record=names.gather(tables["draws"]["row"]))
        if drawn["record"].null_count() or drawn.is_duplicated().any():
            raise malformed("two links of one record in a drawn linkage, or one of a dummy")
    min_probability = spec.links.min_probability
    if min_probability is not None and (links["link_probability"] < min_probability - ROUNDING).any():
        raise malformed("links that are less probable than the threshold")


def _tables(found: ResolvedShare, rows: U32, grant: str) -> dict[str, pl.DataFrame]:
    ids = pl.Series(found.ids, dtype=pl.String)
    named = pl.DataFrame({"row": rows[found.pair], "pair_id": ids, "link_probability": found.probability})
    pairs = named.with_columns(linked=pl.Series(found.linked)).sort("row", "pair_id")
    tables = {"links": pairs.filter("linked").drop("linked").rename({"pair_id": "link_id"})}
    if grant == "pairs":
        tables["pairs"] = pairs
    if found.draw is not None and found.drawn is not None:
        drawn = named[found.drawn].with_columns(draw=pl.Series(found.draw, dtype=pl.UInt32))
        tables["draws"] = drawn.select("row", "pair_id", "draw", "link_probability").sort("draw", "row", "pair_id")
    return tables
