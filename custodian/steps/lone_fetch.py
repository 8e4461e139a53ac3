"""An operator's decision to have a share fetched although the other custodian has not countersigned the audit log.

It is for a custodian that stays away. It is about one released run, is kept until the project is erased, and goes with
its reason into Carole's audit log, where the steward finds it. What this custodian sees by itself still holds: a
release that is not in the log, or a log that differs from what the other has countersigned, is refused.
"""

from __future__ import annotations

import structlog

from gemel.common.audit.reason import normalized_reason
from gemel.common.errors import ErrorCode, GemelError
from gemel.custodian.state.state_tables import ALONE, Project
from gemel.custodian.steps.step_context import StepContext, Task

log = structlog.get_logger()


def decide_alone(context: StepContext, project: Project, reason: str) -> None:
    """Keep the operator's decision about the share that waits.

    Raises
    ------
    GemelError
        PARAMETER for no reason; WRONG_STATE if no share of the project waits for the other's countersignature.
    """
    stated = normalized_reason(reason)
    waiting = [run for name, run in list(context.offered) if name == project.name]
    if not waiting:
        raise GemelError(
            ErrorCode.WRONG_STATE,
            "no share waits for the other custodian's countersignature",
            where=f"project {project.name}",
            remedy=f"look at `gemel {context.party.name} status`",
        )
    context.state.keep_secret(project.name, project.epoch, ALONE, f"{waiting[-1]}\n{stated}".encode())
    log.warning("share fetched without the other's countersignature", project=project.name, run=waiting[-1])


def reason_to_go_alone(context: StepContext, task: Task) -> str:
    """Why the operator has the share of this run fetched alone; empty if it has not decided so."""
    kept = context.state.secret(task.project, task.epoch, ALONE)
    run, _, reason = ("" if kept is None else kept.decode()).partition("\n")
    return reason if run == task.run else ""
