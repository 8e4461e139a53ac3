"""Compute processes of a deployment: ``gemel compute`` for the coordinator and the steward."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

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
        self.begin()
        self.wait_ready()

    def begin(self) -> None:
        self._ready.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, *self._program(self._config, self._ready)],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )  # fmt: skip

    def _program(self, config: Path, ready: Path) -> tuple[str, ...]:
        return "-m", "gemel", "compute", "--config", str(config), "--ready-file", str(ready)

    def wait_ready(self) -> None:
        assert self._process is not None
        end = time.monotonic() + SECONDS
        while not self._ready.exists():
            assert time.monotonic() < end, self.log.read_text()
            assert self._process.poll() is None, self.log.read_text()
            time.sleep(0.05)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class OrderedService(ComputeService):
    """A compute process that stops at a stage, or deviates in it: `tests.e2e.compute_program`."""

    def __init__(self, made: Deployment, party: str) -> None:
        super().__init__(made, party)
        self._orders = made.logs / f"orders-{party}"
        self._number = 0

    def _program(self, config: Path, ready: Path) -> tuple[str, ...]:
        return "-m", "tests.e2e.compute_program", str(config), str(ready), str(self._orders)

    def order(self, kind: str, stage: str, place: int = 0) -> None:
        """What it does in the next session, with which message of a stage; one that it has stopped in goes on."""
        self._number += 1
        written = self._orders.with_suffix(".new")
        written.write_text(json.dumps({"number": self._number, "kind": kind, "stage": stage, "place": place}))
        written.replace(self._orders)

    def has_stopped(self) -> bool:
        return self._orders.with_suffix(f".{self._number}").exists()
