"""The three compute parties, and which shares each holds.

A word of bits v is the exclusive or of three shares s0, s1, s2; party i holds s_i and s_(i+1 mod 3), so that each share
is held by two parties and any two parties have all three (Araki et al. 2016, section 2).
"""

from __future__ import annotations

from enum import IntEnum

from gemel.common.parties import Role


class ComputeParty(IntEnum):
    """A compute party, by the number of the first share that it holds."""

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
        """The role of the member that is this party."""
        return (Role.LINKER, Role.COORDINATOR, Role.STEWARD)[self]

    @property
    def title(self) -> str:
        """How errors and logs name it."""
        return ("Carole", "the coordinator", "the steward")[self]
