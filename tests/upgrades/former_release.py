"""The former release, taken from the history of this repository and run with this checkout's packages.

COMMIT moves forward when a release is made (CONTRIBUTING.md, *A release*).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tryst.coordinator.rehearsal.processes import ServiceProcess

COMMIT = "44aa20b95cd223286e93c0a35e814e13e4dbdc8a"
"""The last one before stores were made by `tryst carole init`: protocol 1, store 5, custodians' state 5."""

REPOSITORY = Path(__file__).resolve().parents[2]
_FOLDERS = ("tryst", "alice", "bob", "carole", "common", "coordinator", "protos", "risk")


class Release:
    """An installation: what starts its services and runs its commands.

    Parameters
    ----------
    folder
        Where its packages are; None for those of this checkout.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._path = {} if folder is None else {"PYTHONPATH": str(folder)}

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its processes."""
        return {**os.environ, **self._path, "COLUMNS": "400"}

    def start(self, party: str, configuration: Path, logs: Path) -> ServiceProcess:
        """A service as a process, which is starting."""
        process = ServiceProcess(party, configuration, logs)
        with pytest.MonkeyPatch.context() as patched:
            for name, value in self._path.items():
                patched.setenv(name, value)
            process.start()
        return process

    def tryst(self, *words: object) -> subprocess.CompletedProcess[str]:
        """A command of ``tryst``; its status and output."""
        return subprocess.run(
            [sys.executable, "-m", "tryst", *map(str, words)],
            cwd="/",
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


def former_release(cache: Path) -> Release:
    """The former release, in a folder that later runs of the tests find again, with its compiled kernels.

    Skips the test where the history is missing, as in an archive or a shallow clone; CI must have it.
    """
    folder = cache / COMMIT
    if not folder.exists():
        archive = subprocess.run(
            ["git", "-C", str(REPOSITORY), "archive", "--format=tar", COMMIT, "--", *_FOLDERS],  # noqa: S607
            capture_output=True,
            check=False,
        )
        if archive.returncode != 0:
            end = pytest.fail if os.environ.get("CI") else pytest.skip
            end(f"the former release, commit {COMMIT}, is not in this checkout's history: git fetch --unshallow")
        unpacked, packed = cache / f"{COMMIT}-{os.getpid()}", cache / f"{COMMIT}-{os.getpid()}.tar"
        packed.write_bytes(archive.stdout)
        with tarfile.open(packed) as content:
            content.extractall(unpacked)  # noqa: S202 - our own
        packed.unlink()
        try:
            unpacked.rename(folder)
        except OSError:  # another run of the tests was first
            shutil.rmtree(unpacked)
    return Release(folder)
