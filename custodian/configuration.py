"""A custodian's configuration file, for instance ``alice.yaml``: where everything is.

Nothing secret belongs in it: keys are files in the key folder, and the address of a database, which may hold a
password, is read from a file of mode 0600 or from an environment variable.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from gemel.common.audit.statements import MAX_ORIGIN
from gemel.common.configuration import (
    Address,
    Configuration,
    ConfiguredPath,
    ConsoleConfiguration,
    Size,
    hexadecimal,
    host_and_port,
    load_configuration,
    size_in_bytes,
)
from gemel.common.keys.epochs import MAX_EPOCHS
from gemel.common.keys.identity_configuration import IdentityConfiguration
from gemel.common.keys.wrapping_configuration import WrappingConfiguration
from gemel.common.language import LanguageCode
from gemel.common.observability.settings import Observability
from gemel.common.pki.list_pin import ListDigest
from gemel.common.specification.model.defaults import Mode
from gemel.records.sources import Source

MAX_KNOWN_FILES = 64
MAX_WAIT_SECONDS = 5.0
"""Carole holds a request for a task no longer than this."""


def _loopback(value: str) -> str:
    host = host_and_port(value).rpartition(":")[0]
    # By address, not by name: a file on the machine decides what `localhost` means.
    if not re.fullmatch(r"127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\]", host):
        raise ValueError("the operator's address must be a loopback address: 127.0.0.1:PORT or [::1]:PORT")
    return value


class CaroleAddress(Configuration):
    """Where Carole listens."""

    address: Address
    """host:port."""
    server_name: str | None = None
    """The name in her certificate, if it is not the host of the address."""


class Peer(Configuration):
    """The other custodian's identity, as confirmed by itself by telephone or letter; never taken from Carole."""

    identity: Annotated[str, hexadecimal(64)] | None = None
    """Its Ed25519 public key, 64 hexadecimal digits."""
    fingerprint: Annotated[str, hexadecimal(64)] | None = None
    """SHA-256 of that key as `gemel` shows it, in any grouping; the key itself is in the membership list."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.identity is None) == (self.fingerprint is None):
            raise ValueError("give either identity or fingerprint")
        return self


class OperatorAddress(Configuration):
    """The address at which this service answers its own operator."""

    address: Annotated[str, AfterValidator(_loopback)] = "127.0.0.1:0"
    """A loopback address; port 0 takes a free one, which `gemel` finds in the state folder."""


class Policy(Configuration):
    """What this custodian consents to without its operator's approval."""

    approve: tuple[Annotated[str, hexadecimal(64)], ...] = ()
    """Digests of specifications, as `gemel spec check` prints them."""
    modes: tuple[Mode, ...] = ("open", "block_keyed", "shared")
    """Modes in which that holds. Mode trusted sends the values themselves: unless it is named here, its specifications
    wait for the operator whatever is in `approve`."""

    max_epochs: Annotated[int, Field(ge=1, le=MAX_EPOCHS)] = MAX_EPOCHS
    """In how many epochs of a project this custodian takes part; its operator consents to each after the first."""

    def consents(self, digest: bytes, mode: str, epoch: int) -> bool:
        """Whether a specification is approved without the operator; never after the project's first epoch."""
        return epoch == 1 and mode in self.modes and digest.hex() in self.approve


class Polling(Configuration):
    """How often to poll Carole, and how soon to retry what failed."""

    wait_seconds: Annotated[float, Field(gt=0, le=MAX_WAIT_SECONDS, allow_inf_nan=False)] = MAX_WAIT_SECONDS
    retry_seconds: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = 5.0
    longest_retry_seconds: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] = 60.0


class LimitsConfiguration(Configuration):
    """How much the service may use."""

    memory: Size = "2GiB"
    """The most that its process may hold, with the interpreter and the libraries, while records are read and signed."""

    @property
    def memory_bytes(self) -> int:
        """`memory` as a number."""
        return size_in_bytes(self.memory)


class CustodianConfiguration(Configuration):
    """The whole configuration of a custodian's service."""

    carole: CaroleAddress
    keys: ConfiguredPath
    """Folder of this party's certificate and keys, as `gemel init` makes it."""
    wrapping: WrappingConfiguration | None = None
    """Where the wrapping keys are, if not in the file ``wrapping.key`` in `keys`."""
    identity: IdentityConfiguration | None = None
    """Where the identity is, if not in the file ``identity.key`` in `keys`."""
    members_digest: ListDigest | None = None
    """Pins the membership list, as `gemel party accept` shows its digest; none: that in `keys` is taken as it is."""
    state: ConfiguredPath
    """Folder of the service's state, encrypted where it is secret. Include it in the backups."""
    results: ConfiguredPath
    """Folder for this custodian's share of results."""
    source: Source
    origin: str = Field(default="", max_length=MAX_ORIGIN)
    """Where the records come from, in a line; stated to all parties with each approval, and in the audit log."""
    known_files: tuple[ConfiguredPath, ...] = Field(default=(), max_length=MAX_KNOWN_FILES)
    """Files that a specification's section `latent` names by their digest: training records, or a known joint
    distribution. CSV or Parquet; of the others only the digest is taken."""
    peer: Peer
    operator: OperatorAddress = OperatorAddress()
    policy: Policy = Policy()
    seed_file: ConfiguredPath | None = None
    """A seed exchanged by hand, in place of the agreement through Carole: 64 hexadecimal digits, mode 0600."""
    limits: LimitsConfiguration = LimitsConfiguration()
    poll: Polling = Polling()
    observability: Observability = Observability()
    console: ConsoleConfiguration = ConsoleConfiguration()
    """Where its console in a browser listens."""
    language: LanguageCode = "en"
    """Of its console's pages, where the consoles have a catalogue of it; else they are English."""


def load_custodian(path: Path) -> CustodianConfiguration:
    """Read a custodian's configuration; errors as `common.configuration.load_configuration`."""
    return load_configuration(path, CustodianConfiguration)
