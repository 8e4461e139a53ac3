"""Fetching this custodian's share: in chunks, unsealed, joined with its own identifiers, written atomically."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl
import structlog

from gemel.common.durable import sync_folder
from gemel.common.errors import GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.specification import Specification
from gemel.common.specification.model.protection import CoarseningStep
from gemel.custodian.encoding.categories import Coarsening, Relabelling, coarsened_labels
from gemel.custodian.state.state_database import Result
from gemel.custodian.state.working_tables import on_disk
from gemel.custodian.steps.own_share import own_share
from gemel.custodian.steps.seed_agreement import kept_seed
from gemel.custodian.steps.share import (
    COARSENING,
    Share,
    coarsened_variables,
    coarsening_table,
    malformed,
    run_provenance,
    safe_name,
)
from gemel.custodian.steps.step_context import Outcome, StepContext, Stopwatch, Task, require_approved
from gemel.custodian.steps.witnessing import countersigned_by_both, reason_to_go_alone
from gemel.protos.linkage.v1 import custody_pb2

# The labels of the joint distribution's codes are derived here, from the seed that the custodians share, which Carole
# does not have; `risk.models.joint_distribution` defines the numbers.


def labelled(
    document: dict[str, Any],
    spec: Specification,
    seed: Seed,
    encoding_digest: bytes,
    epoch: int,
    coarsened: Mapping[str, Coarsening] = MappingProxyType({}),
) -> dict[str, Any]:
    """The document with the categories of each coded variable, in the order of its codes; groups where coarsened.

    Raises `GemelError`: SEALED if it names variables or numbers of categories that the specification does not have.
    """
    known = {variable.name: variable for variable in spec.variables}
    listed = document.get("variables")
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise _malformed("variables that are not a list")
    relabelling = Relabelling(spec.project, seed, encoding_digest, epoch, spec.suite)
    variables = []
    for item in listed:
        if not item.get("coded"):
            variables.append({key: value for key, value in item.items() if key != "labels"})
            continue
        variable = known.get(str(item.get("name")))
        if variable is None:
            raise _malformed("a variable that does not agree with the specification")
        steps, step = spec.coarsenings(variable.name), coarsened.get(variable.name)
        labels = relabelling.labels(variable, steps)
        if isinstance(step, CoarseningStep):
            labels = coarsened_labels(labels, step)
        if item.get("levels") != len(labels) or (step is not None and not isinstance(step, CoarseningStep)):
            raise _malformed("a variable that does not agree with the specification")
        variables.append({**item, "labels": list(labels)})
    return {**document, "variables": variables}


def _malformed(got: str) -> GemelError:
    return malformed(got, "the joint distribution does not fit this specification's variables")


log = structlog.get_logger()


def fetch(step_context: StepContext, task: Task) -> Outcome:
    """Fetch the share of a run, once the other custodian has countersigned the log, and acknowledge it to Carole.

    Raises as `countersigned_by_both`; SEALED if the share does not open or is malformed; UPLOAD_CORRUPT if it changed
    on its way; NOT_FOUND if the map of its upload has been erased; CONFIGURATION if the results folder cannot be
    written. No partial result is visible.
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
    with step_context.progress.stage(task.project, "fetching the share"):
        own = own_share(step_context, task, watch)
        n_links = own.tables["links"].height if "links" in own.tables else 0
        step_context.state.add_timings(task.project, watch.seconds)
        _write(step_context, task, folder, own.share, own.tables)
    result = Result(project=task.project, run=task.run, root=own.root, folder=str(folder), links=n_links)
    result.fetched_at = time.time()
    step_context.state.add_result(result)
    step_context.state.update(task.project, links=n_links, results=str(folder), stage="has its share of the result")
    return result


def _write(step_context: StepContext, task: Task, folder: Path, share: Share, tables: dict[str, pl.DataFrame]) -> None:
    """Write the share's files under another name and rename the folder into its place."""
    project = step_context.state.project(task.project)
    timings = json.loads(project.timings) if project is not None else {}
    coarsened = coarsened_variables(share.statistics, task.spec)
    side = step_context.party.side
    exact = task.spec.release.exact_to(side)
    with on_disk("the results cannot be written", folder, "results"):
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}")
        temporary.mkdir(mode=0o700)
        try:
            for name, table in tables.items():
                metadata = run_provenance(task.spec, task.run, name, (side,), exact=exact).metadata()
                table.write_parquet(temporary / f"{name}.parquet", metadata=metadata)
            if "links" in tables:
                tables["links"].write_csv(temporary / "links.csv")
            (temporary / "statistics.json").write_text(json.dumps(share.statistics, indent=2) + "\n", encoding="utf-8")
            if share.joint is not None:
                seed = kept_seed(step_context, task)
                named = labelled(share.joint, task.spec, seed, task.encoding_digest, task.epoch, coarsened)
                (temporary / "joint.json").write_text(json.dumps(named) + "\n", encoding="utf-8")
            if coarsened:
                coarsening_table(coarsened, task.spec).write_csv(temporary / COARSENING)
            (temporary / "timings.json").write_text(json.dumps(timings, indent=2) + "\n", encoding="utf-8")
            for path in temporary.iterdir():
                path.chmod(0o600)
                with path.open("rb") as file:
                    os.fsync(file.fileno())
            sync_folder(temporary)
            if folder.exists():  # complete, from a fetch interrupted before it was recorded
                shutil.rmtree(folder)
            temporary.rename(folder)
            sync_folder(folder.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
