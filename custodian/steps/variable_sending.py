"""Sending granted columns of linked records to a recipient (`release.variables`), once this custodian has its share.

What is sent follows from the specification that this custodian has approved, from its share and from its own source:
Carole names a run and a recipient, and nothing else of it. Values go as they stand in the source, as text, but those of
a variable that the result was released coarsened in, which are sent coarsened too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import polars as pl
import structlog

from gemel.common.documents.document import LINKED_FILES
from gemel.common.durable import whole_file
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.parties import Role, Side
from gemel.common.pki.members import Member
from gemel.common.pki.sealing_suites import require_sealing_keys
from gemel.common.rpc.transfer import Content
from gemel.common.specification import Specification
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.specification.model.protection import CoarseningStep
from gemel.common.specification.model.section import folded_label
from gemel.common.wire.granted_variables import (
    DRAWS,
    ID,
    LINKS,
    VALUES,
    Expected,
    VariablesContext,
    open_variables,
    seal_variables,
)
from gemel.common.wire.parties import side_to_wire
from gemel.custodian.cleaning.variables import VariableCleaning
from gemel.custodian.encoding.categories import Coarsening
from gemel.custodian.state.working_tables import on_disk
from gemel.custodian.steps.own_share import OwnShare, own_share
from gemel.custodian.steps.share import coarsened_variables, run_provenance, safe_name
from gemel.custodian.steps.step_context import Outcome, StepContext, Stopwatch, Task, require_approved
from gemel.protos.linkage.v1 import variables_pb2
from gemel.records.registry import source_batches
from gemel.records.sources import Source
from gemel.records.table import SourceTable, numbers_of

log = structlog.get_logger()


def send_variables(step_context: StepContext, task: Task) -> Outcome:
    """Send one recipient the columns that the approved specification grants it, of the linked records of a run.

    Raises `GemelError`: SPECIFICATION if it grants none; WRONG_STATE if this custodian has not acknowledged its share
    of the run; SEALED if Carole shows another one; NOT_ADMITTED if the recipient is not in the membership list;
    FIELD_MISSING or PARAMETER if the source no longer has the columns or the records; errors of Carole's.
    """
    require_approved(step_context, task)
    safe_name(task.run)
    transfer = Transfer(step_context.party.side, task.recipient)
    columns = granted_columns(task, transfer)
    with step_context.progress.stage(task.project, f"sending columns to {transfer.recipient}"):
        recipient = _recipient(step_context, task, transfer)
        own = acknowledged_share(step_context, task)
        records = ids_of(own, drawn=task.spec.release.drawn_to(transfer))
        identifier = task.spec.custodians.of(transfer.sender).identifier
        values = granted_values(step_context.configuration.source, task.spec, own, transfer, identifier, records)
        tables = {VALUES: values.select(ID, *columns).sort(ID)}
        if transfer.to_analyst:
            tables |= _own_links(own, drawn=task.spec.release.drawn_to(transfer))
        about = _about(task, transfer, recipient.name)
        sealed = b"".join(seal_variables(step_context.keyring.identity, recipient.sealing, about, tables))
        sent = partial(variables_pb2.PutVariablesRequest, project=task.project, run=task.run, recipient=task.recipient)
        step_context.send(task, step_context.carole.PutVariables, sent, Content.of(sealed), "sending columns")
    counted = {"records": values.height, "columns": len(columns), "bytes": len(sealed)}
    log.info("columns sent", project=task.project, run=task.run, recipient=recipient.name, **counted)
    step_context.state.update(task.project, stage=f"has sent its columns to {transfer.recipient}")
    return Outcome.DONE


def _about(task: Task, transfer: Transfer, reader: str) -> VariablesContext:
    return VariablesContext(task.project, task.run, transfer.sender, task.specification_digest, reader, task.spec.suite)


def granted_columns(task: Task, transfer: Transfer) -> Sequence[str]:
    """The columns of a transfer, by the specification that this custodian has approved; SPECIFICATION for none."""
    columns = task.spec.release.granted_columns(transfer)
    if not columns:
        what = f"the approved specification grants no column of {transfer.sender.title()}'s file to this recipient"
        remedy = "compare `release.variables` with what Carole requests, and report it to her operator"
        raise GemelError(ErrorCode.SPECIFICATION, what, where=task.of_run, got=repr(transfer.to[:40]), remedy=remedy)
    return columns


def acknowledged_share(step_context: StepContext, task: Task) -> OwnShare:
    """This custodian's share of a run once more, the one that it has acknowledged."""
    held = step_context.state.result(task.project, task.run)
    if held is None or not held.acknowledged:
        what = "columns are exchanged after this custodian has its share of the run"
        remedy = "report it to Carole's operator: she requests them before their time"
        raise GemelError(ErrorCode.WRONG_STATE, what, where=task.of_run, remedy=remedy)
    own = own_share(step_context, task, Stopwatch())
    if own.root != held.root:
        what = "Carole shows another share of the run than the one that was acknowledged"
        remedy = "keep the state folder, and ask her operator"
        raise GemelError(ErrorCode.SEALED, what, where=task.of_run, remedy=remedy)
    return own


