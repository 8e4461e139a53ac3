"""Files encrypted at rest in chunks of 1 MiB, each of which can be read alone.

A file exists whole or not at all: it is written under another name, synced, and renamed. Its key is kept elsewhere,
so destroying the key erases the file in every backup.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from tryst.common.durable import whole_file
from tryst.common.errors import ErrorCode, TrystError, code_of, file_error
from tryst.common.keys.vault import OVERHEAD_BYTES, DataKey
from tryst.common.wire.chunks import CHUNK_BYTES, rechunked

_STORED_CHUNK = CHUNK_BYTES + OVERHEAD_BYTES


def write_encrypted(path: Path, key: DataKey, content: Iterable[bytes | memoryview]) -> list[bytes]:
    """Write `content`, cut into chunks whatever its own parts are.

    Returns
    -------
    list of bytes
        SHA-256 of every chunk in the clear, 32 bytes each.

    Raises
    ------
    TrystError
        STORAGE_FULL if the disk is full, CONFIGURATION if it refuses otherwise; no file is left behind.
    """
    digests = []
    try:
        with whole_file(path) as file:
            for index, chunk in enumerate(rechunked(content)):
                digests.append(sha256(chunk).digest())
                file.write(key.encrypt(index, chunk))
    except OSError as error:
        raise file_error(
            code_of(error, ErrorCode.CONFIGURATION),
            "cannot be written",
            path,
            error,
            "check the state folder's permissions and the space left on its disk",
            inline=True,
        ) from None
    return digests


def read_encrypted_chunk(path: Path, key: DataKey, index: int) -> bytes:
    """Read one chunk; `read_encrypted` names the errors."""
    try:
        with path.open("rb") as file:
            file.seek(index * _STORED_CHUNK)
            return key.decrypt(index, file.read(_STORED_CHUNK))
    except OSError as error:
        raise _unreadable(path, error) from None


def read_encrypted(path: Path, key: DataKey) -> bytes:
    """Read the whole file.

    Raises
    ------
    TrystError
        VAULT if the file is missing, cannot be read, or was changed.
    """
    content = bytearray()
    try:
        with path.open("rb") as file:
            index = 0
            while stored := file.read(_STORED_CHUNK):
                content += key.decrypt(index, stored)
                index += 1
    except OSError as error:
        raise _unreadable(path, error) from None
    return bytes(content)


def _unreadable(path: Path, error: OSError) -> TrystError:
    return file_error(
        ErrorCode.VAULT, "cannot be read", path, error, "restore the state folder from its backup", inline=True
    )
