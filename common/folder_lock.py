"""One process at a time in a folder: a lock on a file in it, released when the process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from gemel.common.errors import ErrorCode, GemelError


def lock_folder(folder: Path) -> int:
    """Lock a folder until the returned descriptor is closed.

    Raises
    ------
    GemelError
        BUSY if another process has the lock.
    """
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise GemelError(
            ErrorCode.BUSY,
            "another service is using this folder",
            where=str(folder),
            remedy="stop it, or give this one a folder of its own, and the database that belongs to it",
        ) from None
    return descriptor
