"""The stages of a run as its worker passes through them: how long each takes, a span for each, and the work's sizes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from opentelemetry.trace import Span

from gemel.common.observability.tracing import begin_span

Note = Callable[[int, int, int], None]
"""Called with candidate pairs, comparison patterns and the most memory that a run's data took, once it has compared."""


def no_note(pairs: int, patterns: int, peak_bytes: int) -> None:
    """For a run whose figures no one reads."""


class Stages:
    """What a run has spent on its stages; a stage ends where the next one begins."""

    def __init__(self, run: str, project: str = "", request: str = "") -> None:
        self._run = run
        self._request = request
        self._project = project
        self._lock = threading.Lock()
        self._stage = ""
        self._begun = 0.0
        self._span: Span | None = None
        self._seconds: dict[str, float] = {}
        self.sizes: dict[str, float] = {}

    def note(self, pairs: int, patterns: int, peak_bytes: int) -> None:
        """Note the sizes of the work; see `Note`."""
        named = {"candidate_pairs": pairs, "patterns": patterns, "peak_bytes": peak_bytes}
        self.sizes |= {name: float(size) for name, size in named.items()}

    def enter(self, stage: str) -> None:
        """Note that the run is in a stage now; called often, and by several threads."""
        if stage == self._stage:
            return
        with self._lock:
            if stage != self._stage:
                self._end()
                self._stage, self._begun = stage, time.monotonic()
                self._span = begin_span(f"run {stage}", run=self._run, request=self._request)
                if self._project:
                    self._span.set_attribute("gemel.project", self._project)

    def end(self) -> dict[str, float]:
        """End the last stage; the seconds of each, in the order in which they first began."""
        with self._lock:
            self._end()
            return dict(self._seconds)

    def _end(self) -> None:
        if self._span is not None:
            self._seconds[self._stage] = self._seconds.get(self._stage, 0.0) + time.monotonic() - self._begun
            self._span.end()
        self._stage, self._span = "", None
