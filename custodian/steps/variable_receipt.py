"""Receiving the columns that the other custodian sends of its linked records, and writing them beside the own links.

``linked.parquet``, in the folder of the run, has this custodian's own identifiers, the links' ids and probabilities,
and the other's columns; ``linked_draws.parquet`` the same of each drawn linkage. `gemel join` adds columns of the own
file.
"""

from __future__ import annotations

import polars as pl
import structlog

from gemel.common.documents.provenance import LINKED_FILES
from gemel.common.durable import whole_file
from gemel.common.errors import ErrorCode, code_of, file_error
from gemel.common.parties import Side
from gemel.common.records.table import numbers_of
from gemel.common.rpc.transfer import Fetch
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.wire.granted_variables import ID, VALUES, Expected, VariablesContext, open_variables
from gemel.common.wire.parties import side_to_wire
from gemel.custodian.steps.run_provenance import run_provenance
from gemel.custodian.steps.share import safe_name
from gemel.custodian.steps.step_context import Outcome, StepContext, Task, require_approved
from gemel.custodian.steps.variable_sending import acknowledged_share, granted_columns, ids_of
from gemel.protos.linkage.v1 import variables_pb2

log = structlog.get_logger()


def fetch_variables(step_context: StepContext, task: Task) -> Outcome:
    """Fetch the columns that the other custodian has sent, write the linked file, and confirm it to Carole.

    Raises
    ------
    GemelError
        SPECIFICATION if the approved specification grants none; WRONG_STATE if this custodian has not acknowledged its
        share of the run; SEALED, SIGNATURE or UPLOAD_CORRUPT if they are not what the other has sent for this run;
        CONFIGURATION if the results folder cannot be written. No partial file is visible.
    """
    require_approved(step_context, task)
    safe_name(task.run)
    side = step_context.party.side
    transfer = Transfer(side.other, str(side))
    columns = granted_columns(task, transfer)
    drawn = task.spec.release.drawn_to(transfer)
    with step_context.progress.stage(task.project, f"fetching columns of {side.other.title()}"):
        own = acknowledged_share(step_context, task)
        about = VariablesContext(
            task.project,
            task.run,
            transfer.sender,
            task.specification_digest,
            step_context.keyring.member.name,
            task.spec.suite,
        )
        fetched = _fetch(step_context, task, transfer.sender)
        expected = Expected(columns, ids_of(own, drawn=drawn)[ID])
        keys, peer = step_context.keyring.sealing, step_context.keyring.peer
        values = open_variables(keys, peer, about, fetched, expected)[VALUES]
        typed = values.select(ID, *(numbers_of(values[name]) for name in columns))
        for name in ("links", "draws") if drawn else ("links",):
            table = own.tables[name]
            key = "link_id" if name == "links" else "pair_id"
            _write(step_context, task, name, table.join(typed, left_on=key, right_on=ID, maintain_order="left"))
    request = variables_pb2.AcknowledgeVariablesRequest(
        project=task.project, run=task.run, sender=side_to_wire(transfer.sender), root=fetched.root
    )
    step_context.call(step_context.carole.AcknowledgeVariables, request)
    log.info("columns fetched", project=task.project, run=task.run, records=values.height, columns=len(columns))
    step_context.state.update(task.project, stage=f"has the linked file, with columns of {transfer.sender.title()}")
    return Outcome.DONE


def _fetch(step_context: StepContext, task: Task, sender: Side) -> Fetch:
    def request(index: int) -> variables_pb2.FetchVariablesRequest:
        wire = side_to_wire(sender)
        return variables_pb2.FetchVariablesRequest(project=task.project, run=task.run, sender=wire, index=index)

    def step(done: float) -> None:
        step_context.check_stop(task.project)
        step_context.progress.update(task.project, f"fetching columns of {sender.title()}", done)

    where = f"project {task.project}, run {task.run}, columns of {sender.title()}"
    return Fetch(step_context.connection, step_context.carole.FetchVariables, request, where, step=step)


def _write(step_context: StepContext, task: Task, name: str, table: pl.DataFrame) -> None:
    path = step_context.configuration.results / task.project / task.run / LINKED_FILES[name]
    exact = task.spec.release.exact_to(step_context.party.side)
    metadata = run_provenance(task.spec, task.run, name, Side, exact=exact).metadata()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole_file(path) as file:
            table.write_parquet(file, metadata=metadata)
    except OSError as error:
        raise file_error(
            code_of(error, ErrorCode.CONFIGURATION),
            "the linked file cannot be written",
            path,
            error,
            "check the results folder's permissions and the space left on its disk",
            inline=True,
        ) from None
