"""A project's way from one coordinator to another: offered by a signature, and taken over by another one."""

from __future__ import annotations

from dataclasses import replace

from gemel.carole.projects.operations.linking import give_up_waiting
from gemel.carole.projects.operations.outcome import Detail, Outcome, move
from gemel.carole.projects.operations.resolving import WAITS_TO_JOIN
from gemel.carole.projects.ownership import acting, waits_for
from gemel.carole.projects.project import Approval, NewEpoch, PendingHandOver, Project
from gemel.carole.projects.state import RunState, State
from gemel.carole.projects.transitions import Action, permit
from gemel.common.audit.hand_over import TakeOver
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role


def hand_over(project: Project, role: Role, pending: PendingHandOver) -> Outcome:
    """Offer the project to another coordinator, in the place of a former offer; to its owner: withdraw that one.

    The signature has been verified before, and that the successor is a coordinator; of a steward, that the owner is no
    longer a member.

    Raises
    ------
    GemelError
        NOT_ADMITTED for a coordinator that is not the owner; WRONG_STATE if the statement names another owner, or the
        project is erased.
    """
    actor = acting(project, role, pending.member, Action.HAND_OVER)
    known, statement = project.hand_over, pending.statement
    withdrawn = statement.successor == project.owner
    done = known is None if withdrawn else known is not None and known.signature == pending.signature
    if done and project.state is not State.ERASED:
        return Outcome(project)
    row = permit(project, actor, Action.HAND_OVER)
    if statement.former != project.owner:
        raise _changed(project, f"a statement about the owner {statement.former}")
    details: dict[str, Detail] = {
        "role": str(role),
        "former": statement.former,
        "successor": statement.successor,
        "reason": statement.reason,
        "entries": statement.seen.size,
        "root": statement.seen.root.hex(),
        "signature": pending.signature.hex(),
    }
    return move(row, replace(project, hand_over=None if withdrawn else pending), pending.member, details)


def take_over(
    project: Project, statement: TakeOver, signature: bytes, consent: Approval, opening: NewEpoch | None = None
) -> Outcome:
    """Make a coordinator the owner of a project that was handed over to it. Both signatures have been verified before.

    Its consent to the specification takes the place of the former owner's, if that one had consented, and its opening
    of the present epoch the former owner's: custodians enter an epoch that the project's owner has signed. A run that
    waits for the former owner as resolver is ended: what custodians seal is for one reader.

    Parameters
    ----------
    opening
        Of the present epoch, by the successor; None in the first.

    Raises
    ------
    GemelError
        NOT_ADMITTED if the project was not handed over to it; WRONG_STATE if the statement is about another offer, or
        the project is erased; SPECIFICATION, EPOCH_MISMATCH for a consent to anything else than the project's, and for
        no opening of its epoch.
    """
    member = statement.successor
    if project.owner == member and project.state is not State.ERASED:
        return Outcome(project)
    row = permit(project, Role.COORDINATOR, Action.TAKE_OVER)
    if not waits_for(project, member):
        raise GemelError(
            ErrorCode.NOT_ADMITTED,
            f"the project belongs to the coordinator {project.owner}, and was not handed over to you",
            where=project.name,
            got=f"coordinator {member}",
            remedy=f"let {project.owner} hand it over: `gemel project hand-over {project.name} --to {member}`",
        )
    offered = b"" if project.hand_over is None else project.hand_over.signature
    if (statement.former, statement.hand_over) != (project.owner, offered):
        raise _changed(project, "a statement about another offer")
    if project.hand_over is not None and project.hand_over.statement.seen.size < project.restoration:
        raise _changed(project, "an offer from before Carole's store was restored, which may have been withdrawn since")
    if consent.digest != project.specification_digest:
        raise _changed(project, "consent to another specification", ErrorCode.SPECIFICATION)
    if consent.epoch != project.epoch:
        raise _changed(project, f"consent in epoch {consent.epoch}", ErrorCode.EPOCH_MISMATCH)
    opened = project.new_epoch
    if (None if opening is None else (opening.epoch, opening.member, opening.reason)) != (
        None if opened is None else (opened.epoch, member, opened.reason)
    ):
        raise _changed(project, f"no signature under its epoch {project.epoch}", ErrorCode.EPOCH_MISMATCH)
    given_up = _without_reader(project)
    approvals = given_up.project.approvals
    if Role.COORDINATOR in approvals:
        approvals = {**approvals, Role.COORDINATOR: consent}
    details: dict[str, Detail] = {
        "former": project.owner,
        "entries": statement.seen.size,
        "root": statement.seen.root.hex(),
        "hand_over": offered.hex(),
        "signature": signature.hex(),
        "specification_digest": consent.digest.hex(),
        "consent": consent.signature.hex(),
    }
    if opening is not None:
        details |= {"epoch": opening.epoch, "epoch_signature": opening.signature.hex()}
    after = replace(given_up.project, owner=member, hand_over=None, approvals=approvals, new_epoch=opening)
    return given_up.then(move(row, after, member, details))


def _without_reader(project: Project) -> Outcome:
    """The project without a run whose handles are sealed to the former owner."""
    run = project.active_run
    if run is None or run.state is not RunState.RESOLVING or run.stage == WAITS_TO_JOIN:
        return Outcome(project)
    return give_up_waiting(project, "the project was taken over while the run waited for its resolver")


def _changed(project: Project, got: str, code: ErrorCode = ErrorCode.WRONG_STATE) -> GemelError:
    return GemelError(
        code,
        "the project is no longer what the statement is about",
        where=project.name,
        got=got,
        remedy="look at the project's status, and sign again",
    )
