"""The parties: their roles, the custodians' sides, and who computes in mode shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from types import MappingProxyType


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
        return Side.BOB if self is Side.ALICE else Side.ALICE

    @property
    def role(self) -> Role:
        return Role.CUSTODIAN_A if self is Side.ALICE else Role.CUSTODIAN_B


SIDE_OF_ROLE = {side.role: side for side in Side}
CUSTODIANS = frozenset(SIDE_OF_ROLE)
SERVERS = CUSTODIANS | {Role.LINKER}
"""Roles whose service is called: a custodian's by its own operator."""


PARTIES: Mapping[str, Role] = MappingProxyType(
    {
        "alice": Role.CUSTODIAN_A,
        "bob": Role.CUSTODIAN_B,
        "carole": Role.LINKER,
        "coordinator": Role.COORDINATOR,
        "steward": Role.STEWARD,
    }
)
"""The parties of a deployment by their usual names."""


@dataclass(frozen=True)
class Party:
    """A custodian's identity: everything in which Alice's program differs from Bob's."""

    side: Side
    title: str

    @property
    def name(self) -> str:
        return str(self.side)

    @property
    def role(self) -> Role:
        return self.side.role


class ComputeParty(IntEnum):
    """The three that compute in mode shared, by the number of the first share that each holds.

    A word of bits v is the exclusive or of three shares s0, s1, s2; party i holds s_i and s_(i+1 mod 3), so that each
    share is held by two parties and any two parties have all three (Araki et al. 2016, section 2).
    """

    CAROLE = 0
    COORDINATOR = 1
    STEWARD = 2

    @property
    def next(self) -> ComputeParty:
        """The party that holds this one's second share as its first."""
        return ComputeParty((self + 1) % 3)

    @property
    def previous(self) -> ComputeParty:
        """The party that holds this one's first share as its second; results of products go to it."""
        return ComputeParty((self + 2) % 3)

    @property
    def role(self) -> Role:
        return (Role.LINKER, Role.COORDINATOR, Role.STEWARD)[self]

    @property
    def title(self) -> str:
        return ("Carole", "the coordinator", "the steward")[self]
