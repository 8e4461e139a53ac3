"""Pages that coordinator and steward have alike: certificates' ends, and the report on disclosure risk by itself."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from gemel.common.language import LanguageCode
from gemel.console.web.reports import RenderedReports
from gemel.coordinator.client.risk_reports import Report
from gemel.coordinator.client.verdict import verdict_lines


def risk_shown(report: Report, project: str) -> dict[str, Any]:
    """What a page shows of a report on disclosure risk, beside the report itself."""
    return {
        "verdict": list(verdict_lines(report.document)),
        "within": report.document["verdict"] == "within",
        "sha256": report.sha256.hex(),
        "report_address": f"/projects/{project}/risk.html",
    }


def risk_report(reports: RenderedReports, report: Report, language: LanguageCode) -> Response:
    """The report on disclosure risk, for a frame or by itself."""
    from gemel.coordinator.reports.disclosure import render_risk_report

    return reports.answer(
        report.text, lambda: render_risk_report(report.document, sha256=report.sha256, language=language)
    )
