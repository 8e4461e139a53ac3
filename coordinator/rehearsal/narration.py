"""What a rehearsal reports to its user as it runs: each step's name and, in the demonstration, what it is for."""

from __future__ import annotations

import time
from collections.abc import Iterable
from importlib.resources import files

import yaml

from gemel.common.documents.result_warning import ResultWarning
from gemel.coordinator.client.terminal import console

STYLES = {"warning": "yellow", "serious": "bold red"}
"""How the warnings that may need action are printed, by severity."""


def show_warnings(warnings: Iterable[ResultWarning]) -> None:
    """Print the warnings that may need action, with what to do; notes are in the report."""
    for warning in warnings:
        if warning.severity in STYLES:
            console.print(warning.line, style=STYLES[warning.severity], highlight=False, markup=False)


class Narrator:
    """Prints the steps of a rehearsal, explained if `explain`; in mode shared some steps are others."""

    def __init__(self, explain: bool, *, shared: bool = False) -> None:
        self._explain = explain
        told = yaml.safe_load(files(__package__).joinpath("steps.yaml").read_text("utf-8"))
        self._steps: dict[str, dict[str, str]] = told["steps"] | (told["shared"] if shared else {})
        self._started: dict[str, float] = {}
        self._now = ""
        self.seconds: dict[str, float] = {}
        """Time of each step that has ended."""

    def step(self, key: str) -> None:
        self.end()
        self._now = key
        self._started[key] = time.perf_counter()
        step = self._steps[key]
        console.rule(f"[bold]{step['title']}", align="left", style="dim")
        if self._explain:
            console.print(step["explanation"], style="dim")

    def end(self) -> None:
        if self._now:
            self.seconds[self._now] = time.perf_counter() - self._started[self._now]
            self._now = ""

    def show(self, text: str) -> None:
        console.print(text, highlight=False)
