"""A custodian that does not take part: before its approval, or after it until the release."""

from __future__ import annotations

from dataclasses import replace

from gemel.carole.projects.operations.ending import fail_active_runs
from gemel.carole.projects.operations.outcome import Detail, Outcome, move
from gemel.carole.projects.project import Decline, Project
from gemel.carole.projects.state import State
from gemel.carole.projects.transitions import Action, permit
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side


def decline(project: Project, side: Side, decline: Decline) -> Outcome:
    """Decline the specification, and withdraw what was uploaded under it. The signature has been verified before.

    The side's own approval and uploads are dropped, and an active run ends, since it compares them. The other side's
    remain as they were. The same custodian may approve later: this specification or, better, an amended one.

    Raises
    ------
    GemelError
        SPECIFICATION if another specification is declined than the project's; WRONG_STATE once a result is released,
        which cannot be taken back; NOT_ADMITTED.
    """
    if decline.digest != project.specification_digest:
        raise GemelError(
            ErrorCode.SPECIFICATION,
            "the specification that is declined is not the project's",
            where=project.name,
            got=f"digest {decline.digest[:8].hex()}... instead of {project.specification_digest[:8].hex()}...",
            remedy="read the project's specification again",
        )
    former = project.declines.get(side)
    if former is not None and former.signature == decline.signature and project.state is not State.ERASED:
        return Outcome(project)
    if project.state is State.RELEASED:
        raise GemelError(
            ErrorCode.WRONG_STATE,
            "a result is released, and what its recipients have received cannot be taken back",
            where=project.name,
            remedy="ask the coordinator to erase the project; an amendment of it needs your approval",
        )
    row = permit(project, side.role, Action.DECLINE)
    details: dict[str, Detail] = {
        "specification_digest": decline.digest.hex(),
        "reason": decline.reason,
        "signature": decline.signature.hex(),
    }
    withdrawn = [upload.upload for of in (project.uploads, project.pending) if (upload := of.get(side)) is not None]
    if withdrawn:
        details["uploads"] = " ".join(withdrawn)
    after = replace(
        fail_active_runs(project, f"{side} declined the specification during the run"),
        approvals={role: approval for role, approval in project.approvals.items() if role is not side.role},
        uploads={other: upload for other, upload in project.uploads.items() if other is not side},
        pending={other: upload for other, upload in project.pending.items() if other is not side},
        declines={**project.declines, side: decline},
    )
    return move(row, after, decline.member, details)
