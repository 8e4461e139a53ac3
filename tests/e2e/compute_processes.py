"""Compute processes of a deployment: ``tryst compute`` for the coordinator and the steward."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from tests.e2e.deployment import SECONDS, Deployment


class ComputeService:
    """One member's compute process, with its log in a file.

    Parameters
    ----------
    made : Deployment
    party : {"coordinator", "steward"}
    """

    def __init__(self, made: Deployment, party: str) -> None:
        self.party = party
        self._config = made.client_yaml(party)
        self.log = made.logs / f"compute-{party}.log"
        self._ready = made.logs / f"compute-{party}.ready"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until Carole has answered."""
        self._ready.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tryst", "compute"),
                    *("--config", str(self._config), "--ready-file", str(self._ready)),
                ],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )  # fmt: skip
        end = time.monotonic() + SECONDS
        while not self._ready.exists():
            assert time.monotonic() < end, self.log.read_text()
            assert self._process.poll() is None, self.log.read_text()
            time.sleep(0.05)

    def kill(self) -> None:
        """End it at once, as ``kill -9`` does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
