"""The stewards of the membership list, and whether they are as many as a specification requires."""

from __future__ import annotations

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.pki.members import Members


def steward_names(members: Members) -> tuple[str, ...]:
    """Their names, in the order of the list."""
    return tuple(member.name for member in members.with_role(Role.STEWARD))


def require_stewards(signatures: int, members: Members) -> None:
    """Refuse a specification that requires more signatures than the membership list has stewards.

    One is not required of every list: a result that is held may wait until there is a steward.
    """
    found = len(steward_names(members))
    if signatures > 1 and found < signatures:
        raise GemelError(
            ErrorCode.SPECIFICATION,
            f"a release must be signed by {signatures} stewards, and the membership list has fewer",
            where="assessment.signatures",
            got=str(found),
            remedy="make another steward a member, or amend the specification to `signatures: 1`",
        )
