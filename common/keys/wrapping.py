"""The file of wrapping keys, which encrypt the data keys of everything encrypted at rest (`key_wrapper`).

The file is text, of mode 0600, and belongs neither into the database's folder nor into its backups::

    gemel wrapping keys 1
    <identifier, 16 hexadecimal digits> <key, 64 hexadecimal digits>
    ...

The last line is the current key. To rotate: `rotate_wrapping_keys` adds a key, `Vault.rewrap` moves every wrapped key
to it, then `retire_wrapping_keys` drops the old ones.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.framing import frame
from gemel.common.keys.key_wrapper import KEY_BYTES, KEY_ID_BYTES, NONCE_BYTES
from gemel.common.keys.private_files import read_private, write_private

_HEADER = "gemel wrapping keys 1"
_LINE = re.compile(rf"([0-9a-f]{{{2 * KEY_ID_BYTES}}}) ([0-9a-f]{{{2 * KEY_BYTES}}})")


@dataclass(frozen=True)
class WrappingKeys:
    """Wrapping keys in the order they came into use; the last is the current one. A `KeyWrapper`.

    Raises
    ------
    GemelError
        VAULT if there is none, or one is not 32 bytes, or one is repeated.
    """

    _keys: tuple[bytes, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not self._keys or any(len(key) != KEY_BYTES for key in self._keys):
            raise GemelError(ErrorCode.VAULT, f"expected at least one wrapping key of {KEY_BYTES} bytes")
        if len(set(self._keys)) != len(self._keys):
            raise GemelError(ErrorCode.VAULT, "a wrapping key is repeated")

    @classmethod
    def create(cls) -> WrappingKeys:
        """One new key from the operating system's randomness."""
        return cls((secrets.token_bytes(KEY_BYTES),))

    @classmethod
    def load(cls, path: Path) -> WrappingKeys:
        """Read a file that only its owner may read.

        Raises
        ------
        GemelError
            CONFIGURATION if the file is missing, open to others or not of the form above.
        """
        lines = read_private(path, "the wrapping keys").decode("ascii", errors="replace").splitlines()
        keys = []
        for number, line in enumerate(lines, start=1):
            if number == 1:
                if line != _HEADER:
                    raise _malformed(path, number, f"the line '{_HEADER}'")
                continue
            match = _LINE.fullmatch(line)
            if match is None:
                raise _malformed(path, number, "an identifier and a key in hexadecimal digits")
            key = bytes.fromhex(match[2])
            if identifier_of(key).hex() != match[1]:
                raise _malformed(path, number, "a key that has the identifier beside it")
            keys.append(key)
        if not keys or len(set(keys)) != len(keys):
            raise _malformed(path, len(lines), "at least one key, and none twice")
        return cls(tuple(keys))

    def save(self, path: Path, *, replace: bool = False) -> None:
        """Write the file with mode 0600.

        Raises
        ------
        GemelError
            EXISTS if the file is there and `replace` is false; CONFIGURATION if it cannot be written.
        """
        lines = [_HEADER, *(f"{identifier_of(key).hex()} {key.hex()}" for key in self._keys)]
        write_private(path, "".join(f"{line}\n" for line in lines).encode("ascii"), replace=replace)

    @property
    def current_id(self) -> bytes:
        """The identifier of the current key; reveals nothing of the key."""
        return identifier_of(self._keys[-1])

    def knows(self, identifier: bytes) -> bool:
        """Whether the key with this identifier is here."""
        return self._find(identifier) is not None

    def wrap(self, key: bytes, associated: bytes) -> bytes:
        """A data key sealed under the current key."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + AESGCM(self._keys[-1]).encrypt(nonce, key, associated)

    def unwrap(self, identifier: bytes, sealed: bytes, associated: bytes) -> bytes | None:
        """The data key that `wrap` sealed; None if it was changed or belongs elsewhere."""
        found = self._find(identifier)
        if found is None:
            return None
        try:
            return AESGCM(found).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], associated)
        except InvalidTag:
            return None

    def rotated(self) -> WrappingKeys:
        """These keys, and a new one as the current."""
        return WrappingKeys((*self._keys, secrets.token_bytes(KEY_BYTES)))

    def retired(self) -> WrappingKeys:
        """The current key alone."""
        return WrappingKeys(self._keys[-1:])

    def _find(self, identifier: bytes) -> bytes | None:
        return next((key for key in self._keys if identifier_of(key) == identifier), None)


def identifier_of(key: bytes) -> bytes:
    """The identifier of a wrapping key: eight bytes of a hash of it."""
    return hashlib.sha256(frame(b"gemel wrapping key 1", key)).digest()[:KEY_ID_BYTES]


def rotate_wrapping_keys(path: Path) -> WrappingKeys:
    """Add a new current key to the file, keeping the others so that what they wrapped can be rewrapped."""
    keys = WrappingKeys.load(path).rotated()
    keys.save(path, replace=True)
    return keys


def retire_wrapping_keys(path: Path) -> WrappingKeys:
    """Drop every key but the current one. Data keys still wrapped by the others are lost: rewrap first."""
    keys = WrappingKeys.load(path).retired()
    keys.save(path, replace=True)
    return keys


def _malformed(path: Path, line: int, expected: str) -> GemelError:
    return GemelError(
        ErrorCode.CONFIGURATION,
        f"expected {expected}",
        where=f"{path}, line {line}",
        remedy="restore the file from its own backup; without it, data encrypted at rest cannot be read",
    )