def ids_of(own: OwnShare, *, drawn: bool) -> pl.DataFrame:
    """The ids that values are sent of: of links, and of pairs in a drawn linkage."""
    links = own.tables["links"].select("identifier", pl.col("link_id").alias(ID))
    if not drawn:
        return links
    pairs = own.tables["draws"].select("identifier", pl.col("pair_id").alias(ID))
    return pl.concat([links, pairs]).unique(ID, maintain_order=True)


def _own_links(own: OwnShare, *, drawn: bool) -> dict[str, pl.DataFrame]:
    tables = {LINKS: own.tables["links"].select("link_id", "link_probability").sort("link_id")}
    if drawn:
        tables[DRAWS] = own.tables["draws"].select("pair_id", "link_probability", "draw").sort("draw", "pair_id")
    return tables


def _recipient(step_context: StepContext, task: Task, transfer: Transfer) -> Member:
    """Who the columns are sealed to, in this custodian's membership list."""
    members = step_context.trust.members
    if transfer.to_analyst:
        found = next((one for one in members.with_role(Role.ANALYST) if one.name == transfer.to), None)
    else:
        found = members.in_role(Side(transfer.to).role)
        found = found if found.identity == step_context.keyring.peer else None
    if found is None:
        what = f"{transfer.recipient} is not in this custodian's membership list"
        what += "" if transfer.to_analyst else " under the identity of `peer` in its configuration"
        remedy = "get the current membership list, and compare its digest by phone"
        raise GemelError(ErrorCode.NOT_ADMITTED, what, where=task.of_run, remedy=remedy)
    require_sealing_keys(task.spec, (found,), task.of_run)
    return found


def granted_values(
    source: Source, spec: Specification, own: OwnShare, transfer: Transfer, identifier: str, records: pl.DataFrame
) -> pl.DataFrame:
    """The granted columns of some records, by id, coarsened where the result was; only their rows are kept of the
    source.
    """
    side, columns = transfer.sender, spec.release.granted_columns(transfer)
    steps = {
        name: step for name, step in coarsened_variables(own.share.statistics, spec).items()
        if spec.variable(name).held_by(side) and spec.variable(name).column_of(side) in columns
    }  # fmt: skip
    named = records["identifier"].unique()
    parts = []
    for table in source_batches(source, [identifier, *columns]):
        here = table.frame[identifier].is_in(named.implode())
        part = SourceTable(table.frame.filter(here), table.positions[here.to_numpy()], table.unit, table.where)
        parts.append(_coarsened(part, spec, side, steps) if part.n_rows else part.frame)
    found = pl.concat(parts)
    n_found = found[identifier].n_unique()
    if found.height != n_found or n_found != len(named):
        what = "the source no longer has every linked record once, by its own identifier"
        got = f"{n_found} of {len(named)} records, on {found.height} rows"
        remedy = "configure the source that was contributed; the columns are then sent by themselves"
        raise parameter(f"column '{identifier}' of the source", what, got, remedy)
    return records.join(found, left_on="identifier", right_on=identifier, how="left", maintain_order="left")


