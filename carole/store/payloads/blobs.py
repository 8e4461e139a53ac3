"""Encrypted chunks as files: in a folder, or as objects of a store such as S3.

A file's name is random and never used again, so a file that exists is whole, and writing never changes one. The
database determines which files count; `sweep` removes the others, at a start and while others are written.

No place is ever listed as a whole. A payload's identifier begins with its number, which the database counts: what an
old copy of the database does not know therefore comes after all that it knows (`require_known`), and a sweep lists the
payloads that the database names to it.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gemel.carole.bucket import Bucket
from gemel.carole.store.payloads.blob_bucket import BlobBucket
from gemel.common.durable import lock_folder, sync_folder, whole_file
from gemel.common.errors import FULL, ErrorCode, GemelError, code_of, file_error
from gemel.serving.machine_check import check_writable

# Blobs in a folder: a folder for each payload, in it its files, written under a temporary name, synced and renamed.

IDENTITY = "identity"
"""The file with the name of the store that the folder belongs to."""

_ATTEMPTS = 10


class BlobFolder:
    """A place of blobs, as `BlobBucket` is another; this machine's lock on it proves that who had it before is dead.

    What a method raises is clear to Carole's operator, and names no credential.
    """

    name = "the folder of blobs"

    def __init__(self, folder: Path) -> None:
        self.folder: Path | None = folder
        self.where = str(folder)
        self._folder = folder
        self._lock: int | None = None

    def create(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            what = "the folder for blobs cannot be created"
            raise file_error(ErrorCode.CONFIGURATION, what, self._folder, error) from None

    def claim(self) -> str:
        """Lock the folder for the lifetime of this process; the same token for the same folder until a reboot.

        Raises BUSY if another process has it; DATABASE if there is no such folder.
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
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def identity(self) -> str | None:
        try:
            return (self._folder / IDENTITY).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None

    def identify(self, store: str) -> None:
        with whole_file(self._folder / IDENTITY) as file:
            file.write(f"{store}\n".encode())

    def payloads(self, after: str) -> Iterator[str]:
        """Every payload that has a folder, whatever its number: these are few."""
        if not self._folder.exists():
            return iter(())
        return (path.name for path in self._folder.iterdir() if path.is_dir())

    def files(self, payload: str) -> set[str]:
        try:
            return {file.name for file in (self._folder / payload).iterdir()}
        except FileNotFoundError:
            return set()

    def put(self, payload: str, file: str, content: bytes) -> None:
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
            what = "a chunk cannot be stored"
            remedy = "make room on this disk; nothing was lost" if full else "check that the service may write there"
            raise file_error(code_of(error, ErrorCode.DATABASE), what, self._folder, error, remedy) from None

    def get(self, payload: str, file: str, start: int, length: int | None) -> bytes:
        try:
            with (self._folder / payload / file).open("rb") as opened:
                opened.seek(start)
                return opened.read() if length is None else opened.read(length)
        except OSError as error:
            remedy = "restore the folder of blobs from the backup that belongs to the database, or upload again"
            raise file_error(ErrorCode.VAULT, "a stored chunk cannot be read", self._folder, error, remedy) from None

    def remove(self, payload: str, files: Collection[str]) -> None:
        for file in files:
            (self._folder / payload / file).unlink(missing_ok=True)

    def remove_empty(self, payload: str) -> None:
        with suppress(OSError):  # files, or a writer that came since
            (self._folder / payload).rmdir()

    def remove_all(self, payload: str) -> None:
        shutil.rmtree(self._folder / payload, ignore_errors=True)

    def check(self) -> None:
        check_writable(self._folder, self.name)


_MISPLACED = (
    "find out where it is: a volume that is not mounted or a mistyped path looks like this; blobs and database of one "
    "store belong together"
)
_PAYLOAD = re.compile(r"[0-9a-f]{32}")
_NUMBER_DIGITS = 12


@dataclass(frozen=True)
class SweptFiles:
    """What a sweep removed, and the payloads that it looked at and no writer of this process had."""

    removed: int
    seen: set[str]


