"""Whose digits each member types before anything of the list counts.

A custodian types those of every other member, every other member those of a custodian. Each member has checked its own
entry, so whoever has the digits of a member's list has that member's true keys; and a custodian who is honest has found
that all who are honest have the same list, whatever the coordinator and the other custodian do together. If members
typed the digits of the coordinator, it could read out those of a list that it has made.
"""

from __future__ import annotations

from collections.abc import Mapping

from gemel.common.parties import CUSTODIANS, Role
from gemel.common.pki.members import Member, Members

TYPES: Mapping[Role, tuple[Role, ...]] = {
    role: tuple(Role) if role in CUSTODIANS else (Role.CUSTODIAN_A,) for role in Role
}
"""By role, whose digits its member types: those of all other members in these roles."""


def read_to(members: Members, name: str) -> tuple[Member, ...]:
    """The members whose digits a member types, in the order in which they are requested."""
    own = members.named(name)
    return tuple(each for role in TYPES[own.role] for each in members.with_role(role) if each.name != own.name)


def readers_of(members: Members, name: str) -> tuple[Member, ...]:
    """The members who type a member's digits: those to whom it reads its own out."""
    return tuple(each for each in members if name in {read.name for read in read_to(members, each.name)})
