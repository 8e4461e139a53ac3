"""The pages on what Carole could learn: measured here on request, and by the service before it contributes."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from gemel.common.documents.result_warning import by_severity
from gemel.common.errors import ErrorCode, GemelError
from gemel.console.custodian.custodian import PROJECT, Custodian, project_of
from gemel.console.custodian.measurements import SEED, Measurement, Measurements
from gemel.console.web.forms import Form, posting
from gemel.console.web.listing import reloaded
from gemel.console.web.pages import Pages
from gemel.console.web.reports import RenderedReports
from gemel.custodian.leakage_report import LeakageReport
from gemel.custodian.operator.control import Control


class LeakagePages:
    """Attacks on the custodian's own signatures; parameters as `ProjectPages`."""

    def __init__(self, custodian: Custodian, pages: Pages) -> None:
        self._custodian, self._pages = custodian, pages
        self._measurements = Measurements(custodian)
        self._reports = RenderedReports()

    def routes(self) -> list[BaseRoute]:
        """By address."""
        return [
            Route(f"{PROJECT}/leakage", self.leakage),
            posting(f"{PROJECT}/leakage", self.measure),
            posting(f"{PROJECT}/leakage/end", self.end),
            Route(f"{PROJECT}/leakage/live", self.live),
            Route(f"{PROJECT}/leakage.html", self.own_report),
            Route(f"{PROJECT}/measured.html", self.service_report),
        ]

    def leakage(self, request: Request) -> Response:
        """What was measured, and the form to measure."""
        with self._custodian.service() as service:
            project = project_of(service, request)
            kept = _kept(service, project.project)
        made = self._measurements.of(project.project, project.specification_digest)
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
        """How far a measurement is."""
        with self._custodian.service() as service:
            project = project_of(service, request)
        made = self._measurements.of(project.project, project.specification_digest)
        return reloaded(request, self._pages.page("leakage_live.html.j2", request, measurement=made), _state(made))

    def measure(self, request: Request, _: Form) -> Response:
        """Begin to measure under the project's present specification."""
        with self._custodian.service() as service:
            name = project_of(service, request).project
            found = service.specification(name)
        self._measurements.begin(name, found.text, found.digest)
        return RedirectResponse(f"/projects/{name}/leakage", 303)

    def end(self, request: Request, _: Form) -> Response:
        """End a measurement that is under way."""
        with self._custodian.service() as service:
            name = project_of(service, request).project
        self._measurements.end(name)
        return RedirectResponse(f"/projects/{name}/leakage", 303)

    def own_report(self, request: Request) -> Response:
        """The report on what was measured here."""
        with self._custodian.service() as service:
            project = project_of(service, request)
        made = self._measurements.of(project.project, project.specification_digest)
        if made is None or made.report is None:
            raise GemelError(
                ErrorCode.NOT_FOUND, "nothing was measured here under this specification", where=project.project
            )
        return self._report(request, project.project, made.report, seed=SEED)

    def service_report(self, request: Request) -> Response:
        """The report on what the service has measured."""
        with self._custodian.service() as service:
            name = project_of(service, request).project
            report = LeakageReport.from_dict(json.loads(service.leakage(name).json))
        return self._report(request, name, report, seed=None)

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
        return self._reports.answer(content, lambda: self._pages.text("leakage_report.html.j2", request, shown))


def _kept(service: Control, project: str) -> dict[str, Any] | None:
    """What the service has measured before it contributes, if it has."""
    try:
        found = service.leakage(project)
    except GemelError as error:
        if error.code is ErrorCode.NOT_FOUND:
            return None
        raise
    return {"report": LeakageReport.from_dict(json.loads(found.json)), "reason": found.reason}


def _state(made: Measurement | None) -> str:
    if made is None:
        return "none"
    return "under-way" if made.ended is None else "ended"
