"""A steward's decision on a result that the policy has held."""

from __future__ import annotations

from tryst.carole.projects.operations.linking import release_run
from tryst.carole.projects.operations.outcome import Outcome, move
from tryst.carole.projects.project import Project
from tryst.carole.projects.state import State
from tryst.carole.projects.transitions import Action, permit
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Role

MIN_REASON = 10
MAX_REASON = 1000
"""Minimum number of characters. A reason is a sentence that will be read years later."""


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


def normalized_reason(reason: str) -> str:
    """The reason as recorded in the log: one line of printable characters.

    Raises
    ------
    TrystError
        PARAMETER if it is too short or too long.
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in reason).split())
    if not MIN_REASON <= len(text) <= MAX_REASON:
        raise TrystError(
            ErrorCode.PARAMETER,
            f"a decision needs a reason of {MIN_REASON} to {MAX_REASON} characters",
            where="reason",
            got=f"{len(text)} characters",
            remedy="state the grounds so that a reader of the audit log understands them years later",
        )
    return text
