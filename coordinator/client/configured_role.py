"""Whose configuration it is, where a command is for coordinators and stewards alike."""

from __future__ import annotations

from pathlib import Path

from pydantic import ConfigDict

from gemel.common.configuration import Configuration, ConfiguredPath, load_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.pki.certificates import load_certificate, names_role, role_of
from gemel.common.pki.certified_names import CertifiedNames
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.list_pin import ListPin

ROLES = (Role.COORDINATOR, Role.STEWARD)


class KeysSection(Configuration):
    """Any party's configuration, as far as it is of its keys: who may not use a command is to read why."""

    model_config = ConfigDict(extra="ignore")

    keys: ConfiguredPath


def configured_role(config: Path, what: str) -> Role:
    """The role of a configuration's member, coordinator or steward.

    Parameters
    ----------
    what
        Who asks, for the error.

    Raises
    ------
    GemelError
        CONFIGURATION or CERTIFICATE; NOT_ADMITTED for any other role.
    """
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
