"""Watching Carole's audit log: before every step, check that it continues what both custodians have seen of it.

A log that was rewritten, rolled back, restarted or shown differently to the two custodians stops every step with an
error for the operator. The verified checkpoints are kept as long as the state is; `gemel audit verify --kept` takes
them as evidence.

A Carole who forks her log could still show each custodian for ever what the other had countersigned before the fork. So
one to whom a share is offered wants the proof that the release is in the log, and countersigns the log as it is then;
it fetches nothing before the other has countersigned, of the same log, at least as much as it had itself seen at that
first offer. Each waits for that alone, and for nothing that follows it; who is not to fetch anything countersigns too,
when Carole says that it is awaited. One that is away makes the other wait, unless the other's operator decides
otherwise (`decide_alone`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import structlog

from gemel.common.audit import Checkpoint
from gemel.common.audit.statements import normalized_reason
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.wire.checkpoints import checkpoint_from_wire, proof_from_wire
from gemel.common.witnessing.shown_entry import believed_release
from gemel.custodian.state.state_database import ALONE, Project
from gemel.custodian.steps.step_context import StepContext, Task
from gemel.protos.linkage.v1 import audit_pb2

# An operator's decision to have a share fetched although the other custodian has not countersigned the audit log.
#
# It is for a custodian that stays away. It is about one released run, is kept until the project is erased, and goes
# with its reason into Carole's audit log, where the steward finds it. What this custodian sees by itself still holds:
# a release that is not in the log, or a log that differs from what the other has countersigned, is refused.

log = structlog.get_logger()


def decide_alone(context: StepContext, project: Project, reason: str) -> None:
    """Keep the operator's decision about the share that waits for the other's countersignature; WRONG_STATE if none
    does.
    """
    stated = normalized_reason(reason)
    waiting = [run for name, run in list(context.offered) if name == project.name]
    if not waiting:
        what = "no share waits for the other custodian's countersignature"
        remedy = f"look at `gemel {context.party.name} status`"
        raise GemelError(ErrorCode.WRONG_STATE, what, where=f"project {project.name}", remedy=remedy)
    context.state.keep_secret(project.name, project.epoch, ALONE, f"{waiting[-1]}\n{stated}".encode())
    log.warning("share fetched without the other's countersignature", project=project.name, run=waiting[-1])


def reason_to_go_alone(context: StepContext, task: Task) -> str:
    """Why the operator has the share of this run fetched alone; empty if it has not decided so."""
    kept = context.state.secret(task.project, task.epoch, ALONE)
    run, _, reason = ("" if kept is None else kept.decode()).partition("\n")
    return reason if run == task.run else ""


PATIENCE_SECONDS = 300.0
"""How long to wait for the other custodian before the operator is shown an error; it waits on then."""


@dataclass(frozen=True)
class Look:
    """One reading of the log."""

    sent: int
    seen: Checkpoint
    theirs: int
    response: audit_pb2.WitnessResponse


def countersign(context: StepContext) -> None:
    """As `witness`; afterwards Carole has this custodian's countersignature of the log as it was found."""
    _countersigned(context, witness(context))


def countersigned_by_both(context: StepContext, task: Task) -> bool:
    """Whether a run's share may be fetched: its release is in the log, and the other custodian has countersigned the
    log at least as far as this one had seen it when the share was first offered, or the operator goes without.
    """
    first = witness(context, task.project, task.run)
    believed_release(first.response, first.seen, task.project, task.run)
    size, since = context.offered.get((task.project, task.run), (first.seen.size, time.monotonic()))
    # The log is only shorter than it was then if the operator has accepted a restored one since.
    size = min(size, first.seen.size)
    context.offered[task.project, task.run] = size, since
    if _countersigned(context, first).theirs >= size or reason_to_go_alone(context, task):
        return True
    other = context.party.side.other.title()
    waits = f"{other} has not countersigned Carole's audit log up to the release yet"
    context.state.update(task.project, stage=f"waits: {waits}")
    if time.monotonic() - since < PATIENCE_SECONDS:
        return False
    remedy = (
        f"check with {other} that its service runs and is of this release: the share is then fetched by itself. "
        "If it does and is, Carole may be showing the two of you different logs: compare the ends of `gemel alice "
        "checkpoints` and `gemel bob checkpoints`, and ask her operator. If its service stays away for good: "
        f"`gemel {context.party.name} fetch-alone {task.project}`"
    )
    raise GemelError(ErrorCode.WRONG_STATE, waits, where=task.of_run, remedy=remedy)


def _countersigned(context: StepContext, look: Look) -> Look:
    """A look after which Carole has the countersignature of what `look` has found."""
    return look if look.sent >= look.seen.size else witness(context)


def witness(context: StepContext, project: str = "", run: str = "") -> Look:
    """Verify the log's newest checkpoint, compare it with what the other has seen, and keep it; AUDIT or SIGNATURE."""
    before = context.state.newest_seen()
    believed, response = context.log_reader.read(project, run)
    assert believed.seen is not None  # noqa: S101 - `read` has verified one
    theirs = 0
    if response.HasField("other"):
        others = checkpoint_from_wire(response.other)
        others.verify_countersignature(response.other_countersignature, context.keyring.peer)
        believed.compare(others, proof_from_wire(response.other_continues), context.party.side.other.title())
        theirs = others.size
    context.log_reader.keep(believed)
    return Look(0 if before is None else before.size, believed.seen, theirs, response)
