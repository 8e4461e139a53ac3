"""Where a service's wrapping keys are: by default in the file `wrapping.key`; or on a token, or in a vault."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from gemel.common.keys.key_wrapper import (
    WRAPPING,
    KeyPlace,
    KeyWrapper,
    KeyWrappers,
    Name,
    TokenPlace,
    VaultPlace,
)
from gemel.common.keys.pkcs11_token import Pkcs11Token
from gemel.common.keys.pkcs11_wrapper import Pkcs11Wrapper
from gemel.common.keys.transit_wrapper import TransitWrapper
from gemel.common.keys.vault import Vault, WrappingKeys


class Pkcs11Configuration(TokenPlace):
    """Wrapping keys on a token of hardware."""

    keys: Annotated[tuple[Name, ...], Field(min_length=1, max_length=100)]
    """Labels of its AES keys, in the order they came into use; the last one wraps."""

    @property
    def wrapper(self) -> Pkcs11Wrapper:
        return Pkcs11Wrapper(Pkcs11Token(self, WRAPPING), self.keys)


class VaultConfiguration(VaultPlace):
    """Wrapping keys in the transit engine of a vault."""

    @property
    def wrapper(self) -> TransitWrapper:
        return TransitWrapper(self)


class WrappingConfiguration(KeyPlace[Pkcs11Configuration, VaultConfiguration]):
    """Where the wrapping keys are, if not in the file."""


def open_wrapper(configured: WrappingConfiguration | None, file: Path) -> KeyWrapper:
    """The wrapping keys of a service: the configured ones, or where none are configured those in the file
    ``wrapping.key``.

    Where a token or vault is configured, what the file's keys have wrapped is unwrapped by them as long as it is there;
    nothing is wrapped by them. Raises CONFIGURATION, VAULT or UNAVAILABLE if they cannot be used.
    """
    if configured is None:
        return WrappingKeys.load(file)
    wrapper = configured.chosen.wrapper.checked()
    return KeyWrappers([wrapper, WrappingKeys.load(file)]) if file.exists() else wrapper


def check_wrapping(configured: WrappingConfiguration | None, file: Path, vault: Vault) -> None:
    """Whether the wrapping keys can be used now and after a restart; parameters as `open_wrapper`. Raises as
    `open_wrapper`."""
    if configured is None:
        # They are in memory; what is checked is whether a restart could read them.
        WrappingKeys.load(file)
    else:
        vault.check()
