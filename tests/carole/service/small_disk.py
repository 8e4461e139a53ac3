"""A disk of its own for a store, which a test fills."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

MOUNT, UNMOUNT = (shutil.which(program) or program for program in ("mount", "umount"))


class Disk:
    """A small file system that can be full."""

    def __init__(self, folder: Path, size: str) -> None:
        folder.chmod(0o711)
        self.folder = folder / "disk"
        self.folder.mkdir()
        done = subprocess.run([MOUNT, "-t", "tmpfs", "-o", f"size={size},mode=0777", "none", self.folder])
        if done.returncode != 0:
            pytest.skip("no file system can be mounted here")

    def fill(self) -> None:
        with (self.folder / "filler").open("wb", buffering=0) as file:
            for size in (1 << 16, 1):
                try:
                    while file.write(b"x" * size) == size:
                        pass
                except OSError:
                    continue

    def empty(self) -> None:
        (self.folder / "filler").unlink()

    def unmount(self) -> None:
        subprocess.run([UNMOUNT, "--lazy", self.folder], check=True)


@pytest.fixture
def disk() -> Iterator[Callable[[str], Disk]]:
    with ExitStack() as made:

        def make(size: str) -> Disk:
            folder = made.enter_context(tempfile.TemporaryDirectory(prefix="gemel-disk-"))
            found = Disk(Path(folder), size)
            made.callback(found.unmount)
            return found

        yield make
