"""The progress of a long computation: the types of functions that report it, and a reporter for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with the name of a stage and the fraction of it that is done, 0 to 1."""

StageProgress = Callable[[float], None]
"""Called with the fraction that is done of the one stage that its caller has named, 0 to 1."""


def silent(*report: str | float) -> None:
    """Reports nothing: what both kinds of reporter are by default."""


def stages_on_terminal() -> Progress:
    """A reporter that writes each new stage's name to standard error, where that is a terminal."""
    last = ""

    def show(stage: str, fraction: float) -> None:
        nonlocal last
        if stage != last and sys.stderr.isatty():
            sys.stderr.write(f"... {stage}\n")
        last = stage

    return show
