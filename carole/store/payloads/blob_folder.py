"""Blobs in a folder: a folder for each payload, in it its files, written under a temporary name, synced and renamed."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from gemel.common.durable import lock_folder, sync_folder, whole_file
from gemel.common.errors import FULL, ErrorCode, code_of, file_error
from gemel.common.observability.machine_check import check_writable

IDENTITY = "identity"
"""The file with the name of the store that the folder belongs to."""

_ATTEMPTS = 10


class BlobFolder:
    """A place of blobs, as `blobs.BlobPlace`; this machine's lock on it proves that who had it before is dead."""

    name = "the folder of blobs"

    def __init__(self, folder: Path) -> None:
        self.folder: Path | None = folder
        self.where = str(folder)
        self._folder = folder
        self._lock: int | None = None

    def create(self) -> None:
        """Make the folder, unless it exists; CONFIGURATION if it cannot be made."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            what = "the folder for blobs cannot be created"
            raise file_error(ErrorCode.CONFIGURATION, what, self._folder, error) from None

    def claim(self) -> str:
        """Lock the folder for the lifetime of this process; the same token for the same folder until a reboot.

        Raises
        ------
        GemelError
            BUSY if another process has it; DATABASE if there is no such folder.
        """
        try:
            self._lock = lock_folder(self._folder)
            held, boot = os.fstat(self._lock), Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        except OSError as error:
            remedy = "find out where it is: a volume that is not mounted or a mistyped path looks like this"
            what = "the folder of blobs cannot be used"
            raise file_error(ErrorCode.DATABASE, what, self._folder, error, remedy) from None
        return hashlib.sha256(f"{boot}{held.st_dev}:{held.st_ino}".encode()).hexdigest()[:32]

    def release(self) -> None:
        """Unlock the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def identity(self) -> str | None:
        """The store that the folder belongs to; None if it belongs to none."""
        try:
            return (self._folder / IDENTITY).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None

    def identify(self, store: str) -> None:
        """Record the store that the folder belongs to."""
        with whole_file(self._folder / IDENTITY) as file:
            file.write(f"{store}\n".encode())

    def payloads(self, after: str) -> Iterator[str]:
        """Every payload that has a folder, whatever its number: these are few."""
        if not self._folder.exists():
            return iter(())
        return (path.name for path in self._folder.iterdir() if path.is_dir())

    def files(self, payload: str) -> set[str]:
        """The files of a payload."""
        try:
            return {file.name for file in (self._folder / payload).iterdir()}
        except FileNotFoundError:
            return set()

    def put(self, payload: str, file: str, content: bytes) -> None:
        """Write a file; STORAGE_FULL if the disk is full, DATABASE if it refuses otherwise."""
        folder = self._folder / payload
        try:
            for attempt in range(_ATTEMPTS):
                if not folder.is_dir():
                    folder.mkdir(mode=0o700, exist_ok=True)
                    sync_folder(self._folder)
                try:
                    with whole_file(folder / file) as opened:
                        opened.write(content)
                except FileNotFoundError:
                    # A sweep beside it has found the folder empty, and removed it: it is made again.
                    if attempt == _ATTEMPTS - 1:
                        raise
                else:
                    return
        except OSError as error:
            full = error.errno in FULL
            raise file_error(
                code_of(error, ErrorCode.DATABASE),
                "a chunk cannot be stored",
                self._folder,
                error,
                "make room on this disk; nothing was lost" if full else "check that the service may write there",
            ) from None

    def get(self, payload: str, file: str, start: int, length: int | None) -> bytes:
        """Bytes of a file; VAULT if it is missing."""
        try:
            with (self._folder / payload / file).open("rb") as opened:
                opened.seek(start)
                return opened.read() if length is None else opened.read(length)
        except OSError as error:
            raise file_error(
                ErrorCode.VAULT,
                "a stored chunk cannot be read",
                self._folder,
                error,
                "restore the folder of blobs from the backup that belongs to the database, or upload again",
            ) from None

    def remove(self, payload: str, files: Collection[str]) -> None:
        """Remove files of a payload."""
        for file in files:
            (self._folder / payload / file).unlink(missing_ok=True)

    def remove_empty(self, payload: str) -> None:
        """Remove a payload's folder if it is empty."""
        with suppress(OSError):  # files, or a writer that came since
            (self._folder / payload).rmdir()

    def remove_all(self, payload: str) -> None:
        """Remove a payload's folder."""
        shutil.rmtree(self._folder / payload, ignore_errors=True)

    def check(self) -> None:
        """Refuse a folder that cannot be written to now; DATABASE."""
        check_writable(self._folder, self.name)
