"""Encryption at rest: a random data key for each subject, wrapped by a key that is kept elsewhere.

A *subject* is what is encrypted: an upload, a run's result, a custodian's state. Its data key is random, encrypts its
chunks, and is stored only *wrapped*, that is encrypted by a wrapping key, which is outside the database and outside its
backups: in a file of mode 0600, a token of hardware or a vault (`key_wrapper`). So

- destroying the wrapped key erases the subject, in every copy of the chunks;
- rotation is a new wrapping key and a `rewrap` of the few bytes of each wrapped key: chunks stay as they are.

A chunk is ``nonce (12) | AES-256-GCM``, with subject and index as associated data: a chunk of another subject, or
from another place, does not decrypt. The nonce is the index and eight random bytes. The index alone would suffice for
chunks written once; a chunk written again with other content, after a crash, would then use a nonce twice.
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
from gemel.common.keys.key_wrapper import KEY_BYTES, KEY_ID_BYTES, NONCE_BYTES, SEALED_BYTES, KeyWrapper
from gemel.common.keys.private_files import read_private, write_private

OVERHEAD_BYTES = NONCE_BYTES + 16
"""How much longer an encrypted chunk is than its content."""

WRAPPED_BYTES = 1 + KEY_ID_BYTES + SEALED_BYTES

_VERSION = 1
_MAX_CHUNKS = 2**32


@dataclass(frozen=True)
class DataKey:
    """The key of one subject, in the clear: in memory only, never stored."""

    subject: str
    _key: bytes = field(repr=False)

    @classmethod
    def unkept(cls, subject: str) -> DataKey:
        """A new random key that no wrapped form is kept of: what it encrypts is lost with the process."""
        return cls(subject, secrets.token_bytes(KEY_BYTES))

    def __reduce__(self) -> tuple[object, ...]:
        # Nor in what is sent to another process, which unwraps it by a wrapping key of its own.
        raise GemelError(ErrorCode.VAULT, "a data key leaves its process wrapped only", where=self.subject)

    def apart(self, purpose: str) -> DataKey:
        """The same key for something else of the subject: what one encrypts the other does not decrypt."""
        return DataKey(f"{self.subject}, {purpose}", self._key)

    def encrypt(self, index: int, content: bytes) -> bytes:
        """Encrypt the chunk `index` of the subject; 28 bytes longer than `content`."""
        if not 0 <= index < _MAX_CHUNKS:
            what = "a chunk index must be between 0 and 2^32 - 1"
            raise GemelError(ErrorCode.VAULT, what, where=self.subject, got=str(index))
        nonce = index.to_bytes(4, "big") + secrets.token_bytes(NONCE_BYTES - 4)
        return nonce + AESGCM(self._key).encrypt(nonce, content, self._associated(index))

    def decrypt(self, index: int, encrypted: bytes | memoryview) -> bytes:
        """Decrypt the chunk `index`. Raises VAULT if the chunk was changed, or belongs to another subject or another
        index."""
        try:
            return AESGCM(self._key).decrypt(encrypted[:NONCE_BYTES], encrypted[NONCE_BYTES:], self._associated(index))
        except (InvalidTag, ValueError):
            what = f"chunk {index} does not decrypt"
            got = f"{len(encrypted)} bytes that were changed, or belong to another upload or place"
            remedy = "restore the file from its backup, or upload it again"
            raise GemelError(ErrorCode.VAULT, what, where=self.subject, got=got, remedy=remedy) from None

    def _associated(self, index: int) -> bytes:
        return frame(b"gemel vault chunk 1", self.subject.encode(), index.to_bytes(8, "big"))


class Vault:
    """Makes, wraps and unwraps data keys: the wrapper's current key wraps, every one of its keys unwraps."""

    def __init__(self, wrapper: KeyWrapper) -> None:
        self._wrapper = wrapper

    def create(self, subject: str) -> tuple[DataKey, bytes]:
        """A new random data key for `subject`, and its wrapped form (69 bytes) for storing."""
        key = secrets.token_bytes(KEY_BYTES)
        return DataKey(subject, key), self._wrap(subject, key)

    def unwrap(self, subject: str, wrapped: bytes) -> DataKey:
        """The data key of `subject` from its wrapped form. Raises VAULT if it was changed, is another subject's, or was
        wrapped by a key that is not here."""
        identifier = wrapped[1 : 1 + KEY_ID_BYTES]
        if len(wrapped) != WRAPPED_BYTES or wrapped[0] != _VERSION:
            what = f"a wrapped key of version {_VERSION} has {WRAPPED_BYTES} bytes"
            raise GemelError(ErrorCode.VAULT, what, where=subject, got=f"{len(wrapped)} bytes")
        if not self._wrapper.knows(identifier):
            what = "the wrapping key of this data key is not here"
            got = f"wrapping key {identifier.hex()}"
            remedy = "restore the file, token or vault of wrapping keys that was in use when this was stored"
            raise GemelError(ErrorCode.VAULT, what, where=subject, got=got, remedy=remedy)
        data_key = self._wrapper.unwrap(identifier, wrapped[1 + KEY_ID_BYTES :], _associated(subject, identifier))
        if data_key is None:
            got = "a wrapped key that was changed, or belongs to another subject"
            remedy = "restore the database from its backup, or upload again"
            raise GemelError(ErrorCode.VAULT, "the wrapped key does not unwrap", where=subject, got=got, remedy=remedy)
        return DataKey(subject, data_key)

    def rewrap(self, subject: str, wrapped: bytes) -> bytes:
        """Wrap a data key by the current wrapping key instead of the one it was wrapped by. Raises VAULT as
        `unwrap`."""
        return self._wrap(subject, self.unwrap(subject, wrapped)._key)

    def is_current(self, wrapped: bytes) -> bool:
        """Whether `wrapped` is under the current wrapping key, so that no `rewrap` is due."""
        return wrapped[1 : 1 + KEY_ID_BYTES] == self._wrapper.current_id

    def check(self) -> None:
        """Wrap and unwrap a data key, as everything at rest takes it. Raises VAULT or UNAVAILABLE, as `unwrap`."""
        self.unwrap("check", self.create("check")[1])

    def protect(self, subject: str, content: bytes) -> bytes:
        """Encrypt a small secret as a whole, its wrapped key in front: a waiting ephemeral key, a seed."""
        key, wrapped = self.create(subject)
        return wrapped + key.encrypt(0, content)

    def reveal(self, subject: str, protected: bytes) -> bytes:
        """The content that `protect` encrypted. Raises VAULT as `unwrap` and `DataKey.decrypt`."""
        return self.unwrap(subject, protected[:WRAPPED_BYTES]).decrypt(0, protected[WRAPPED_BYTES:])

    def _wrap(self, subject: str, key: bytes) -> bytes:
        identifier = self._wrapper.current_id
        return bytes([_VERSION]) + identifier + self._wrapper.wrap(key, _associated(subject, identifier))


