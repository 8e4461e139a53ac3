"""Configurations of those who call Carole by commands, ``coordinator.yaml``, ``steward.yaml`` and ``analyst.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ConfigDict

from gemel.common.configuration import Configuration, ConfiguredPath, ConsoleConfiguration, load_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity_configuration import IdentityConfiguration
from gemel.common.language import LanguageCode
from gemel.common.parties import Role
from gemel.common.pki.certificates import load_certificate, names_role, role_of
from gemel.common.pki.certified_names import CertifiedNames
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.list_pin import ListDigest, ListPin, pin_line
from gemel.party.configurations import Joined

_TEMPLATE = """\
# {heading}
version: 1
carole:
  address: "{address}"
keys: {keys}  # folder of its certificate and keys, as `gemel init` or `gemel party` makes it; for its eyes only
{pin}
{state}observability:
  share_request_ids: false   # whether a call's id crosses to Carole, where she agrees too
"""
_STATE = "state: {state}  # folder in which it keeps what it has seen of Carole's audit log\n"
_HEADINGS = {
    Role.COORDINATOR: "The linkage coordinator: drives projects at Carole, sees no signature and no record.",
    Role.STEWARD: "The data steward: reads reports on disclosure risk and decides on results that the policy holds; "
    "sees no record.",
    Role.ANALYST: "An analyst: receives columns of linked records that a specification grants it, sealed to its key by"
    " the custodians.",
}


class CaroleAddress(Configuration):
    address: str
    """host:port, as this coordinator reaches her."""


class ClientObservability(Configuration):
    share_request_ids: bool = False
    """Whether Carole receives the id of each call, where her configuration agrees to it too."""


class CoordinatorConfiguration(Configuration):
    version: Literal[1]
    carole: CaroleAddress
    keys: ConfiguredPath
    identity: IdentityConfiguration | None = None
    """Where the party's identity is, if not in the file ``identity.key`` in `keys`."""
    members_digest: ListDigest | None = None
    """Pins the membership list, as `gemel party accept` shows its digest; none: that in `keys` is taken as it is."""
    state: ConfiguredPath | None = None
    """Folder of `FileMemory`; that of the configuration file by default."""
    observability: ClientObservability = ClientObservability()
    console: ConsoleConfiguration = ConsoleConfiguration()
    """How `gemel console` is served."""
    language: LanguageCode = "en"
    """Of the reports that are written from what Carole sends, and of the console's pages, where the consoles have a
    catalogue of it; else they are English."""


def report_language(config: Path, given: LanguageCode | None) -> LanguageCode:
    """The language of a report: the one given, or that of the configuration; never the environment's."""
    return given or load_configuration(config, CoordinatorConfiguration).language


def template(
    address: str, *, keys: str = ".", state: str = ".", members_digest: str = "", role: Role = Role.COORDINATOR
) -> str:
    """A commented configuration for the Carole at `address`; folders are relative to it or absolute.

    `members_digest` is that of the membership list, in any grouping, where it is known already. An analyst reads no
    log, and has no `state`.
    """
    kept = "" if role is Role.ANALYST else _STATE.format(state=state)
    pin = pin_line(members_digest)
    return _TEMPLATE.format(heading=_HEADINGS[role], address=address, keys=keys, pin=pin, state=kept)


def configure(joined: Joined) -> str:
    place = joined.place
    return template(
        joined.membership.carole,
        keys="keys",
        state=place.below("."),
        members_digest=joined.members_digest,
        role=place.role,
    )


def complete(joined: Joined) -> str:
    """Make the folder of what it has seen of Carole's log, if that is elsewhere."""
    joined.place.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    return ""


ROLES = (Role.COORDINATOR, Role.STEWARD)


class KeysSection(Configuration):
    """Any party's configuration, as far as it is of its keys: who may not use a command is to read why."""

    model_config = ConfigDict(extra="ignore")

    keys: ConfiguredPath


def configured_role(config: Path, what: str) -> Role:
    role = _role(config)
    if role not in ROLES:
        raise GemelError(
            ErrorCode.NOT_ADMITTED,
            f"{what} is for coordinators and stewards",
            where=str(config),
            got=f"keys with the role {role}",
            remedy="name the configuration of a coordinator or of a steward with --config",
        )
    return role


def _role(config: Path) -> Role:
    folder = PartyFolder(load_configuration(config, KeysSection).keys)
    certificate = load_certificate(folder.certificate)
    if names_role(certificate):
        return role_of(certificate, str(folder.certificate))
    # A certificate of the organisation's own PKI names none: the list has whose names it is for.
    for member in ListPin(config.absolute()).load(folder.members):
        if isinstance(member.certificate, CertifiedNames) and member.certificate.are_in(certificate):
            return member.role
    return role_of(certificate, str(folder.certificate))
