"""The stewards' decisions on a result that the policy has held: all that are required must sign, one can refuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gemel.carole.projects.operations.linking import release_run
from gemel.carole.projects.operations.outcome import Detail, Outcome, move
from gemel.carole.projects.project import Project, ReleaseSignature
from gemel.carole.projects.state import State
from gemel.carole.projects.transitions import Action, permit
from gemel.common.audit.reason import normalized_reason
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.language.message_words import listed
from gemel.common.parties import Role


def refuse(project: Project, given: ReleaseSignature, reason: str) -> Outcome:
    """Refuse to release a held result, whoever has signed its release. The signature has been verified before.

    Raises
    ------
    GemelError
        PARAMETER for no reason; NOT_ADMITTED, WRONG_STATE; NOT_FOUND for a run other than the held one.
    """
    _require_held(project, given.run)
    row = permit(project, Role.STEWARD, Action.REFUSE)
    return move(row, project, given.member, _details(given, reason))


def override(project: Project, given: ReleaseSignature, reason: str, stewards: Mapping[str, str]) -> Outcome:
    """Sign the release of a held result against the policy; the last signature that is required releases it.

    The signature has been verified before. The same steward again changes nothing.

    Parameters
    ----------
    stewards
        The stewards of the present membership list and their identities. A former signature counts only if its signer
        is among them, with the identity that it was made by, and if it is on the same report.

    Raises
    ------
    GemelError
        As `refuse`.
    """
    _require_held(project, given.run)
    row = permit(project, Role.STEWARD, Action.OVERRIDE)
    if stewards.get(given.member) != given.identity:
        raise GemelError(
            ErrorCode.NOT_ADMITTED,
            "the signer is not, or no longer, a steward in the membership list",
            where=project.name,
            got=given.member,
            remedy="let a present steward decide",
        )
    former = [one for one in project.release_signatures if one.run == given.run]
    valid = [one for one in former if one.report == given.report and stewards.get(one.member) == one.identity]
    if any(given.member == one.member or given.identity == one.identity for one in valid):
        return Outcome(project)
    signed = (*valid, given)
    details = _details(given, reason)
    if project.signatures > 1:
        details |= {"signatures": len(signed), "required": project.signatures}
        if void := [one.member for one in former if one not in valid]:
            details["void"] = " ".join(void)
    overridden = move(row, replace(project, release_signatures=signed), given.member, details)
    if len(signed) < project.signatures:
        return overridden
    by = "a steward" if project.signatures == 1 else f"the stewards {listed([one.member for one in signed])}"
    return overridden.then(release_run(overridden.project, given.run, f"overridden by {by}"))


def _details(given: ReleaseSignature, reason: str) -> dict[str, Detail]:
    return {"run": given.run, "reason": normalized_reason(reason), "signature": given.signature.hex()}


def _require_held(project: Project, name: str) -> None:
    newest = project.newest_run
    if project.state is State.HELD and (newest is None or newest.run != name):
        raise GemelError(
            ErrorCode.NOT_FOUND,
            "this run is not the held run",
            where=project.name,
            remedy="see the project's status for the run that waits",
        )
