"""The tables of a share in mode block_keyed, from what the resolver has sealed to this custodian.

The resolver names a pair by its place in the request for handles that the custodian has answered; Carole adds that
request, whose digest the resolver states. So nothing can be named but a candidate pair of this custodian's rows. The
custodian knows which rows are one record, as neither Carole nor the resolver does, and checks that the links, and those
of each drawn linkage, have a record as often as the specification allows, and that there are as many as were counted.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import GemelError
from gemel.common.keys.sealing import SealContext
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.common.wire.resolved_share import ResolvedShare, malformed, open_share
from gemel.common.wire.row_handles import RowHandlesRequest
from gemel.custodian.state.state_tables import Upload
from gemel.custodian.steps.requested_rows import requested_rows_of
from gemel.custodian.steps.share import Share
from gemel.custodian.steps.step_context import StepContext, Task

ROUNDING = 0.05
"""A mean of link probabilities is rounded, of few links to one decimal."""


def resolved_tables(context: StepContext, task: Task, share: Share, upload: Upload) -> dict[str, pl.DataFrame]:
    """The tables that the resolver grants, by row of this custodian's upload."""
    assert share.rows is not None  # noqa: S101 - the two are there together
    assert share.resolved is not None  # noqa: S101
    request = _request(context, task, share.rows, upload)
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

    Parameters
    ----------
    tables
        As returned by `resolved_tables`.
    share
        With the statistics, whose numbers Carole has checked and the audit log has.
    names
        Of each row of the upload the custodian's identifier; null for a dummy or a decoy.
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


def _request(context: StepContext, task: Task, content: bytes, upload: Upload) -> RowHandlesRequest:
    try:
        return requested_rows_of(context, task, content, upload)
    except GemelError:
        raise malformed("a request for handles of another form") from None


def _tables(found: ResolvedShare, rows: NDArray[np.uint32], grant: str) -> dict[str, pl.DataFrame]:
    pairs = pl.DataFrame(
        {
            "row": rows[found.pair],
            "pair_id": pl.Series(found.ids, dtype=pl.String),
            "link_probability": found.probability,
            "linked": found.linked,
        }
    ).sort("row", "pair_id")
    tables = {"links": pairs.filter("linked").drop("linked").rename({"pair_id": "link_id"})}
    if grant == "pairs":
        tables["pairs"] = pairs
    if found.draw is not None and found.drawn is not None:
        named = pl.DataFrame({"row": rows[found.pair], "pair_id": found.ids, "link_probability": found.probability})
        drawn = named[found.drawn].with_columns(draw=pl.Series(found.draw, dtype=pl.UInt32))
        tables["draws"] = drawn.select("row", "pair_id", "draw", "link_probability").sort("draw", "row", "pair_id")
    return tables
