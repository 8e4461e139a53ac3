"""What a service's configuration may use, compared with what its machine has."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gemel.common.errors import ErrorCode, GemelError, file_error

_PROBE_BYTES = 1 << 16


def check_writable(folder: Path, what: str) -> None:
    """Refuse (DATABASE) a folder that cannot be written to now; no file is left in it."""
    # A file without a name: nothing is left of it, whatever happens.
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        remedy = "check that the disk is mounted and has free space, and that the service may write there"
        raise file_error(ErrorCode.DATABASE, f"{what} cannot be written to", folder, error, remedy) from None


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


_GROUP = Path("/sys/fs/cgroup/memory.max")
_LOW_DISK = 1 << 30
"""Bytes free below which a disk is named."""


def machine_memory() -> int | None:
    """Bytes that this machine has, or that the group which it runs programs in may have; None if it does not say."""
    has = []
    with suppress(OSError, ValueError):
        has.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):
        has.append(int(_GROUP.read_text(encoding="ascii")))
    return min(has) if has else None


def check_memory(limit: int) -> str:
    """Refuse a setting `limits.memory` (bytes) above what the machine has; what both are, in words."""
    has = machine_memory()
    if has is not None and limit > has:
        what = f"limits.memory is {mib(limit)}, which is more than this machine has"
        remedy = "lower it in the configuration: a service that takes too much is ended by the system"
        raise GemelError(ErrorCode.MEMORY, what, got=mib(has), remedy=remedy)
    return f"limits.memory is {mib(limit)}" + (f" of {mib(has)}" if has is not None else "")


def check_disks(folders: Mapping[str, Path]) -> str:
    """Refuse folders that cannot be written to, or whose disk is nearly full; what is free, in words.

    They are by what they hold; one that does not exist yet is made by its service in the nearest that does. Raises
    DATABASE or STORAGE_FULL.
    """
    shown = []
    for what, folder in folders.items():
        there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
        check_writable(there, f"the folder of {what}")
        usage = disk_usage(there)
        if usage is not None and usage.free < _LOW_DISK:
            nearly, got = f"the disk of the folder of {what} is nearly full", f"{mib(usage.free)} free"
            remedy = "free some: what is uploaded is written whole before it is used"
            raise GemelError(ErrorCode.STORAGE_FULL, nearly, where=str(folder), got=got, remedy=remedy)
        shown.append(f"{what}: {mib(usage.free)} free" if usage is not None else what)
    return ", ".join(shown)


def mib(size: int) -> str:
    return f"{-(-size // (1 << 20)):,} MiB"
