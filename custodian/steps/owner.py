"""The coordinator that a project belongs to: whose acts count in it, and to whom handles are sealed.

Carole names it. She cannot name one at will: it must be a coordinator of the membership list, and handles are sealed
only to one that has signed the specification which this custodian has approved.
"""

from __future__ import annotations

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.epochs import MAX_EPOCHS, approval_parts
from gemel.common.keys.identity import SigningPurpose
from gemel.common.parties import Role
from gemel.common.pki.members import Member, Members
from gemel.custodian.steps.step_context import Task


def listed_owner(members: Members, task: Task) -> Member:
    """The project's owner, as the membership list has it."""
    for member in members.with_role(Role.COORDINATOR):
        if member.name == task.owner:
            return member
    raise GemelError(
        ErrorCode.NOT_ADMITTED,
        "the project's owner must be a coordinator in this custodian's membership list",
        where=f"project {task.project}",
        got=repr(task.owner[:40]),
        remedy="get the current membership list",
    )


def owner_of(members: Members, task: Task) -> Member:
    """The project's owner, which has signed the specification of the task.

    Raises
    ------
    GemelError
        SIGNATURE if it has not; as `listed_owner`.
    """
    owner = listed_owner(members, task)
    # A new epoch keeps the coordinator's consent of a former one.
    epochs = range(1, min(task.epoch, MAX_EPOCHS) + 1)
    consents = [approval_parts(task.project, task.specification_digest, epoch) for epoch in epochs]
    for given in (given for given in task.approvals if given.member == owner.name):
        if any(owner.identity.is_signed(given.signature, SigningPurpose.APPROVAL, *parts) for parts in consents):
            return owner
    raise GemelError(
        ErrorCode.SIGNATURE,
        "the coordinator that Carole names as the project's owner has not signed its specification",
        where=f"project {task.project}",
        got=owner.name,
        remedy="telephone the coordinator; if the project is its own, it amends the specification, or hands the "
        "project over to the one that has signed",
    )
