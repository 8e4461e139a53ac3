"""Keeps one worker process alive: starts it, notices its death, frees its run, starts another after a pause.

The worker is a separate program, not a fork: it shares no thread, no lock and no connection with the server. The run of
a dead worker is freed at once, since its parent knows; the lease's time is for when the parent died too.
"""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gemel.carole.projects.operations.linking import Interruption
from gemel.carole.store import Store
from gemel.carole.store.retention import Swept
from gemel.common.errors import GemelError
from gemel.common.logging_setup import log

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 60.0
HEALTHY_SECONDS = 300.0
"""A worker that lived this long has recovered from the failure of those before it."""

STOP_SECONDS = 5.0

SWEEP_SECONDS = 600.0

STORAGE_FAILED = 75
"""The exit status of a worker where the database or a disk has failed, and not the run: of Unix' `EX_TEMPFAIL`."""

_CAUSES = {STORAGE_FAILED: Interruption.STORAGE_FAILED}
"""Why a worker left its run, by its exit status; any other is a death that the run may have caused."""


class Supervisor:
    """Runs one worker of a Carole."""

    def __init__(
        self,
        store: Store,
        configuration: Path,
        program: Sequence[str] = (sys.executable, "-m", "gemel.carole.service.worker"),
    ) -> None:
        self._store, self._configuration = store, configuration
        self._program = tuple(program)
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = ""
        self._address = ""
        self._ended: dict[str, Interruption] = {}
        self._starts = 0
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)

    @property
    def pid(self) -> int | None:
        process = self._process
        return None if process is None else process.pid

    def health(self) -> tuple[bool, int]:
        """Whether a worker is running now, and how many were started: all but one have ended unforeseen."""
        process = self._process
        return process is not None and process.poll() is None, self._starts

    def start(self) -> None:
        """Start the worker, and watch it from now on."""
        self._launch()
        self._thread.start()

    def announce(self, address: str) -> None:
        """Let the worker, and each that follows it, know where the service listens."""
        with self._lock:
            self._address = address
            self._write_address()

    def _write_address(self) -> None:
        """Write the address, once, to a worker's standard input; the lock is held."""
        process = self._process
        if process is None or process.stdin is None or not self._address:
            return
        # A worker that has just ended is followed by one that gets it too.
        with suppress(OSError, ValueError):
            process.stdin.write(f"{self._address}\n".encode())
            process.stdin.flush()

    def terminate(self) -> None:
        """Begin to end the worker, without waiting for it."""
        self._stopping.set()
        with self._lock:
            process = self._process
        if process is not None:
            process.terminate()

    def stop(self) -> None:
        """End the worker. An active run goes back to the queue, and the attempt does not count."""
        self.terminate()
        process = self._process
        if process is not None:
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._thread.is_alive():
            self._thread.join()

    def _launch(self) -> None:
        with self._lock:
            if self._stopping.is_set():
                return
            self._owner = secrets.token_hex(8)
            # Ctrl-C at a terminal reaches the worker too, which inherits this: its parent ends it in order.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                self._process = subprocess.Popen(
                    [
                        *self._program,
                        *("--config", str(self._configuration), "--owner", self._owner, "--holder", self._store.holder),
                    ],
                    stdin=subprocess.PIPE,  # its end signals to the worker that this process has ended
                    stdout=subprocess.DEVNULL,
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            self._starts += 1
            self._write_address()
        log.info("worker started", pid=self._process.pid)

    def _watch(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            process = self._process
            assert process is not None  # noqa: S101 - `start` comes first
            began = time.monotonic()
            status = self._wait(process)
            if process.stdin is not None:
                process.stdin.close()
            stopping = self._stopping.is_set()
            if not stopping:
                log.error("worker ended", pid=process.pid, status=status)
            self._ended[self._owner] = Interruption.STOPPED if stopping else _CAUSES.get(status, Interruption.DIED)
            self._free()
            if stopping:
                return
            if time.monotonic() - began > HEALTHY_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            if self._stopping.wait(pause):
                return
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            self._free()
            self._launch()

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        """The worker's exit status; what can no longer be reached in the store is swept meanwhile."""
        while True:
            try:
                return process.wait(SWEEP_SECONDS)
            except subprocess.TimeoutExpired:
                self._sweep()

    def _sweep(self) -> None:
        try:
            log_swept(self._store.sweep())
        except GemelError as error:
            log.error("not swept", code=error.code.name, error=str(error))

    def _free(self) -> None:
        """Queue again what the workers that have ended held: now, or, if the database has failed, at the next time."""
        for owner, cause in list(self._ended.items()):
            try:
                freed = self._store.runs.abandon(owner, cause)
            except GemelError as error:
                log.error("run not released", code=error.code.name)
                return
            del self._ended[owner]
            if freed:
                log.info("run released", runs=freed)
            self._sweep()


def log_swept(swept: Swept) -> None:
    if swept.keys or swept.files:
        log.info("swept", keys=swept.keys, files=swept.files)
