"""Consoles that break no line, for tests that read what commands print."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gemel.coordinator.client import terminal
from gemel.custodian.operator import screen

WIDTH = 1000


@contextmanager
def wide_consoles() -> Iterator[None]:
    """Both consoles of this process, wide: the width of the environment counts only when they are made."""
    former = [(console, console._width) for console in (screen.console, terminal.console)]
    for console, _ in former:
        console.width = WIDTH
    try:
        yield
    finally:
        for console, width in former:
            console._width = width
