"""How long the stages of a computation take, for the run's document."""

from __future__ import annotations

import time

from gemel.common.progress import Progress


class StageSeconds:
    """A `Progress` that passes everything on, and times the stages: one ends where the next begins.

    Parameters
    ----------
    progress
        Called with the same.

    Attributes
    ----------
    seconds
        Of each stage that has ended, in their order.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._stage, self._begun = "", 0.0
        self.seconds: dict[str, float] = {}

    def __call__(self, stage: str, fraction: float) -> None:
        """Note how far a stage is."""
        if stage != self._stage:
            self.end()
            self._stage, self._begun = stage, time.perf_counter()
        self._progress(stage, fraction)

    def end(self) -> None:
        """End the last stage."""
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + time.perf_counter() - self._begun
        self._stage = ""
