"""What a custodian's operator can decide about a project now: what its service takes, and its console offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gemel.custodian.configuration import Policy
from gemel.custodian.state.state_tables import Project
from gemel.custodian.steps.step_context import RESTORED, StepContext
from gemel.protos.linkage.v1 import project_pb2

TOO_LATE: Mapping[int, str] = {
    project_pb2.PROJECT_STATE_RELEASED: "its result is released, and what its recipients have cannot be taken back",
    project_pb2.PROJECT_STATE_ERASED: "it is erased at Carole's, and nothing is left to withdraw",
}
"""By a project's state, why it cannot be declined any more."""
_BEFORE_APPROVAL = frozenset({project_pb2.PROJECT_STATE_UNSPECIFIED, project_pb2.PROJECT_STATE_DRAFT})


def is_decidable(project: Project) -> bool:
    """Whether a specification can be approved."""
    # What was declined too late was released: an approval then has the share fetched after all.
    late = project.carole_state == project_pb2.PROJECT_STATE_RELEASED and project.decision == "declined"
    return project.carole_state in _BEFORE_APPROVAL or late


def waits_for_operator(project: Project, policy: Policy) -> bool:
    """Whether a project can only go on with its operator's decision on the specification."""
    return (
        project.carole_state in _BEFORE_APPROVAL
        and bool(project.profile)
        and project.decided_digest != project.specification_digest
        and not policy.consents(project.specification_digest, project.mode, project.epoch)
    )


def open_decisions(context: StepContext, project: Project) -> Iterator[str]:
    """What can be decided, by the names of the commands."""
    decided = project.decision if project.decided_digest == project.specification_digest else ""
    if project.specification and project.profile and is_decidable(project) and decided != "approved":
        yield "approve"
    if project.specification and project.carole_state not in TOO_LATE and decided != "declined":
        yield "decline"
    if project.blocking_error and decided == "approved" and _is_above_limit(context, project):
        yield "override"
    if any(name == project.name for name, _ in list(context.offered)):
        yield "fetch-alone"
    if project.blocking_error.startswith(RESTORED) and project.stage != "erased":
        yield "accept-restore"


def _is_above_limit(context: StepContext, project: Project) -> bool:
    known = context.state.leakage(project.name)
    return (
        known is not None
        and known.exceeds
        and known.overridden_at is None
        and known.specification_digest == project.specification_digest
    )
