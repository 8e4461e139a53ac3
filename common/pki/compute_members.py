"""The three members that compute together: three different ones, of the right roles, with keys of their own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Role
from tryst.common.pki.members import Member, Members

ROLES = (Role.LINKER, Role.COORDINATOR, Role.STEWARD)
"""By number of the compute party."""


def compute_members(members: Members, coordinator: str, steward: str) -> tuple[Member, Member, Member]:
    """The members that compute, by number of the party: Carole, and those that the specification names.

    Raises
    ------
    TrystError
        NOT_FOUND if there is no member of a name; NOT_ADMITTED if one has another role, or two of them have a key in
        common: who had two parties' keys would see what no one may see.
    """
    found = members.in_role(Role.LINKER), members.named(coordinator), members.named(steward)
    for member, role in zip(found, ROLES, strict=True):
        if member.role is not role:
            raise TrystError(
                ErrorCode.NOT_ADMITTED,
                f"a {role} must take this part of the computation",
                where=f"member {member.name}",
                got=f"a {member.role}",
                remedy="name another member under `compute` in the specification",
            )
    _require_own_keys(found)
    return found


def _require_own_keys(members: Sequence[Member]) -> None:
    for one, other in combinations(members, 2):
        for what in ("name", "certificate", "identity", "sealing"):
            if getattr(one, what) == getattr(other, what):
                raise TrystError(
                    ErrorCode.NOT_ADMITTED,
                    "the parties of a computation must be three different members, each with keys of its own",
                    where=f"members {one.name} and {other.name}",
                    got=f"the same {what if what != 'sealing' else 'sealing key'} for both",
                    remedy="let each make its own keys on a machine of its own, by `tryst party enrol`",
                )
