"""Files and folders that exist whole or not at all after a crash, a folder's lock, and a file that must stay in place.

Errors of writing are `OSError`, for the caller to word.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gemel.common.errors import ErrorCode, GemelError


@contextmanager
def whole_file(path: Path, *, mode: int = 0o600, replace: bool = True) -> Iterator[BinaryIO]:
    """A file to write, which gets its name when the block ends and is removed if the block fails. Its mode is less the
    process's mask. Raises FileExistsError if a file of this name exists and is not to be replaced."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replace:
            temporary.replace(path)
        else:
            # A hard link, unlike a rename, fails when the name is taken.
            path.hardlink_to(temporary)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to write files into, which get their names in `path` when the block ends, and are gone if it fails."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    temporary.mkdir()
    try:
        yield temporary
        if path.exists():
            for file in sorted(temporary.iterdir()):
                file.replace(path / file.name)
        else:
            temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    sync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """Write a file that a command was requested to write, whole or not at all: a signal leaves no half of it."""
    path = path.resolve()  # what a link names is written, and the link stays
    if path.exists() and not path.is_file():  # a device or a pipe
        path.write_text(text, encoding="utf-8")
        return
    with whole_file(path, mode=0o666) as file:
        file.write(text.encode())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last through a crash."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock_folder(folder: Path) -> int:
    """Lock a folder until the returned descriptor is closed. Raises BUSY if another process has the lock."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        what = "another service is using this folder"
        remedy = "stop it, or give this one a folder of its own, and the database that belongs to it"
        raise GemelError(ErrorCode.BUSY, what, where=str(folder), remedy=remedy) from None
    return descriptor


class StandingFile:
    """A file that a process keeps open and that must stay where it is, as it was when this was made.

    A program goes on writing to a file that has been renamed or removed, and all of it is lost with the end of the
    program. So the place of the file is compared with what was opened, before a write and after it. Raises OSError if
    it is missing.
    """

    def __init__(self, path: Path, what: str, remedy: str) -> None:
        self._path = path
        self._what = what
        self._remedy = remedy
        self._opened = self._present()

    def require(self) -> None:
        """Refuse to go on unless the file that was opened is still where it was."""
        try:
            moved = self._present() != self._opened
        except OSError:
            moved = True
        if moved:
            what = f"{self._what} has been removed, renamed or replaced while it was in use"
            raise GemelError(ErrorCode.DATABASE, what, where=self._path.name, remedy=self._remedy)

    def _present(self) -> tuple[int, int]:
        found = self._path.stat()
        return found.st_dev, found.st_ino
