"""The cap on Carole's joins: for how many records she may learn which rows are one, counted here over all runs.

Each run has other random numbers, but rows requested in two runs would link their numbers. So the count is of the
different records requested in the project, whatever the run, the upload and the epoch. It is stored before a response
is sent, encrypted like the map from which it comes, and erased with it.
"""

from __future__ import annotations

import io

import polars as pl

from gemel.custodian.state.state_tables import JOINED
from gemel.custodian.steps.step_context import StepContext, Task

_COLUMN = "identifier"


def count_joined(context: StepContext, task: Task, requested: pl.Series) -> int:
    """Count the records whose rows Carole is about to receive, and refuse if they are too many.

    Parameters
    ----------
    requested
        This custodian's own identifiers of the requested rows.

    Returns
    -------
    int
        Records of this and all former responses together.

    Raises
    ------
    GemelError
        LEAKAGE if the specification allows fewer; they are not counted then.
    """
    records = requested.cast(pl.String).unique()
    for epoch in range(1, task.epoch + 1):
        known = context.state.secret(task.project, epoch, JOINED)
        if known is not None:
            records = pl.concat([_unpacked(known), records]).unique()
    whose = f"{context.party.title}, in all runs together"
    task.spec.resolution.refuse_above(len(records), whose, f"project {task.project}, run {task.run}")
    context.state.keep_secret(task.project, task.epoch, JOINED, _packed(records))
    return len(records)


def _packed(records: pl.Series) -> bytes:
    content = io.BytesIO()
    # Sorted, or their order would show which were requested first.
    records.sort().alias(_COLUMN).to_frame().write_parquet(content, compression="zstd")
    return content.getvalue()


def _unpacked(content: bytes) -> pl.Series:
    return pl.read_parquet(io.BytesIO(content)).get_column(_COLUMN)
