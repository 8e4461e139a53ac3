"""Files that hold a secret: written whole or not at all, for their owner only, refused when others may read them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gemel.common.durable import whole_file
from gemel.common.errors import ErrorCode, GemelError, file_error

LIMIT = 64 * 1024
"""Longest file read here, in bytes. A key file is a few hundred; a wrong path may lead to anything."""

_FORBIDDEN = stat.S_IRWXG | stat.S_IRWXO


def write_private(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write `data` to `path` with mode 0600; after a crash the file exists whole or not at all. An existing file stays
    and is an error (EXISTS) unless it is to be replaced: overwriting a key loses what it protects."""
    try:
        with whole_file(path, replace=replace) as file:
            file.write(data)
    except FileExistsError:
        what = "the file exists already and is not overwritten"
        raise GemelError(ErrorCode.EXISTS, what, where=str(path), remedy="keep it, or move it away first") from None
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: Path, error: OSError) -> GemelError:
    """The error of a file that this user may not write, or not there."""
    remedy = "check that the folder exists and that this user may write there"
    return file_error(ErrorCode.CONFIGURATION, "cannot write this file", path, error, remedy)


def read_private(path: Path, content: str) -> bytes:
    """Read a file that holds a secret; `content` says what, for messages: ``"the Ed25519 identity"``. Raises
    CONFIGURATION if the file is missing, not a plain file, too long, another user's, or open to others."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        what, remedy = f"cannot read {content}", "check the path in the configuration"
        raise file_error(ErrorCode.CONFIGURATION, what, path, error, remedy) from None
    try:
        # The status of the open file, not of its name, which might lead elsewhere a moment later.
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _unfit(path, f"expected a file with {content}", "no plain file")
        mode = stat.S_IMODE(status.st_mode)
        if mode & _FORBIDDEN:
            remedy = f"run: chmod 600 '{path}'; if others had access to the machine, make a new key"
            raise _unfit(path, f"{content} is open to other users of this machine", f"mode {mode:04o}", remedy)
        if status.st_uid not in (os.geteuid(), 0):
            remedy = "run the service as the owner of its keys"
            raise _unfit(path, f"{content} belongs to another user", f"owner {status.st_uid}", remedy)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(LIMIT + 1)
    finally:
        os.close(descriptor)
    if len(data) > LIMIT:
        raise _unfit(path, f"expected {content}", f"more than {LIMIT} bytes")
    return data


def _unfit(path: Path, what: str, got: str, remedy: str = "") -> GemelError:
    return GemelError(ErrorCode.CONFIGURATION, what, where=str(path), got=got, remedy=remedy)
