"""Where a key is that never leaves its place, in a service's configuration: a token of hardware, or a vault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from gemel.common.configuration import Configuration, ConfiguredPath
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.private_files import read_private

Name = Annotated[str, Field(min_length=1, max_length=64)]


@dataclass(frozen=True)
class KeyUse:
    """What a key in such a place is for, in messages."""

    keys: str
    section: str
    command: str


WRAPPING = KeyUse("wrapping keys", "wrapping", "gemel party wrapping-key")
IDENTITY = KeyUse("identity", "identity", "gemel party identity")


class TokenPlace(Configuration):
    """A token of hardware."""

    module: ConfiguredPath
    """The vendor's PKCS#11 library."""
    token: Name
    """The token's label."""
    pin_file: ConfiguredPath
    """The PIN of the token's user, in a file of mode 0600."""

    @property
    def pin(self) -> str:
        """The PIN, read now."""
        return read_private(self.pin_file, "the token's PIN").decode("utf-8", "replace").strip()


class VaultPlace(Configuration):
    """A key in the transit engine of a vault."""

    address: Annotated[str, Field(pattern=r"^https://[^\s/?#@]+$")]
    """``https://host:port``."""
    key: Name
    """The key's name."""
    token_file: ConfiguredPath
    """The vault's token, in a file of mode 0600; an agent may renew it while the service runs."""
    authorities: ConfiguredPath | None = None
    """Certificates that the vault's own must be issued by; by default those of the machine."""
    mount: Name = "transit"
    """Where the engine is mounted."""
    namespace: Name | None = None
    """Of the vault, where it has several."""


def unusable(what: str, where: str, got: str, remedy: str) -> GemelError:
    """A key that cannot be used."""
    return GemelError(ErrorCode.VAULT, what, where=where, got=got, remedy=remedy)


def not_configured(use: KeyUse) -> GemelError:
    """The error where a key is to be made and no place is configured."""
    return GemelError(
        ErrorCode.CONFIGURATION,
        "no token and no vault is configured",
        where=use.section,
        remedy=f"add `{use.section}` to the configuration, or use the file that `gemel init` has made",
    )