class Blobs:
    """The files of a store. `place`: of a claimed place: two that are equal cannot both have it.

    `put`: puts a file back that a backup has; errors as `write`.
    """

    def __init__(self, at: Path | Bucket) -> None:
        self._at: BlobFolder | BlobBucket = BlobFolder(at) if isinstance(at, Path) else BlobBucket(at)
        self.folder = self._at.folder
        self.create, self.identity, self.identify = self._at.create, self._at.identity, self._at.identify
        self.release, self.check, self.put = self._at.release, self._at.check, self._at.put
        self.place = ""
        self._guard = threading.Lock()
        self._writing: Counter[str] = Counter()

    def claim(self) -> None:
        """Have the place for the lifetime of this process, as far as the place can tell (see `tenure`).

        Raises BUSY if another process has it; DATABASE if there is no such place.
        """
        self.place = self._at.claim()

    def require(self, store: str) -> None:
        """Refuse the blobs of another store, or of none. Raises DATABASE."""
        found = self.identity()
        if found != store:
            what = f"{self._at.name} does not belong to this database"
            got = f"the store {found}, and the database is of {store}" if found else "those of no store"
            raise GemelError(ErrorCode.DATABASE, what, where=self._at.where, got=got, remedy=_MISPLACED)

    def require_known(self, known: Collection[str], newest: int) -> None:
        """Refuse blobs with a payload that the database has never heard of.

        A payload's row is committed before its first file is written, and stays when it is erased. So the database is
        an old copy, or of another store, and removing what it does not name would destroy what the right one names.
        """
        unknown = sorted(set(self._payloads(f"{newest:0{_NUMBER_DIGITS}x}g")) - set(known))
        if unknown:
            what = f"the database does not know all payloads in {self._at.name}: it is older, or another store's"
            got = f"{len(unknown)} unknown, such as {unknown[0]}"
            remedy = "give Carole the newest database; if it is lost for good, move the unknown payloads elsewhere"
            raise GemelError(ErrorCode.DATABASE, what, where=self._at.where, got=got, remedy=remedy)

    def is_unused(self, ours: Collection[str] = ()) -> bool:
        """Whether it has no identity, and no payload that is not ours."""
        return self.identity() is None and all(payload in ours for payload in self._payloads(""))

    def write(self, payload: str, content: bytes) -> str:
        """Write one file under a new name; when that is returned, the file outlasts a crash.

        Raises STORAGE_FULL if there is no room, DATABASE if it is refused otherwise; what is left then, a sweep
        removes.
        """
        name = secrets.token_hex(16)
        self._at.put(payload, name, content)
        return name

    def read(self, payload: str, file: str, start: int = 0, length: int | None = None) -> bytes:
        """Read bytes of a file, all of them by default; fewer than `length` where it ends before.

        Raises VAULT if the file is missing; DATABASE where it cannot be reached now.
        """
        return self._at.get(payload, file, start, length)

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

    def remove(self, payload: str, files: Collection[str] | None = None) -> None:
        """Remove files, or all of a payload. Missing files are no error."""
        if files is None:
            self._at.remove_all(payload)
        elif files:
            self._at.remove(payload, files)

    def sweep(self, payloads: Iterable[str], stored: Callable[[], Mapping[str, Collection[str] | None]]) -> SweptFiles:
        """Remove the files of payloads that no row names.

        `payloads`: where such files may be. `stored`: reads the database: by payload the files that are named, none of
        an erased one, and None for a payload that another process may be writing. The order makes it safe beside
        writers: files are listed first, then it is looked which payloads are being written, then the database is read.
        A file of the list whose writer had ended by the second step was named, or removed, before the third; one that
        is written later is not in the list. A payload that the database does not know is left alone.
        """
        found = {payload: self._at.files(payload) for payload in payloads}
        with self._guard:
            busy = set(self._writing)
        known = stored()
        removed, seen = 0, set()
        for payload, files in found.items():
            named = None if payload in busy else known.get(payload)
            if named is None:
                continue
            unnamed = files - set(named)
            self.remove(payload, unnamed)
            if not named:
                self._at.remove_empty(payload)  # a writer that came since makes it again
            removed += len(unnamed)
            seen.add(payload)
        return SweptFiles(removed, seen)

    def _payloads(self, after: str) -> Iterator[str]:
        return (found for found in self._at.payloads(after) if _PAYLOAD.fullmatch(found))


def new_payload(number: int) -> str:
    """The identifier of a new payload: its number, and chance."""
    return f"{number:0{_NUMBER_DIGITS}x}{secrets.token_hex(16 - _NUMBER_DIGITS // 2)}"
