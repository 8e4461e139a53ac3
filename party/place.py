"""Where a member's files are, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gemel.common.parties import Role
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.provisioning import PARTIES

PROGRAM = {**{role: name for name, role in PARTIES.items()}, Role.ANALYST: "analyst"}
"""What a role's commands and configuration are called, whatever the member's name."""


@dataclass(frozen=True)
class Place:
    """A member's folder: its configuration, what it sends, and a folder with its keys.

    Attributes
    ----------
    folder
        The whole of it.
    name, role
        The member's.
    data
        Where its programs write: state, results, a store.
    """

    folder: Path
    name: str
    role: Role
    data: Path

    @property
    def program(self) -> str:
        """The name of its commands."""
        return PROGRAM[self.role]

    @property
    def keys(self) -> PartyFolder:
        """Its keys, certificate and membership list."""
        return PartyFolder(self.folder / "keys")

    @property
    def configuration(self) -> Path:
        """Its configuration file."""
        return self.folder / f"{self.program}.yaml"

    @property
    def request(self) -> Path:
        """What it sends to the coordinator, under a name that no other member's file has."""
        return self.folder / f"{self.name}-request.yaml"

    def below(self, name: str) -> str:
        """A path of its data as it stands in the configuration: relative where it is in the same folder."""
        return name if self.data == self.folder else str(self.data / name)
