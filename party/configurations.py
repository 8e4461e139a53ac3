"""Where a member's files are, and its configuration, written from what the ceremony knows.

Each role's is written by a module of its program, found by name: no installation has all of them.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from gemel.common.keys.identity import in_groups
from gemel.common.parties import PARTIES, Role
from gemel.common.pki.folders import PartyFolder
from gemel.party.membership_file import Membership
from gemel.records.sources import Source

PROGRAM = {**{role: name for name, role in PARTIES.items()}, Role.ANALYST: "analyst"}
"""What a role's commands and configuration are called, whatever the member's name."""


@dataclass(frozen=True)
class Place:
    """A member's folder: its configuration, what it sends, and a folder with its keys."""

    folder: Path
    name: str
    role: Role
    data: Path
    """Where its programs write: state, results, a store."""

    @property
    def program(self) -> str:
        return PROGRAM[self.role]

    @property
    def keys(self) -> PartyFolder:
        """Its keys, certificate and membership list."""
        return PartyFolder(self.folder / "keys")

    @property
    def configuration(self) -> Path:
        return self.folder / f"{self.program}.yaml"

    @property
    def request(self) -> Path:
        """What it sends to the coordinator, under a name that no other member's file has."""
        return self.folder / f"{self.name}-request.yaml"

    def below(self, name: str) -> str:
        """A path of its data as it stands in the configuration: relative where it is in the same folder."""
        return name if self.data == self.folder else str(self.data / name)


WRITERS = {
    Role.CUSTODIAN_A: "gemel.custodian.joining",
    Role.CUSTODIAN_B: "gemel.custodian.joining",
    Role.LINKER: "gemel.carole.joining",
    Role.COORDINATOR: "gemel.coordinator.client.client_configuration",
    Role.STEWARD: "gemel.coordinator.client.client_configuration",
    Role.ANALYST: "gemel.coordinator.client.client_configuration",
}
"""Modules whose `configure` gives the text for a `Joined`, and whose `complete` does what is due once it is written."""


@dataclass(frozen=True)
class Joined:
    """A member that has compared the digits."""

    place: Place
    membership: Membership
    source: Source | None = None
    """Of a custodian: where its records are."""

    @property
    def members_digest(self) -> str:
        """What pins the list in a configuration."""
        return in_groups(self.membership.members.digest)


def program(role: Role) -> ModuleType:
    """The module of what is a role's at the end of the ceremony. Raises ModuleNotFoundError if this installation has
    not what the role runs."""
    return importlib.import_module(WRITERS[role])
