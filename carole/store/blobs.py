"""Encrypted chunks as files: written under a temporary name, synced, renamed, and the folder synced.

A file's name is random and never used again, so an existing file is whole, and writing never changes one. The database
determines which files count; `sweep` removes the others, at a start and while others are written.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tryst.common.durable import sync_folder, whole_file
from tryst.common.errors import FULL, ErrorCode, TrystError, code_of, file_error
from tryst.common.folder_lock import lock_folder

IDENTITY = "identity"
"""The file in the folder with the name of the store that the folder belongs to."""

_MISPLACED = (
    "find out where it is: a volume that is not mounted or a mistyped path looks like this; the folder and the "
    "database of one store belong together"
)
_PAYLOAD = re.compile(r"[0-9a-f]{32}")


class Blobs:
    """A folder with one folder per payload, and in it one file per chunk.

    Attributes
    ----------
    place
        Of the locked folder, on this machine since it was started: two that are equal cannot both have the lock.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: int | None = None
        self.place = ""
        self._guard = threading.Lock()
        self._writing: Counter[str] = Counter()

    def create(self) -> None:
        """Make the folder, unless it exists.

        Raises
        ------
        TrystError
            CONFIGURATION.
        """
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            what = "the folder for blobs cannot be created"
            raise file_error(ErrorCode.CONFIGURATION, what, self._folder, error) from None

    def claim(self) -> None:
        """Lock the folder for the lifetime of this process.

        Raises
        ------
        TrystError
            BUSY if another process has it; DATABASE if there is no such folder.
        """
        try:
            self._lock = lock_folder(self._folder)
            held, boot = os.fstat(self._lock), Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        except OSError as error:
            what = "the folder of blobs cannot be used"
            raise file_error(ErrorCode.DATABASE, what, self._folder, error, _MISPLACED) from None
        self.place = hashlib.sha256(f"{boot}{held.st_dev}:{held.st_ino}".encode()).hexdigest()[:32]

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

    def require(self, store: str) -> None:
        """Refuse a folder of another store, or of none.

        Raises
        ------
        TrystError
            DATABASE.
        """
        found = self.identity()
        if found != store:
            raise TrystError(
                ErrorCode.DATABASE,
                "the folder of blobs does not belong to this database",
                where=str(self._folder),
                got=f"the store {found}, and the database is of {store}" if found else "a folder of no store",
                remedy=_MISPLACED,
            )

    def payloads(self) -> set[str]:
        """The payloads that have a folder."""
        return {path.name for path in self._folder.iterdir() if path.is_dir() and _PAYLOAD.fullmatch(path.name)}

    def require_known(self, known: Collection[str]) -> None:
        """Refuse a folder with a payload that the database has never heard of.

        A payload's row is committed before its folder is made, and stays when it is erased. So the database is an old
        copy, or of another store, and removing what it does not name would destroy what the right one names.

        Raises
        ------
        TrystError
            DATABASE.
        """
        unknown = sorted(self.payloads() - set(known))
        if unknown:
            raise TrystError(
                ErrorCode.DATABASE,
                "the database does not know all payloads in the folder of blobs: it is older, or another store's",
                where=str(self._folder),
                got=f"{len(unknown)} unknown, such as {unknown[0]}",
                remedy="give Carole the newest database; if it is lost for good, move the unknown folders elsewhere",
            )

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

    @contextmanager
    def writing(self, payload: str) -> Iterator[None]:
        """A block at whose end every file it wrote for a payload is named by a committed row, or removed.

        `sweep` leaves the payload alone until then.
        """
        with self._guard:
            self._writing[payload] += 1
        try:
            yield
        finally:
            with self._guard:
                self._writing[payload] -= 1
                if not self._writing[payload]:
                    del self._writing[payload]

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

    def sweep(self, stored: Callable[[], Mapping[str, Collection[str] | None]]) -> int:
        """Remove the files that no row names; returns how many.

        Parameters
        ----------
        stored
            Reads the database: by payload the files that are named, none of an erased one, and None for a payload that
            another process may be writing.

        Notes
        -----
        The order makes it safe beside writers: files are listed first, then it is looked which payloads are being
        written, then the database is read. A file of the list whose writer had ended by the second step was named, or
        removed, before the third; one that is written later is not in the list. A payload that the database does not
        know is left alone.
        """
        found = {payload: self._files(payload) for payload in self.payloads()}
        with self._guard:
            busy = set(self._writing)
        known = stored()
        removed = 0
        for payload, files in found.items():
            named = None if payload in busy else known.get(payload)
            if named is None:
                continue
            for file in files - set(named):
                self.remove(payload, file)
                removed += 1
            if not named:
                with suppress(OSError):  # a writer that came since
                    (self._folder / payload).rmdir()
        return removed

    def _files(self, payload: str) -> set[str]:
        try:
            return {file.name for file in (self._folder / payload).iterdir()}
        except FileNotFoundError:
            return set()
