"""This custodian's share of a run: fetched, unsealed, joined with its own identifiers; nothing of it stays on disk."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import polars as pl
import structlog

from gemel.common.keys.sealing import SealContext, open_file
from gemel.custodian.state.row_map import unpack_map
from gemel.custodian.state.state_database import Upload
from gemel.custodian.steps.requested_rows import check_resolved, resolved_tables
from gemel.custodian.steps.share import Share, identified, read_share
from gemel.custodian.steps.step_context import StepContext, Stopwatch, Task
from gemel.protos.linkage.v1 import custody_pb2

log = structlog.get_logger()


@dataclass(frozen=True)
class OwnShare:
    """A share as its custodian reads it."""

    root: bytes
    share: Share
    tables: dict[str, pl.DataFrame] = field(repr=False)


def own_share(step_context: StepContext, task: Task, watch: Stopwatch) -> OwnShare:
    opened = step_context.state.folder / f"share-{secrets.token_hex(8)}.zip"
    try:
        with watch.measure("fetch"):
            root = _fetch_and_open(step_context, task, opened)
        step_context.progress.update(task.project, "joining with own identifiers", 1.0)
        with watch.measure("join"):
            upload = step_context.state.uploads.of_run(task.project, task.upload)
            share = read_share(opened, upload.rows)
            return OwnShare(root, share, _identified(step_context, task, share, upload))
    finally:
        opened.unlink(missing_ok=True)


def _fetch_and_open(step_context: StepContext, task: Task, opened: Path) -> bytes:
    """Fetch the share and open it into a file; the root digest of the sealed share."""
    part_of = partial(custody_pb2.FetchResultRequest, project=task.project, run=task.run)
    sealed = step_context.fetch(task, step_context.carole.FetchResult, part_of, task.of_run, "fetching the share")
    context = SealContext(task.project, task.run, step_context.keyring.member.name, task.spec.suite)
    open_file(step_context.keyring.sealing, context, sealed, opened)
    return sealed.root


def _identified(step_context: StepContext, task: Task, share: Share, upload: Upload) -> dict[str, pl.DataFrame]:
    if not share.tables and share.resolved is None:
        return {}
    identifiers = unpack_map(step_context.state.uploads.row_map(upload))
    given = share.tables
    if share.resolved is not None:
        given = resolved_tables(step_context, task, share, upload)
        check_resolved(given, share, task.spec, step_context.party.side, identifiers)
    tables = {name: identified(table, identifiers) for name, table in given.items()}
    if task.spec.padding is not None:
        dummies = {name: table.height - tables[name].height for name, table in given.items()}
        log.info("dummies left out", project=task.project, run=task.run, **dummies)
    return tables
