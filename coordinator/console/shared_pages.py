"""Pages that coordinator and steward have alike: certificates' ends, and the report on disclosure risk by itself."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tryst.common.language import LanguageCode
from tryst.common.pki.certificates import load_certificate, read_certificates, read_public
from tryst.common.pki.checks import utc_now
from tryst.common.pki.ending import Urgency, urgency
from tryst.common.pki.sealing_renewal import RENEWAL, former_sealing_keys
from tryst.common.rpc.certificate_endings import ending_lines
from tryst.common.web.pages import Pages
from tryst.coordinator.client.risk_reports import Report
from tryst.coordinator.client.verdict import verdict_lines
from tryst.coordinator.console.member import Member
from tryst.coordinator.console.reports import RenderedReports
from tryst.protos.linkage.v1 import project_pb2

_WORDS = {Urgency.NONE: "", Urgency.SOON: "ends soon: have it renewed", Urgency.URGENT: "have it renewed now"}


def certificates_page(
    pages: Pages, member: Member, request: Request, reported: list[project_pb2.EndingCertificate]
) -> Response:
    """When certificates end: the member's own to the day, others' as far as Carole has named them."""
    folder = member.found.folder
    own = load_certificate(folder.certificate)
    chain = [("Your certificate", own)]
    chain += [
        ("An authority of Carole's certificate", each)
        for each in read_certificates(read_public(folder.linker, "Carole's authority"), str(folder.linker))
    ]
    now = utc_now()
    rows = [
        {
            "whose": whose,
            "ends": f"{each.not_valid_after_utc:%Y-%m-%d %H:%M} UTC",
            "words": _WORDS[urgency(each, now)],
            "days": (each.not_valid_after_utc - now).days,
        }
        for whose, each in chain
    ]
    return pages.page(
        "certificates.html.j2",
        request,
        rows=rows,
        others=list(ending_lines(reported, without=member.name)),
        former=former_sealing_keys(member.found.members),
        renewal=RENEWAL,
    )


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
    from tryst.coordinator.reports.disclosure import render_risk_report

    return reports.answer(
        report.text, lambda: render_risk_report(report.document, sha256=report.sha256, language=language)
    )