def _coarsened(table: SourceTable, spec: Specification, side: Side, steps: dict[str, Coarsening]) -> pl.DataFrame:
    """The table with the variables that the result was released coarsened in as they were released."""
    frame = table.frame
    if not steps:
        return frame
    variables = tuple(spec.variable(name) for name in steps)
    cleaning = VariableCleaning(spec.model_copy(update={"variables": variables}), side)
    codes = cleaning.batch(frame, table.places)
    cleaning.profiles()
    for variable in variables:
        step, labels = steps[variable.name], variable.categories
        groups = step.group_of if isinstance(step, CoarseningStep) else {}
        released = pl.Series([groups.get(folded_label(label)) for label in labels], dtype=pl.String)
        column = released.gather(codes[variable.name]).alias(variable.column_of(side))
        frame = frame.with_columns(column)
    return frame


# Receiving the other custodian's columns: `linked.parquet`, in the folder of the run, has this custodian's identifiers,
# the links' ids and probabilities, and the other's columns; `linked_draws.parquet` the same of each drawn linkage.


def fetch_variables(step_context: StepContext, task: Task) -> Outcome:
    """Fetch the columns that the other custodian has sent, write the linked file, and confirm it to Carole.

    Raises `GemelError`: SPECIFICATION if none are granted; WRONG_STATE if this custodian has not acknowledged its share
    of the run; SEALED, SIGNATURE or UPLOAD_CORRUPT if they are not what the other has sent for this run; CONFIGURATION
    if the results folder cannot be written. No partial file is visible.
    """
    require_approved(step_context, task)
    safe_name(task.run)
    side = step_context.party.side
    transfer = Transfer(side.other, str(side))
    columns = granted_columns(task, transfer)
    drawn = task.spec.release.drawn_to(transfer)
    with step_context.progress.stage(task.project, f"fetching columns of {side.other.title()}"):
        own = acknowledged_share(step_context, task)
        about = _about(task, transfer, step_context.keyring.member.name)
        sender = side_to_wire(transfer.sender)
        requested = partial(variables_pb2.FetchVariablesRequest, project=task.project, run=task.run, sender=sender)
        whose = f"columns of {side.other.title()}"
        where = f"{task.of_run}, {whose}"
        fetched = step_context.fetch(task, step_context.carole.FetchVariables, requested, where, f"fetching {whose}")
        expected = Expected(columns, ids_of(own, drawn=drawn)[ID])
        keys, peer = step_context.keyring.sealing, step_context.keyring.peer
        values = open_variables(keys, peer, about, fetched, expected)[VALUES]
        typed = values.select(ID, *(numbers_of(values[name]) for name in columns))
        for name in ("links", "draws") if drawn else ("links",):
            table = own.tables[name]
            key = "link_id" if name == "links" else "pair_id"
            _write(step_context, task, name, table.join(typed, left_on=key, right_on=ID, maintain_order="left"))
    request = variables_pb2.AcknowledgeVariablesRequest(
        project=task.project, run=task.run, sender=sender, root=fetched.root
    )
    step_context.call(step_context.carole.AcknowledgeVariables, request)
    log.info("columns fetched", project=task.project, run=task.run, records=values.height, columns=len(columns))
    step_context.state.update(task.project, stage=f"has the linked file, with columns of {transfer.sender.title()}")
    return Outcome.DONE


def _write(step_context: StepContext, task: Task, name: str, table: pl.DataFrame) -> None:
    path = step_context.configuration.results / task.project / task.run / LINKED_FILES[name]
    exact = task.spec.release.exact_to(step_context.party.side)
    metadata = run_provenance(task.spec, task.run, name, Side, exact=exact).metadata()
    with on_disk("the linked file cannot be written", path, "results"):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole_file(path) as file:
            table.write_parquet(file, metadata=metadata)
