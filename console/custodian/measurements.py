"""What Carole could learn, measured as `gemel alice leakage` does, in a process of its own that a page can watch.

The source is read there, by the operator's own program, and signed under a throw-away key; only the report, which has
shares and no value, comes back. The console's end ends it, and one is made at a time: it may need much memory.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.assessment_keys import AssessmentKeys
from gemel.common.language import gettext, marked
from gemel.common.missing_module import missing_module
from gemel.common.parties import Side
from gemel.common.specification import load_specification
from gemel.common.witnessing.wording import when
from gemel.console.custodian.custodian import Custodian
from gemel.custodian.configuration import load_custodian
from gemel.custodian.leakage_report import Gate, LeakageReport
from gemel.custodian.source.reading import clean_file

SEED = 1
"""As the command's default: the same file has the same figures."""
STARTING = marked("starting")
READING = marked("reading and cleaning your source")
ATTACKING = marked("signing it under a throw-away key, and attacking the signatures")


@dataclass
class Measurement:
    """One measurement."""

    digest: bytes
    process: BaseProcess
    at: str = field(default_factory=lambda: when(round(1000 * time.time())))
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    stage: str = STARTING
    report: LeakageReport | None = None
    error: GemelError | None = None

    @property
    def doing(self) -> str:
        """What it does, in the language of the page that shows it."""
        return gettext(self.stage)

    @property
    def seconds(self) -> int:
        """How long it has taken."""
        return round((time.monotonic() if self.ended is None else self.ended) - self.began)


class Measurements:
    """The newest measurement of each project."""

    def __init__(self, custodian: Custodian) -> None:
        self._custodian = custodian
        self._lock = threading.Lock()
        self._newest: dict[str, Measurement] = {}

    def of(self, project: str, digest: bytes) -> Measurement | None:
        """The newest one of a project's present specification."""
        with self._lock:
            found = self._newest.get(project)
        return found if found is not None and found.digest == digest else None

    def begin(self, project: str, text: str, digest: bytes) -> None:
        """Begin one.

        Raises
        ------
        GemelError
            BUSY if one is under way, of this project or another.
        """
        there, here = multiprocessing.Pipe(duplex=False)
        # Spawned, not forked: this process has threads.
        process = multiprocessing.get_context("spawn").Process(
            target=_measure,
            args=(self._custodian.config, self._custodian.party.side, text, self._custodian.load_gate, here),
            name=f"leakage {project}",
            daemon=True,
        )
        with self._lock:
            if any(each.ended is None for each in self._newest.values()):
                raise GemelError(
                    ErrorCode.BUSY, "another measurement is under way", remedy="wait until it has ended, or end it"
                )
            process.start()
            here.close()
            self._newest[project] = made = Measurement(digest, process)
        threading.Thread(target=self._follow, args=(made, there), name=f"follow {project}", daemon=True).start()

    def end(self, project: str) -> None:
        """End the one that is under way, if there is one."""
        with self._lock:
            found = self._newest.pop(project, None)
        if found is not None:
            found.process.terminate()
            found.ended = time.monotonic()

    @staticmethod
    def _follow(made: Measurement, there: Connection) -> None:
        with there:
            try:
                while made.report is None and made.error is None:
                    found = there.recv()
                    if isinstance(found, str):
                        made.stage = found
                    elif isinstance(found, GemelError):
                        made.error = found
                    else:
                        made.report = LeakageReport.from_dict(found)
            except (EOFError, OSError):
                made.error = GemelError(
                    ErrorCode.INTERNAL,
                    "the process that measures has ended",
                    got=f"status {made.process.exitcode}",
                    remedy="look whether the machine was short of memory; `gemel ... leakage` does the same on a"
                    " terminal",
                )
        made.process.join()
        made.ended = time.monotonic()


def _measure(config: Path, side: Side, text: str, load_gate: Callable[[], Gate], here: Connection) -> None:
    """What the process does: send stages as text, then the report as plain values, or an error."""
    # Ctrl-C is the console's, which ends this process; also when it was killed itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        here.send(READING)
        spec = load_specification(text, "the specification")
        cleaned = clean_file(load_custodian(config).source, spec, side)
        here.send(ATTACKING)
        report = load_gate()(cleaned.columns, spec, cleaned.variables, AssessmentKeys.of_number(SEED))
        here.send(report.as_dict())
    except GemelError as error:
        here.send(error)
    except ModuleNotFoundError as error:
        here.send(missing_module(error))
    except Exception as error:  # noqa: BLE001 - its text may hold a value: its type alone is shown
        here.send(GemelError(ErrorCode.INTERNAL, "it could not be measured", got=type(error).__name__))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
