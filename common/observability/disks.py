"""Whether a folder can be written to, and how much room its disk has."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from gemel.common.errors import ErrorCode, file_error

_PROBE_BYTES = 1 << 16


def check_writable(folder: Path, what: str) -> None:
    """Refuse a folder that cannot be written to now; no file is left in it.

    Parameters
    ----------
    what
        The folder, for the error.

    Raises
    ------
    GemelError
        DATABASE.
    """
    # A file without a name: nothing is left of it, whatever happens.
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise file_error(
            ErrorCode.DATABASE,
            f"{what} cannot be written to",
            folder,
            error,
            "check that the disk is mounted and has free space, and that the service may write there",
        ) from None


class Usage(NamedTuple):
    """Bytes of a disk."""

    free: int
    total: int


def disk_usage(folder: Path) -> Usage | None:
    """Bytes of the disk that a folder is on; None if it cannot be reached, which its check reports."""
    try:
        found = shutil.disk_usage(folder)
    except OSError:
        return None
    return Usage(found.free, found.total)