def _associated(subject: str, identifier: bytes) -> bytes:
    return frame(b"gemel vault key 1", subject.encode(), identifier)


_HEADER = "gemel wrapping keys 1"
_LINE = re.compile(rf"([0-9a-f]{{{2 * KEY_ID_BYTES}}}) ([0-9a-f]{{{2 * KEY_BYTES}}})")


@dataclass(frozen=True)
class WrappingKeys:
    """Wrapping keys in the order they came into use; the last is the current one. A `KeyWrapper`. Raises VAULT if there
    is none, or one is not 32 bytes, or one is repeated."""

    _keys: tuple[bytes, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not self._keys or any(len(key) != KEY_BYTES for key in self._keys):
            raise GemelError(ErrorCode.VAULT, f"expected at least one wrapping key of {KEY_BYTES} bytes")
        if len(set(self._keys)) != len(self._keys):
            raise GemelError(ErrorCode.VAULT, "a wrapping key is repeated")

    @classmethod
    def create(cls) -> WrappingKeys:
        return cls((secrets.token_bytes(KEY_BYTES),))

    @classmethod
    def load(cls, path: Path) -> WrappingKeys:
        """Read a file that only its owner may read. Raises CONFIGURATION if the file is missing, open to others or not
        of the form above."""
        lines = read_private(path, "the wrapping keys").decode("ascii", errors="replace").splitlines()
        keys = []
        if lines and lines[0] != _HEADER:
            raise _malformed(path, 1, f"the line '{_HEADER}'")
        for number, line in enumerate(lines[1:], start=2):
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
        """Write the file with mode 0600. Raises EXISTS if the file is there and `replace` is false; CONFIGURATION if it
        cannot be written."""
        lines = [_HEADER, *(f"{identifier_of(key).hex()} {key.hex()}" for key in self._keys)]
        write_private(path, "".join(f"{line}\n" for line in lines).encode("ascii"), replace=replace)

    @property
    def current_id(self) -> bytes:
        """The identifier of the current key; reveals nothing of the key."""
        return identifier_of(self._keys[-1])

    def knows(self, identifier: bytes) -> bool:
        return self._find(identifier) is not None

    def wrap(self, key: bytes, associated: bytes) -> bytes:
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
        """These keys, and a new one as the current: what the others have wrapped can be rewrapped."""
        return WrappingKeys((*self._keys, secrets.token_bytes(KEY_BYTES)))

    def retired(self) -> WrappingKeys:
        """The current key alone. Data keys still wrapped by the others are lost: rewrap first."""
        return WrappingKeys(self._keys[-1:])

    def _find(self, identifier: bytes) -> bytes | None:
        return next((key for key in self._keys if identifier_of(key) == identifier), None)


def identifier_of(key: bytes) -> bytes:
    """The identifier of a wrapping key: eight bytes of a hash of it."""
    return hashlib.sha256(frame(b"gemel wrapping key 1", key)).digest()[:KEY_ID_BYTES]


def _malformed(path: Path, line: int, expected: str) -> GemelError:
    remedy = "restore the file from its own backup; without it, data encrypted at rest cannot be read"
    return GemelError(ErrorCode.CONFIGURATION, f"expected {expected}", where=f"{path}, line {line}", remedy=remedy)
