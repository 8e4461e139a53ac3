"""What wraps data keys: a file of wrapping keys, a token of hardware, or a vault on the network.

Each of them seals 32 bytes by AES-256-GCM under a key that has an identifier of 8 bytes. So a wrapped key looks the
same wherever its wrapping key is, and moving from a file to hardware is a rotation: a new current key, `Vault.rewrap`,
and the old one retired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, Protocol, Self, TypeVar

from pydantic import Field, model_validator

from gemel.common.configuration import Configuration, ConfiguredPath
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.private_files import read_private

KEY_BYTES = 32
"""Of a data key, and of a wrapping key."""

KEY_ID_BYTES = 8
"""Of the identifier of a wrapping key, which reveals nothing of it."""

NONCE_BYTES = 12
TAG_BYTES = 16

SEALED_BYTES = NONCE_BYTES + KEY_BYTES + TAG_BYTES
"""Of a data key as a wrapper returns it: nonce, ciphertext, tag."""


class KeyWrapper(Protocol):
    """Wraps data keys under a current key, and unwraps those of every key it has."""

    @property
    def current_id(self) -> bytes:
        """The identifier of the key that wraps: `KEY_ID_BYTES`."""

    def knows(self, identifier: bytes) -> bool:
        """Whether the key with this identifier is here."""

    def wrap(self, key: bytes, associated: bytes) -> bytes:
        """A data key sealed under the current key, bound to `associated`: `SEALED_BYTES`. Raises VAULT if the wrapping
        key cannot be used; UNAVAILABLE if what has it does not answer."""

    def unwrap(self, identifier: bytes, sealed: bytes, associated: bytes) -> bytes | None:
        """The data key that `wrap` sealed under a known key; None if it was changed or belongs elsewhere. Raises as
        `wrap`."""


class KeyWrappers:
    """Several wrappers: the first wraps, each unwraps what is its own."""

    def __init__(self, wrappers: Sequence[KeyWrapper]) -> None:
        self._wrappers = tuple(wrappers)

    @property
    def current_id(self) -> bytes:
        return self._wrappers[0].current_id

    def knows(self, identifier: bytes) -> bool:
        return any(wrapper.knows(identifier) for wrapper in self._wrappers)

    def wrap(self, key: bytes, associated: bytes) -> bytes:
        return self._wrappers[0].wrap(key, associated)

    def unwrap(self, identifier: bytes, sealed: bytes, associated: bytes) -> bytes | None:
        for wrapper in self._wrappers:
            if wrapper.knows(identifier):
                return wrapper.unwrap(identifier, sealed, associated)
        return None


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


OnToken = TypeVar("OnToken", bound=TokenPlace)
InVault = TypeVar("InVault", bound=VaultPlace)


class KeyPlace(Configuration, Generic[OnToken, InVault]):
    """Where keys are, if not in the file."""

    pkcs11: OnToken | None = None
    vault: InVault | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.pkcs11 is None) == (self.vault is None):
            raise ValueError("expected either pkcs11 or vault")
        return self

    @property
    def chosen(self) -> OnToken | InVault:
        place = self.pkcs11 or self.vault
        assert place is not None  # noqa: S101 - the model has checked it
        return place


def unusable(what: str, where: str, got: str, remedy: str) -> GemelError:
    return GemelError(ErrorCode.VAULT, what, where=where, got=got, remedy=remedy)
