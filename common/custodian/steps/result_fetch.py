"""Fetching this custodian's share: in chunks, unsealed, joined with its own identifiers, written atomically."""

from __future__ import annotations

import datetime
import json
import os
import secrets
import shutil
import time
from importlib.metadata import version
from pathlib import Path

import polars as pl
import structlog

from tryst.common.custodian.state.row_map import unpack_map
from tryst.common.custodian.state.state_tables import Result, Upload
from tryst.common.custodian.steps.coarsened_variables import COARSENING, coarsened_variables, coarsening_table
from tryst.common.custodian.steps.joint_distribution import labelled
from tryst.common.custodian.steps.lone_fetch import reason_to_go_alone
from tryst.common.custodian.steps.resolved_tables import check_resolved, resolved_tables
from tryst.common.custodian.steps.seed_agreement import kept_seed
from tryst.common.custodian.steps.share import Share, identified, read_share, safe_name
from tryst.common.custodian.steps.step_context import Outcome, StepContext, Task, require_approved
from tryst.common.custodian.steps.step_progress import Stopwatch
from tryst.common.custodian.steps.witnessing import countersigned_by_both
from tryst.common.documents.provenance import CLASSES, EXACT, Provenance
from tryst.common.durable import sync_folder
from tryst.common.errors import ErrorCode, TrystError, code_of, file_error
from tryst.common.keys import SealContext
from tryst.common.keys.sealing import open_file
from tryst.common.parties import Side
from tryst.common.rpc.transfer import Fetch
from tryst.protos.linkage.v1 import custody_pb2

log = structlog.get_logger()


def fetch(step_context: StepContext, task: Task) -> Outcome:
    """Fetch the share of a run, write it into the results folder, and acknowledge it to Carole.

    Nothing is fetched before the other custodian has countersigned the audit log as far as the release.

    Raises
    ------
    TrystError
        As `countersigned_by_both`; SEALED if the share does not open or is malformed; UPLOAD_CORRUPT if it changed on
        its way; NOT_FOUND if the pseudonym map of its upload has been erased; CONFIGURATION if the results folder
        cannot be written. No partial result is visible.
    """
    require_approved(step_context, task)
    safe_name(task.run)
    done = step_context.state.result(task.project, task.run)
    if done is None or not Path(done.folder).is_dir():
        if not countersigned_by_both(step_context, task):
            return Outcome.WAITS_FOR_OTHERS
        done = _receive(step_context, task)
    alone = reason_to_go_alone(step_context, task)
    request = custody_pb2.AcknowledgeResultRequest(project=task.project, run=task.run, root=done.root, alone=alone)
    step_context.call(step_context.carole.AcknowledgeResult, request)
    step_context.state.mark_acknowledged(task.project, task.run)
    step_context.offered.pop((task.project, task.run), None)
    log.info("fetched", project=task.project, run=task.run, links=done.links)
    return Outcome.DONE


def _receive(step_context: StepContext, task: Task) -> Result:
    watch = Stopwatch()
    folder = step_context.configuration.results / task.project / task.run
    opened = step_context.state.folder / f"share-{secrets.token_hex(8)}.zip"
    try:
        with step_context.progress.stage(task.project, "fetching the share"):
            with watch.measure("fetch"):
                root = _fetch_and_open(step_context, task, opened)
            step_context.progress.update(task.project, "joining with own identifiers", 1.0)
            with watch.measure("join"):
                upload = step_context.state.uploads.of_run(task.project, task.upload)
                share = read_share(opened, 0 if upload is None else upload.rows)
                tables = _identified(step_context, task, share, upload)
                n_links = tables["links"].height if "links" in tables else 0
            step_context.state.add_timings(task.project, watch.seconds)
            _write(step_context, task, folder, share, tables)
    finally:
        opened.unlink(missing_ok=True)
    result = Result(
        project=task.project,
        run=task.run,
        root=root,
        folder=str(folder),
        links=n_links,
        fetched_at=time.time(),
        acknowledged=False,
    )
    step_context.state.add_result(result)
    step_context.state.update(task.project, links=n_links, results=str(folder), stage="has its share of the result")
    return result


