"""What wraps data keys: a file of wrapping keys, a token of hardware, or a vault on the network.

Each of them seals 32 bytes by AES-256-GCM under a key that has an identifier of 8 bytes. So a wrapped key looks the
same wherever its wrapping key is, and moving from a file to hardware is a rotation: a new current key, `Vault.rewrap`,
and the old one retired.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

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
        """A data key sealed under the current key, bound to `associated`: `SEALED_BYTES`.

        Raises
        ------
        GemelError
            VAULT if the wrapping key cannot be used; UNAVAILABLE if what has it does not answer.
        """

    def unwrap(self, identifier: bytes, sealed: bytes, associated: bytes) -> bytes | None:
        """The data key that `wrap` sealed under a known key; None if it was changed or belongs elsewhere.

        Raises
        ------
        GemelError
            As `wrap`.
        """


class KeyWrappers:
    """Several wrappers: the first wraps, each unwraps what is its own."""

    def __init__(self, wrappers: Sequence[KeyWrapper]) -> None:
        self._wrappers = tuple(wrappers)

    @property
    def current_id(self) -> bytes:
        """The identifier of the first wrapper's current key."""
        return self._wrappers[0].current_id

    def knows(self, identifier: bytes) -> bool:
        """Whether one of them has this key."""
        return any(wrapper.knows(identifier) for wrapper in self._wrappers)

    def wrap(self, key: bytes, associated: bytes) -> bytes:
        """As the first wrapper."""
        return self._wrappers[0].wrap(key, associated)

    def unwrap(self, identifier: bytes, sealed: bytes, associated: bytes) -> bytes | None:
        """As the wrapper that has this key."""
        for wrapper in self._wrappers:
            if wrapper.knows(identifier):
                return wrapper.unwrap(identifier, sealed, associated)
        return None
