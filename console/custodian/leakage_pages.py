"""The pages on what Carole could learn: measured here on request, and by the service before it contributes."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import files
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from gemel.common.documents.result_warning import by_severity
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.noise import AssessmentKeys
from gemel.common.language import gettext, marked
from gemel.common.missing_module import missing_module
from gemel.common.parties import Side
from gemel.common.specification import load_specification
from gemel.common.witnessing.wording import when
from gemel.console.custodian.custodian import PROJECT, Custodian, CustodianPages
from gemel.console.web.forms import Form, posting
from gemel.console.web.listing import reloaded
from gemel.console.web.pages import Pages
from gemel.custodian.configuration import load_custodian
from gemel.custodian.leakage_report import Gate, LeakageReport
from gemel.custodian.operator.control import Control
from gemel.custodian.source.cleaned_file import clean_file
from gemel.protos.linkage.v1 import operator_pb2

SEED = 1
"""As the command's default: the same file has the same figures."""
STARTING = marked("starting")
READING = marked("reading and cleaning your source")
ATTACKING = marked("signing it under a throw-away key, and attacking the signatures")


@dataclass
class Measurement:
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
        return round((time.monotonic() if self.ended is None else self.ended) - self.began)


class Measurements:
    def __init__(self, custodian: Custodian) -> None:
        self._custodian = custodian
        self._lock = threading.Lock()
        self._newest: dict[str, Measurement] = {}

    def of(self, project: str, digest: bytes) -> Measurement | None:
        with self._lock:
            found = self._newest.get(project)
        return found if found is not None and found.digest == digest else None

    def begin(self, project: str, text: str, digest: bytes) -> None:
        """Begin one; BUSY if one is under way, of this project or another."""
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
        report = load_gate()(cleaned.columns, spec, cleaned.variables, AssessmentKeys.of_number(SEED), None)
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


class LeakagePages(CustodianPages):
    def __init__(self, custodian: Custodian, pages: Pages) -> None:
        super().__init__(custodian, pages)
        self._measurements = Measurements(custodian)

    def routes(self) -> list[BaseRoute]:
        return [
            Route(f"{PROJECT}/leakage", self.leakage),
            posting(f"{PROJECT}/leakage", self.measure),
            posting(f"{PROJECT}/leakage/end", self.end),
            Route(f"{PROJECT}/leakage/live", self.live),
            Route(f"{PROJECT}/leakage.html", self.own_report),
            Route(f"{PROJECT}/measured.html", self.service_report),
        ]

    def leakage(self, request: Request) -> Response:
        with self._project(request) as (service, project):
            kept = _kept(service, project.project)
        made = self._made(project)
        return self._pages.page(
            "leakage.html.j2",
            request,
            project=project.project,
            measurement=made,
            kept=kept,
            measurable=bool(project.specification_digest),
            state_token=_state(made),
        )

    def live(self, request: Request) -> Response:
        with self._project(request) as (_, project):
            made = self._made(project)
        return reloaded(request, self._pages.page("leakage_live.html.j2", request, measurement=made), _state(made))

    def measure(self, request: Request, _: Form) -> Response:
        with self._project(request) as (service, project):
            found = service.specification(project.project)
        self._measurements.begin(project.project, found.text, found.digest)
        return _back(project)

    def end(self, request: Request, form: Form) -> Response:
        with self._project(request) as (_, project):
            self._measurements.end(project.project)
        return _back(project)

    def own_report(self, request: Request) -> Response:
        with self._project(request) as (_, project):
            made = self._made(project)
        if made is None or made.report is None:
            raise GemelError(
                ErrorCode.NOT_FOUND, "nothing was measured here under this specification", where=project.project
            )
        return self._report(request, project.project, made.report, seed=SEED)

    def service_report(self, request: Request) -> Response:
        with self._project(request) as (service, project):
            report = LeakageReport.from_dict(json.loads(service.leakage(project.project).json))
        return self._report(request, project.project, report, seed=None)

    def _made(self, project: operator_pb2.CustodianProject) -> Measurement | None:
        return self._measurements.of(project.project, project.specification_digest)

    def _report(self, request: Request, project: str, report: LeakageReport, seed: int | None) -> Response:
        shown = {
            "project": project,
            "report": report,
            "seed": seed,
            "findings": sorted(report.findings, key=lambda each: -each.above_chance),
            "by_field": sorted(report.by_field().values(), key=lambda each: -each.above_chance),
            "warnings": by_severity(report.warnings),
            "style": files("gemel.console.web").joinpath("console.css").read_text(encoding="utf-8"),
        }
        content = json.dumps([project, seed, report.as_dict()]).encode()
        return self._pages.report(content, lambda: self._pages.text("leakage_report.html.j2", request, shown))


def _kept(service: Control, project: str) -> dict[str, Any] | None:
    try:
        found = service.leakage(project)
    except GemelError as error:
        if error.code is ErrorCode.NOT_FOUND:
            return None
        raise
    return {"report": LeakageReport.from_dict(json.loads(found.json)), "reason": found.reason}


def _back(project: operator_pb2.CustodianProject) -> Response:
    return RedirectResponse(f"{PROJECT.format(project=project.project)}/leakage", 303)


def _state(made: Measurement | None) -> str:
    if made is None:
        return "none"
    return "under-way" if made.ended is None else "ended"