def _fetch_and_open(step_context: StepContext, task: Task, opened: Path) -> bytes:
    """Fetch the share and open it into a file; the root digest of the sealed share."""

    def request(index: int) -> custody_pb2.FetchResultRequest:
        return custody_pb2.FetchResultRequest(project=task.project, run=task.run, index=index)

    def step(done: float) -> None:
        step_context.check_stop(task.project)
        step_context.progress.update(task.project, "fetching the share", done)

    where = f"project {task.project}, run {task.run}"
    sealed = Fetch(step_context.connection, step_context.carole.FetchResult, request, where, step=step)
    context = SealContext(task.project, task.run, step_context.keyring.member.name, task.spec.suite)
    open_file(step_context.keyring.sealing, context, sealed, opened)
    return sealed.root


def _identified(step_context: StepContext, task: Task, share: Share, upload: Upload | None) -> dict[str, pl.DataFrame]:
    """The share's tables with this custodian's own identifiers."""
    if not share.tables and share.resolved is None:
        return {}
    if upload is None:
        raise TrystError(
            ErrorCode.NOT_FOUND,
            "the links are of an upload that is not in this custodian's state",
            where=f"project {task.project}, run {task.run}",
            remedy="restore the state folder from its backup",
        )
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


def _write(step_context: StepContext, task: Task, folder: Path, share: Share, tables: dict[str, pl.DataFrame]) -> None:
    """Write the share's files under another name and rename the folder into its place."""
    project = step_context.state.project(task.project)
    timings = json.loads(project.timings) if project is not None else {}
    coarsened = coarsened_variables(share.statistics, task.spec)
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}")
        temporary.mkdir(mode=0o700)
        try:
            for name, table in tables.items():
                metadata = provenance(task, step_context.party.side, name).metadata()
                table.write_parquet(temporary / f"{name}.parquet", metadata=metadata)
            if "links" in tables:
                tables["links"].write_csv(temporary / "links.csv")
            (temporary / "statistics.json").write_text(json.dumps(share.statistics, indent=2) + "\n", encoding="utf-8")
            if share.joint is not None:
                named = labelled(
                    share.joint, task.spec, kept_seed(step_context, task), task.encoding_digest, task.epoch, coarsened
                )
                (temporary / "joint.json").write_text(json.dumps(named) + "\n", encoding="utf-8")
            if coarsened:
                coarsening_table(coarsened, task.spec).write_csv(temporary / COARSENING)
            (temporary / "timings.json").write_text(json.dumps(timings, indent=2) + "\n", encoding="utf-8")
            for path in temporary.iterdir():
                path.chmod(0o600)
                _sync_file(path)
            sync_folder(temporary)
            if folder.exists():  # complete, from a fetch interrupted before it was recorded
                shutil.rmtree(folder)
            temporary.rename(folder)
            sync_folder(folder.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise file_error(
            code_of(error, ErrorCode.CONFIGURATION),
            "the results cannot be written",
            folder,
            error,
            "check the results folder's permissions and the space left on its disk",
            inline=True,
        ) from None


def provenance(task: Task, side: Side, table: str) -> Provenance:
    """Of a table of this custodian's share."""
    exact = task.spec.release.exact_to(side)
    content = {
        "project": task.project,
        "run": task.run,
        "table": table,
        "sides": [str(side)],
        "specification_digest": task.specification_digest.hex(),
        "encoding_digest": task.encoding_digest.hex(),
        "assignment": task.spec.links.assignment,
        "exact": exact,
        "probabilities": EXACT if exact else CLASSES,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "version": version("tryst"),
    }
    return Provenance.of(content, "provenance")


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
