"""Whose console it is: the member in whose folder the configuration is, with its connection to Carole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ConfigDict

from tryst.common.configuration import Configuration, ConfiguredPath, load_configuration
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.language import LanguageCode
from tryst.common.parties import Role
from tryst.common.pki.certificates import load_certificate, names_role, role_of
from tryst.common.pki.certified_names import CertifiedNames
from tryst.common.pki.folders import PartyFolder
from tryst.common.pki.list_pin import ListPin
from tryst.common.pki.reader import Reader
from tryst.coordinator.client.client_configuration import report_language
from tryst.coordinator.client.connection import Client, client
from tryst.coordinator.client.coordinator_client import Coordinator
from tryst.coordinator.client.steward_client import Steward

ROLES = (Role.COORDINATOR, Role.STEWARD)


class KeysSection(Configuration):
    """Any party's configuration, as far as it is of its keys: who has no console here is to read why."""

    model_config = ConfigDict(extra="ignore")

    keys: ConfiguredPath


@dataclass(frozen=True)
class Member:
    """The member that a console acts as.

    Attributes
    ----------
    role
        Coordinator or steward.
    name
        In the membership list.
    found
        Its keys, and its connection to Carole.
    language
        Of the reports, and of the console's own pages where the consoles have a catalogue of it.
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
        """Its calls as a coordinator, after Carole's log was verified to continue what the member has seen.

        Raises
        ------
        TrystError
            As `LogReader.check`.
        """
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
    """The member of a configuration, connected until the block ends. Nothing is sent yet.

    Raises
    ------
    TrystError
        CONFIGURATION or CERTIFICATE; NOT_ADMITTED for a member that is neither coordinator nor steward.
    """
    role = _role(config)
    if role not in ROLES:
        raise TrystError(
            ErrorCode.NOT_ADMITTED,
            "this console is for coordinators and stewards",
            where=str(config),
            got=f"the keys of a {role}",
            remedy="name the configuration of a coordinator or of a steward with --config",
        )
    with client(config, role, checked=False) as found:
        yield Member(role, found.name, found, report_language(config, None))


def _role(config: Path) -> Role:
    """The role that the certificate in a configuration's folder is for."""
    folder = PartyFolder(load_configuration(config, KeysSection).keys)
    certificate = load_certificate(folder.certificate)
    if names_role(certificate):
        return role_of(certificate, str(folder.certificate))
    # A certificate of the organisation's own PKI names none: the list has whose names it is for.
    for member in ListPin(config.absolute()).load(folder.members):
        if isinstance(member.certificate, CertifiedNames) and member.certificate.are_in(certificate):
            return member.role
    return role_of(certificate, str(folder.certificate))
