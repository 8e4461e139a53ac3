"""A steward's decision on a result that the policy has held."""

from __future__ import annotations

from tryst.carole.projects.operations.linking import release_run
from tryst.carole.projects.operations.outcome import Outcome, move
from tryst.carole.projects.project import Project
from tryst.carole.projects.state import State
from tryst.carole.projects.transitions import Action, permit
from tryst.common.audit.reason import normalized_reason
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Role


def decide(project: Project, member: str, name: str, reason: str, signature: bytes, *, release: bool) -> Outcome:
    """Release a held result against the policy, or refuse it. The signature has been verified before.

    Raises
    ------
    TrystError
        PARAMETER for no reason; NOT_ADMITTED, WRONG_STATE.
    """
    held_run(project, name)
    row = permit(project, Role.STEWARD, Action.OVERRIDE if release else Action.REFUSE)
    details = {"run": name, "reason": normalized_reason(reason), "signature": signature.hex()}
    decided = move(row, project, member, details)
    if not release:
        return decided
    return decided.then(release_run(decided.project, name, "overridden by a steward"))


def held_run(project: Project, name: str) -> None:
    """Refuse a decision about a run other than the held one.

    Raises
    ------
    TrystError
        NOT_FOUND.
    """
    newest = project.newest_run
    if project.state is State.HELD and (newest is None or newest.run != name):
        raise TrystError(
            ErrorCode.NOT_FOUND,
            "this run is not the held run",
            where=project.name,
            remedy="see the project's status for the run that waits",
        )
