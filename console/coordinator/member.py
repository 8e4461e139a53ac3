"""Whose console it is: the member in whose folder the configuration is, with its connection to Carole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gemel.common.language import LanguageCode
from gemel.common.parties import Role
from gemel.common.pki.reader import Reader
from gemel.coordinator.client.client_configuration import configured_role, report_language
from gemel.coordinator.client.connection import Client, client
from gemel.coordinator.client.coordinator_client import Coordinator
from gemel.coordinator.client.steward_client import Steward


@dataclass(frozen=True)
class Member:
    """The member, coordinator or steward, that a console acts as, by its name in the membership list.

    `found` are its keys and its connection to Carole; `language` is of the reports, and of the console's own pages
    where the consoles have a catalogue of it.
    """

    role: Role
    name: str
    found: Client
    language: LanguageCode = "en"

    @property
    def coordinators(self) -> list[str]:
        """The names of all coordinators in the membership list."""
        return [each.name for each in self.found.members.with_role(Role.COORDINATOR)]

    def coordinator(self) -> Coordinator:
        """Its calls as a coordinator, after Carole's log was verified to continue what the member has seen."""
        self.found.log.check()
        return self.unchecked_coordinator()

    def unchecked_coordinator(self) -> Coordinator:
        """The same without verifying the log: for what is shown between two pages."""
        reader = Reader.load(self.found.folder, Role.COORDINATOR, self.found.members)
        return Coordinator(self.found.connection, self.found.identity, reader, self.found.released)

    def steward(self) -> Steward:
        """Its calls as a steward; errors as `coordinator`."""
        self.found.log.check()
        return self.unchecked_steward()

    def unchecked_steward(self) -> Steward:
        """The same without verifying the log: for a decision on one that was restored."""
        return Steward(self.found.connection, self.found.identity, self.found.linker, self.found.released)


@contextmanager
def member_of(config: Path) -> Iterator[Member]:
    """The member of a configuration, connected until the block ends; nothing is sent yet. NOT_ADMITTED for a member
    that is neither coordinator nor steward.
    """
    role = configured_role(config, "this console")
    with client(config, role, checked=False) as found:
        yield Member(role, found.name, found, report_language(config, None))
