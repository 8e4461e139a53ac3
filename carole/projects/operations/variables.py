"""Granted columns of linked records: sent by a custodian that has its share, received by whom they are sealed to."""

from __future__ import annotations

from dataclasses import replace

from gemel.carole.projects.operations.outcome import Outcome, move
from gemel.carole.projects.project import Project
from gemel.carole.projects.state import State
from gemel.carole.projects.transitions import Action, permit
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.specification.model.granted_variables import Transfer


def require_sendable(project: Project, run: str, transfer: Transfer) -> None:
    """Refuse columns that are not granted, of another run than the one released last, or before their time.

    Raises
    ------
    GemelError
        NOT_FOUND if the approved specification does not grant the transfer; WRONG_STATE if the run is not the one
        released last, the project is not released, or the sender has not confirmed its share.
    """
    _require_granted(project, transfer)
    permit(project, transfer.sender.role, Action.SEND_VARIABLES)
    _require_released(project, run, Action.SEND_VARIABLES)
    if transfer.sender not in project.acknowledged:
        raise GemelError(
            ErrorCode.WRONG_STATE,
            "a custodian sends columns of its linked records after it has confirmed its share",
            where=f"{project.name}, run {run}",
            remedy="wait until its service has fetched the share",
        )


def require_receivable(project: Project, role: Role, run: str, transfer: Transfer) -> None:
    """Refuse to give columns away that are not for this recipient, or not of the run released last.

    Raises
    ------
    GemelError
        NOT_FOUND if the transfer is not granted or nothing was sent; NOT_ADMITTED, WRONG_STATE.
    """
    _require_granted(project, transfer)
    permit(project, role, Action.RECEIVE_VARIABLES)
    _require_released(project, run, Action.RECEIVE_VARIABLES)
    if transfer not in project.sent:
        raise _unknown()


def send_variables(project: Project, member: str, run: str, transfer: Transfer, total_bytes: int) -> Outcome:
    """A custodian has sent all of one recipient's columns.

    Parameters
    ----------
    total_bytes
        Of the sealed message, for the log.

    Raises
    ------
    GemelError
        As `require_sendable`.
    """
    if transfer in project.sent and project.state is State.RELEASED:
        return Outcome(project)
    require_sendable(project, run, transfer)
    row = permit(project, transfer.sender.role, Action.SEND_VARIABLES)
    after = replace(project, sent=project.sent | {transfer})
    return move(row, after, member, {"run": run, "recipient": transfer.to, "bytes": total_bytes})


def receive_variables(project: Project, role: Role, member: str, run: str, transfer: Transfer) -> Outcome:
    """A recipient confirms that it holds the columns, whose digest has been compared before.

    Raises
    ------
    GemelError
        As `require_receivable`.
    """
    require_receivable(project, role, run, transfer)
    if transfer in project.received:
        return Outcome(project)
    row = permit(project, role, Action.RECEIVE_VARIABLES)
    after = replace(project, received=project.received | {transfer})
    return move(row, after, member, {"run": run, "sender": str(transfer.sender)})


def _require_granted(project: Project, transfer: Transfer) -> None:
    if transfer not in project.transfers:
        raise _unknown()


def _require_released(project: Project, run: str, action: Action) -> None:
    newest = project.released_run
    if newest is None or newest.run != run:
        raise GemelError(
            ErrorCode.WRONG_STATE,
            "the run must be the one released last",
            where=f"{action} of {project.name}, run {run}",
            got="no release" if newest is None else f"run {newest.run}",
            remedy="wait for its release, or take the newer run",
        )


def _unknown() -> GemelError:
    """The same for what is not granted, for what was not sent, and for what does not exist."""
    return GemelError(
        ErrorCode.NOT_FOUND,
        "it does not exist, or you may not see it",
        remedy="compare the grants in `release.variables` of the approved specification",
    )
