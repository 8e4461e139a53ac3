"""Contributions: started, committed, erased when they expire, and withdrawn by a custodian that declines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from gemel.carole.projects.operations.linking import give_up_waiting
from gemel.carole.projects.operations.outcome import Detail, Outcome, move
from gemel.carole.projects.operations.release import fail_active_runs
from gemel.carole.projects.project import Decline, Project, State, Upload
from gemel.carole.projects.transitions import SYSTEM, Action, permit
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side


def begin_upload(
    project: Project, side: Side, member: str, upload: Upload, measured: Mapping[str, Detail] = MappingProxyType({})
) -> Outcome:
    """Start a contribution, or restart it under another name; an uncommitted one is then dropped.

    The leakage that the custodian `measured` beforehand goes to the audit log.
    """
    for there in (project.uploads.get(side), project.pending.get(side)):
        if there is not None and there.upload == upload.upload and not there.expired:
            if there.layout != upload.layout:
                what = "the upload was started with another manifest"
                remedy = "start a new upload under a new name"
                raise GemelError(
                    ErrorCode.CHUNK_CONFLICT, what, where=f"{project.name}, upload {upload.upload}", remedy=remedy
                )
            return Outcome(project)
    row = permit(project, side.role, Action.BEGIN_UPLOAD)
    # A committed upload stays the side's contribution until the new one is committed too.
    if project.contributed(side):
        after = replace(project, pending={**project.pending, side: upload})
    else:
        after = replace(project, uploads={**project.uploads, side: upload})
    return move(row, after, member, {**_described(upload), **measured})


def commit_upload(project: Project, side: Side, member: str, upload: Upload) -> Outcome:
    """Make a complete and verified upload the side's contribution."""
    there = project.uploads.get(side)
    if there is not None and there.upload == upload.upload and there.committed and not there.expired:
        return Outcome(project)
    row = permit(project, side.role, Action.COMMIT_UPLOAD)
    committed = replace(upload, committed=True, received_bytes=upload.total_bytes)
    after = replace(project, uploads={**project.uploads, side: committed}, pending=_without(project, side))
    details = _described(upload)
    if there is not None and there.committed and not there.expired:
        details["replaces"] = there.upload
    return move(row, after, member, details)


def expire_upload(project: Project, side: Side, upload: str, reason: str = "") -> Outcome:
    """Expire an upload, but not during a run: the run ends first. A reason other than its age goes to the audit log.

    A run that waits for other parties has no worker and may wait for ever: it is ended. Nothing changes if the upload
    no longer exists.
    """
    there, pending = project.uploads.get(side), project.pending.get(side)
    if pending is not None and pending.upload == upload:
        changed = replace(project, pending=_without(project, side))
    elif there is not None and there.upload == upload and not there.expired:
        changed = replace(project, uploads={**project.uploads, side: replace(there, expired=True, received_bytes=0)})
    else:
        return Outcome(project)
    given_up = give_up_waiting(changed, "an upload expired while the run waited")
    if given_up.project.active_run is not None:
        raise GemelError(ErrorCode.RUN_ACTIVE, "an upload cannot expire during a run", where=project.name)
    row = permit(project, SYSTEM, Action.EXPIRE_UPLOAD)
    why = {"reason": reason} if reason else {}
    expired = move(row, given_up.project, SYSTEM, {"side": str(side), "upload": upload, **why})
    return given_up.then(expired)


def _without(project: Project, side: Side) -> Mapping[Side, Upload]:
    return {other: upload for other, upload in project.pending.items() if other is not side}


def _described(upload: Upload) -> dict[str, Detail]:
    return {"upload": upload.upload, "rows": upload.rows, "bytes": upload.total_bytes}


# A custodian that does not take part: before its approval, or after it until the release.


def decline(project: Project, side: Side, decline: Decline) -> Outcome:
    """Decline the specification, and withdraw what was uploaded under it. The signature has been verified before.

    The side's own approval and uploads are dropped, and an active run ends, since it compares them. The other side's
    remain as they were. The same custodian may approve later: this specification or, better, an amended one. Raises
    SPECIFICATION if another specification is declined than the project's; WRONG_STATE once a result is released, which
    cannot be taken back; NOT_ADMITTED.
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
        what = "a result is released, and what its recipients have received cannot be taken back"
        remedy = "ask the coordinator to erase the project; an amendment of it needs your approval"
        raise GemelError(ErrorCode.WRONG_STATE, what, where=project.name, remedy=remedy)
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
