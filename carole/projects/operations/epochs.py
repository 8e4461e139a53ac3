"""A new epoch: the custodians agree on another seed, and everything made under the former one is erased."""

from __future__ import annotations

from dataclasses import replace

from gemel.carole.projects.operations.consent import key_mismatch
from gemel.carole.projects.operations.linking import give_up_waiting
from gemel.carole.projects.operations.outcome import Detail, Outcome, move
from gemel.carole.projects.ownership import acting
from gemel.carole.projects.project import NewEpoch, Project
from gemel.carole.projects.state import State
from gemel.carole.projects.transitions import Action, permit
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.epochs import MAX_EPOCHS
from gemel.common.parties import Role


def open_epoch(project: Project, new: NewEpoch) -> Outcome:
    """Open the project's next epoch, which both custodians must consent to. The signature has been verified before.

    The coordinator's own approval stays: it has signed the epoch. A run that waits for other parties is ended.

    Raises
    ------
    GemelError
        EPOCH_MISMATCH for any but the next epoch, or one too many; RUN_ACTIVE; WRONG_STATE, also once a result was
        released; NOT_ADMITTED.
    """
    actor = acting(project, Role.COORDINATOR, new.member, Action.NEW_EPOCH)
    known = project.new_epoch
    if known is not None and known.signature == new.signature and project.state is not State.ERASED:
        return Outcome(project)
    row = permit(project, actor, Action.NEW_EPOCH)
    if new.epoch != project.epoch + 1:
        raise GemelError(
            ErrorCode.EPOCH_MISMATCH,
            f"the project is in epoch {project.epoch}, and the next one must follow",
            where=project.name,
            got=f"epoch {new.epoch}",
            remedy="look at the project's status, and open the next epoch if it still has to be opened",
        )
    if new.epoch > MAX_EPOCHS:
        raise GemelError(
            ErrorCode.EPOCH_MISMATCH,
            f"a project has at most {MAX_EPOCHS} epochs, since each can show the same records under other keys",
            where=project.name,
            got=f"epoch {new.epoch}",
            remedy="find out with both custodians why their keys or installations differ, then make a new project",
        )
    if project.released_run is not None:
        raise GemelError(
            ErrorCode.WRONG_STATE,
            "a result of this project was released, so its keys did agree",
            where=project.name,
            remedy="make a new project to link under other keys",
        )
    given_up = give_up_waiting(project, "a new epoch was opened while the run waited")
    if given_up.project.active_run is not None:
        raise GemelError(
            ErrorCode.RUN_ACTIVE,
            "a new epoch cannot be opened during a run",
            where=project.name,
            remedy="wait until the run has ended",
        )
    mismatch = key_mismatch(project)
    details: dict[str, Detail] = {
        "epoch": new.epoch,
        "reason": new.reason,
        "signature": new.signature.hex(),
        "mismatch": "" if mismatch is None else mismatch.code.name,
    }
    dropped = [upload.upload for of in (project.uploads, project.pending) for upload in of.values()]
    if dropped:
        details["uploads"] = " ".join(sorted(dropped))
    after = replace(
        given_up.project,
        epoch=new.epoch,
        new_epoch=new,
        approvals={role: given for role, given in project.approvals.items() if role is Role.COORDINATOR},
        messages={},
        reports={},
        uploads={},
        pending={},
    )
    return given_up.then(move(row, after, new.member, details))
