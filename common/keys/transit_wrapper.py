"""Wrapping keys in a vault on the network.

The versions of a key there are wrapping keys of their own, with an identifier each: `vault write -f
transit/keys/NAME/rotate` makes a new one, which counts from the next start on.
"""

from __future__ import annotations

import hashlib

from gemel.common.keys.framing import frame
from gemel.common.keys.key_wrapper import KEY_BYTES, KEY_ID_BYTES, SEALED_BYTES, WRAPPING, VaultPlace
from gemel.common.keys.transit_engine import TransitEngine, decoded, encoded

KIND = "aes256-gcm96"

MAX_VERSIONS = 100_000
"""Of a key: more is no answer of a vault."""


class TransitWrapper:
    """A `KeyWrapper` in a vault, once it is `checked`."""

    def __init__(self, place: VaultPlace) -> None:
        self._engine = TransitEngine(place, WRAPPING)
        self._place = place
        self._versions: dict[bytes, int] = {}
        self._current = 0
        self.current_id = b""

    def checked(self) -> TransitWrapper:
        """Itself, with the key looked at and its versions known. Raises as `TransitEngine.key`."""
        latest = self._engine.key(KIND).get("latest_version")
        if not isinstance(latest, int) or not 1 <= latest <= MAX_VERSIONS:
            raise self._engine.misread("another number of the newest version")
        self._current = latest
        self._versions = {_identifier(self._place, version): version for version in range(1, self._current + 1)}
        self.current_id = _identifier(self._place, self._current)
        return self

    def knows(self, identifier: bytes) -> bool:
        return identifier in self._versions

    def wrap(self, key: bytes, associated: bytes) -> bytes:
        made = self._engine.request(
            "encrypt_data", plaintext=encoded(key), associated_data=encoded(associated), key_version=self._current
        )
        sealed = _sealed(str(made.get("ciphertext")), self._current)
        if sealed is None:
            raise self._engine.misread("another ciphertext")
        return sealed

    def unwrap(self, identifier: bytes, sealed: bytes, associated: bytes) -> bytes | None:
        """The data key that `wrap` sealed; None if it was changed or belongs elsewhere."""
        ciphertext = f"vault:v{self._versions[identifier]}:{encoded(sealed)}"
        found = self._engine.request(
            "decrypt_data", refused=True, ciphertext=ciphertext, associated_data=encoded(associated)
        )
        if found is None:
            return None
        key = decoded(str(found.get("plaintext")))
        if len(key) != KEY_BYTES:
            raise self._engine.misread("no key of the length of a data key")
        return key

    def create(self) -> None:
        self._engine.create(KIND)


def _identifier(place: VaultPlace, version: int) -> bytes:
    """Of a version, from names and not from the address, which may change."""
    parts = (b"gemel transit key 1", (place.namespace or "").encode(), place.mount.encode(), place.key.encode())
    return hashlib.sha256(frame(*parts, str(version).encode())).digest()[:KEY_ID_BYTES]


def _sealed(ciphertext: str, version: int) -> bytes | None:
    """The bytes of ``vault:v1:...``: nonce, ciphertext and tag, as everywhere else."""
    prefix = f"vault:v{version}:"
    sealed = decoded(ciphertext.removeprefix(prefix)) if ciphertext.startswith(prefix) else b""
    return sealed if len(sealed) == SEALED_BYTES else None
