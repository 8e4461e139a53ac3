"""What the service is doing now, for its operator."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gemel.protos.linkage.v1 import project_pb2


@dataclass(frozen=True)
class Doing:
    """The current stage, and the fraction of it that is done, from 0 to 1."""

    stage: str
    fraction: float


class Progress:
    """Written by the agent's thread, read by those that answer the operator."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._doing: dict[str, Doing] = {}
        self._connected = False
        self._refusal = ""
        self._heard = time.monotonic()
        self.certificates: tuple[project_pb2.EndingCertificate, ...] = ()
        """Members' certificates that end soon, as Carole has reported them last."""

    def doing(self, project: str) -> Doing | None:
        """The current stage of a project, if there is one."""
        with self._lock:
            return self._doing.get(project)

    @property
    def connected(self) -> bool:
        """Whether Carole answered the last call."""
        with self._lock:
            return self._connected

    @connected.setter
    def connected(self, value: bool) -> None:
        with self._lock:
            self._connected = value
            if value:
                self._heard, self._refusal = time.monotonic(), ""

    @property
    def refusal(self) -> str:
        """Why no call to Carole is possible, if that is more than that she does not answer; until one succeeds."""
        with self._lock:
            return self._refusal

    @refusal.setter
    def refusal(self, error: str) -> None:
        with self._lock:
            self._refusal = error

    @property
    def silence(self) -> float:
        """Seconds since Carole last answered, or since the start."""
        with self._lock:
            return time.monotonic() - self._heard

    @contextmanager
    def stage(self, project: str, name: str) -> Iterator[None]:
        """Show a stage while a block runs."""
        self.update(project, name, 0.0)
        try:
            yield
        finally:
            with self._lock:
                self._doing.pop(project, None)

    def update(self, project: str, name: str, fraction: float) -> None:
        """Show the progress of a stage."""
        with self._lock:
            self._doing[project] = Doing(name, min(1.0, max(0.0, fraction)))


@dataclass
class Stopwatch:
    """Seconds per stage of one step."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Add the time a block takes to ``<name>_seconds``."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            key = f"{name}_seconds"
            self.seconds[key] = round(self.seconds.get(key, 0.0) + time.perf_counter() - begin, 6)
