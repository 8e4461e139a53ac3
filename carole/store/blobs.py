"""Encrypted chunks as files: written under a temporary name, synced, renamed, and the folder synced.

A file's name is random and never used again, so an existing file is whole, and writing never changes one. The database
determines which files count; `sweep` removes the others at a start, when nothing is being written.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Collection
from pathlib import Path

from tryst.common.durable import sync_folder, whole_file
from tryst.common.errors import FULL, ErrorCode, code_of, file_error
from tryst.common.folder_lock import lock_folder


class Blobs:
    """A folder with one folder per payload, and in it one file per chunk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: int | None = None
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise file_error(ErrorCode.CONFIGURATION, "the folder for blobs cannot be created", folder, error) from None

    def claim(self) -> None:
        """Lock the folder for the lifetime of this process.

        Raises
        ------
        TrystError
            BUSY if another process has it.
        """
        self._lock = lock_folder(self._folder)

    def release(self) -> None:
        """Unlock the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def write(self, payload: str, content: bytes) -> str:
        """Write one chunk; when the name is returned, the chunk is on the disk.

        Raises
        ------
        TrystError
            STORAGE_FULL if the disk is full, DATABASE if it refuses otherwise; no file is then left.
        """
        folder = self._folder / payload
        name = secrets.token_hex(16)
        try:
            if not folder.is_dir():
                folder.mkdir(mode=0o700, exist_ok=True)
                sync_folder(self._folder)
            with whole_file(folder / name) as file:
                file.write(content)
        except OSError as error:
            full = error.errno in FULL
            raise file_error(
                code_of(error, ErrorCode.DATABASE),
                "a chunk cannot be stored",
                self._folder,
                error,
                "make room on this disk; nothing was lost" if full else "check that the service may write there",
            ) from None
        return name

    def read(self, payload: str, name: str) -> bytes:
        """Read one chunk.

        Raises
        ------
        TrystError
            VAULT if the file is missing.
        """
        try:
            return (self._folder / payload / name).read_bytes()
        except OSError as error:
            raise file_error(
                ErrorCode.VAULT,
                "a stored chunk cannot be read",
                self._folder,
                error,
                "restore the folder of blobs from the backup that belongs to the database, or upload again",
            ) from None

    def remove(self, payload: str, name: str | None = None) -> None:
        """Remove one chunk, or all of a payload. Missing files are no error."""
        if name is not None:
            (self._folder / payload / name).unlink(missing_ok=True)
        else:
            shutil.rmtree(self._folder / payload, ignore_errors=True)

    def sweep(self, named: Collection[tuple[str, str]]) -> int:
        """Remove every file that is not among `named`, pairs of payload and file; returns how many."""
        removed = 0
        payloads = {payload for payload, _ in named}
        for folder in self._folder.iterdir():
            if not folder.is_dir():
                continue
            for file in folder.iterdir():
                if (folder.name, file.name) not in named:
                    file.unlink()
                    removed += 1
            if folder.name not in payloads:
                folder.rmdir()
        return removed
