"""Files encrypted at rest in chunks of 1 MiB, each of which can be read alone.

A file exists whole or not at all: it is written under another name, synced, and renamed. Its key is kept elsewhere,
so destroying the key erases the file in every backup.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from gemel.common.durable import whole_file
from gemel.common.errors import ErrorCode, GemelError, code_of, file_error
from gemel.common.keys.vault import OVERHEAD_BYTES, DataKey
from gemel.common.wire.chunks import CHUNK_BYTES

_STORED_CHUNK = CHUNK_BYTES + OVERHEAD_BYTES


class EncryptedWriter:
    """Writes content in chunks, whatever its own parts are.

    Attributes
    ----------
    digests
        SHA-256 of every chunk in the clear, 32 bytes each; complete after `end`.
    """

    def __init__(self, file: BinaryIO, key: DataKey) -> None:
        self._file, self._key = file, key
        self._held = bytearray()
        self.digests: list[bytes] = []

    def write(self, part: bytes | memoryview) -> None:
        """Add a part of the content."""
        view = memoryview(part).cast("B")
        while view:
            room = CHUNK_BYTES - len(self._held)
            self._held += view[:room]
            view = view[room:]
            if len(self._held) == CHUNK_BYTES:
                self.end()

    def end(self) -> None:
        """Write what is left as the last chunk."""
        if self._held:
            chunk = bytes(self._held)
            self._file.write(self._key.encrypt(len(self.digests), chunk))
            self.digests.append(sha256(chunk).digest())
            self._held.clear()


@contextmanager
def encrypted_file(path: Path, key: DataKey) -> Iterator[EncryptedWriter]:
    """A file to write, which is there when the block ends, and not if it fails.

    Raises
    ------
    GemelError
        STORAGE_FULL if the disk is full, CONFIGURATION if it refuses otherwise; no file is left behind.
    """
    try:
        with whole_file(path) as file:
            writer = EncryptedWriter(file, key)
            yield writer
            writer.end()
    except OSError as error:
        raise file_error(
            code_of(error, ErrorCode.CONFIGURATION),
            "cannot be written",
            path,
            error,
            "check the state folder's permissions and the space left on its disk",
            inline=True,
        ) from None


def read_encrypted_chunk(path: Path, key: DataKey, index: int) -> bytes:
    """Read one chunk; `read_encrypted` names the errors."""
    try:
        with path.open("rb") as file:
            file.seek(index * _STORED_CHUNK)
            return key.decrypt(index, file.read(_STORED_CHUNK))
    except OSError as error:
        raise _unreadable(path, error) from None


def read_encrypted(path: Path, key: DataKey) -> Iterator[bytes]:
    """Read the file, chunk after chunk."""
    try:
        with path.open("rb") as file:
            index = 0
            while stored := file.read(_STORED_CHUNK):
                yield key.decrypt(index, stored)
                index += 1
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> GemelError:
    return file_error(
        ErrorCode.VAULT, "cannot be read", path, error, "restore the state folder from its backup", inline=True
    )
