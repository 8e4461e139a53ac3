"""A disk of its own for a store, which a test fills."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

MOUNT, UNMOUNT = (shutil.which(program) or program for program in ("mount", "umount"))


class Disk:
    """A small file system that can be full."""

    def __init__(self, folder, size):
        folder.chmod(0o711)
        self.folder = folder / "disk"
        self.folder.mkdir()
        done = subprocess.run([MOUNT, "-t", "tmpfs", "-o", f"size={size},mode=0777", "none", self.folder])
        if done.returncode != 0:
            pytest.skip("no file system can be mounted here")

    def fill(self):
        with (self.folder / "filler").open("wb", buffering=0) as file:
            for size in (1 << 16, 1):
                try:
                    while file.write(b"x" * size) == size:
                        pass
                except OSError:
                    continue

    def empty(self):
        (self.folder / "filler").unlink()

    def unmount(self):
        subprocess.run([UNMOUNT, "--lazy", self.folder], check=True)


@pytest.fixture
def disk():
    with ExitStack() as made:

        def make(size):
            folder = made.enter_context(tempfile.TemporaryDirectory(prefix="gemel-disk-"))
            found = Disk(Path(folder), size)
            made.callback(found.unmount)
            return found

        yield make
