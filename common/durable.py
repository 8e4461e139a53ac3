"""Files that exist whole or not at all after a crash. Errors are `OSError`, for the caller to word."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path, *, mode: int = 0o600, replace: bool = True) -> Iterator[BinaryIO]:
    """A file to write, which gets its name when the block ends and is removed if the block fails.

    Parameters
    ----------
    path
        Its name.
    mode
        Permissions of the file, less the process's mask.
    replace
        Whether a file of this name is replaced.

    Raises
    ------
    FileExistsError
        If it is not, and there is one.
    """
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
