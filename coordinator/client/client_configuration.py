"""Configurations of those who call Carole by commands, all of one form: where she is, and where their keys are.

They are ``coordinator.yaml``, ``steward.yaml`` and ``analyst.yaml``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from gemel.common.configuration import Configuration, ConfiguredPath, ConsoleConfiguration, load_configuration
from gemel.common.keys.identity_configuration import IdentityConfiguration
from gemel.common.language import LanguageCode
from gemel.common.pki.list_pin import ListDigest, pin_line

TEMPLATE = """\
# The linkage coordinator: drives projects at Carole, sees no signature and no record.
version: 1
carole:
  address: {address}
keys: {keys}  # folder of its certificate and keys, as `gemel init` or `gemel party` makes it; for its eyes only
{pin}
state: {state}  # folder in which it keeps what it has seen of Carole's audit log
observability:
  share_request_ids: false   # whether a call's id crosses to Carole, where she agrees too
"""


STEWARD_TEMPLATE = """\
# The data steward: reads reports on disclosure risk and decides on results that the policy holds; sees no record.
version: 1
carole:
  address: {address}
keys: {keys}  # folder of its certificate and keys, as `gemel init` or `gemel party` makes it; for its eyes only
{pin}
state: {state}  # folder in which it keeps what it has seen of Carole's audit log
observability:
  share_request_ids: false   # whether a call's id crosses to Carole, where she agrees too
"""


ANALYST_TEMPLATE = """\
# An analyst: receives columns of linked records that a specification grants it, sealed to its key by the custodians.
version: 1
carole:
  address: {address}
keys: {keys}  # folder of its certificate and keys, as `gemel init` or `gemel party` makes it; for its eyes only
{pin}
observability:
  share_request_ids: false   # whether a call's id crosses to Carole, where she agrees too
"""


class CaroleAddress(Configuration):
    """Where Carole listens."""

    address: str
    """host:port, as this coordinator reaches her."""


class ClientObservability(Configuration):
    """What others may know of this party's calls."""

    share_request_ids: bool = False
    """Whether Carole receives the id of each call, where her configuration agrees to it too."""


class CoordinatorConfiguration(Configuration):
    """All of ``coordinator.yaml``."""

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


def template(address: str, *, keys: str = ".", state: str = ".", members_digest: str = "") -> str:
    """A commented ``coordinator.yaml`` for the Carole at `address`; folders are relative to it or absolute.

    Parameters
    ----------
    members_digest
        Of the membership list, in any grouping, where it is known already.
    """
    return TEMPLATE.format(address=f'"{address}"', keys=keys, state=state, pin=pin_line(members_digest))


def steward_template(address: str, *, keys: str = ".", state: str = ".", members_digest: str = "") -> str:
    """A commented ``steward.yaml``, of the same form."""
    return STEWARD_TEMPLATE.format(address=f'"{address}"', keys=keys, state=state, pin=pin_line(members_digest))


def analyst_template(address: str, *, keys: str = ".", members_digest: str = "") -> str:
    """A commented ``analyst.yaml``, of the same form."""
    return ANALYST_TEMPLATE.format(address=f'"{address}"', keys=keys, pin=pin_line(members_digest))
