"""The parties. Alice and Bob differ only in what this module defines."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a party may do, as named in its certificate and in the membership list."""

    CUSTODIAN_A = "custodian-a"
    CUSTODIAN_B = "custodian-b"
    LINKER = "linker"
    COORDINATOR = "coordinator"
    STEWARD = "steward"
    ANALYST = "analyst"


class Side(StrEnum):
    """Which of the two files a custodian holds, as named in the specification."""

    ALICE = "alice"
    BOB = "bob"

    @property
    def other(self) -> Side:
        """The other custodian's side."""
        return Side.BOB if self is Side.ALICE else Side.ALICE

    @property
    def role(self) -> Role:
        """The role of the custodian on this side."""
        return Role.CUSTODIAN_A if self is Side.ALICE else Role.CUSTODIAN_B


SIDE_OF_ROLE = {side.role: side for side in Side}
CUSTODIANS = frozenset(SIDE_OF_ROLE)
SERVERS = CUSTODIANS | {Role.LINKER}
"""Roles whose service is called: a custodian's by its own operator."""


@dataclass(frozen=True)
class Party:
    """A custodian's identity: everything in which Alice's program differs from Bob's."""

    side: Side
    title: str

    @property
    def name(self) -> str:
        """The name used in commands, folders and the specification."""
        return str(self.side)

    @property
    def role(self) -> Role:
        """The role this party's certificate must carry."""
        return self.side.role
