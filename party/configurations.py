"""A member's configuration, written from what the ceremony knows; nothing in it is left to be copied.

Each is written by a module of the role's program, found by name: no installation has all of them.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType

from gemel.common.keys.identity import in_groups
from gemel.common.parties import Role
from gemel.common.records.sources import Source
from gemel.party.membership_file import Membership
from gemel.party.place import Place

WRITERS = {
    Role.CUSTODIAN_A: "gemel.custodian.joining",
    Role.CUSTODIAN_B: "gemel.custodian.joining",
    Role.LINKER: "gemel.carole.joining",
    Role.COORDINATOR: "gemel.coordinator.client.joining",
    Role.STEWARD: "gemel.coordinator.client.joining",
    Role.ANALYST: "gemel.coordinator.client.joining",
}
"""Modules whose `configure` gives the text for a `Joined`, and whose `complete` does what is due once it is written."""


@dataclass(frozen=True)
class Joined:
    """A member that has compared the digits.

    Attributes
    ----------
    place
        Its files.
    membership
        What it has received.
    source
        Of a custodian: where its records are.
    """

    place: Place
    membership: Membership
    source: Source | None = None

    @property
    def members_digest(self) -> str:
        """What pins the list in a configuration."""
        return in_groups(self.membership.members.digest)


def program(role: Role) -> ModuleType:
    """The module of what is a role's at the end of the ceremony.

    Raises
    ------
    ModuleNotFoundError
        If this installation has not what the role runs.
    """
    return importlib.import_module(WRITERS[role])


def configure(joined: Joined) -> str:
    """The text of the member's configuration."""
    written: str = program(joined.place.role).configure(joined)
    return written


def complete(joined: Joined) -> str:
    """Do what is due once the configuration is there; a line about it, if there is anything."""
    done: str = program(joined.place.role).complete(joined)
    return done
