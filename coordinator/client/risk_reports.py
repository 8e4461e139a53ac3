"""Reports on disclosure risk as steward and coordinator fetch them, and what the commands of both make of one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gemel.common.documents.assessment_document import AssessmentDocument
from gemel.common.language import LanguageCode
from gemel.common.rpc.client import Connection
from gemel.common.rpc.transfer import Fetch
from gemel.coordinator.client.terminal import console
from gemel.coordinator.client.verdict import verdict_lines
from gemel.coordinator.reports.disclosure import write_risk_report
from gemel.protos.linkage.v1 import stewardship_pb2, stewardship_pb2_grpc

MAX_REPORT_BYTES = 64 << 20


@dataclass(frozen=True)
class Report:
    """A report on a run's disclosure risk, JSON, and its digest."""

    text: bytes
    sha256: bytes

    @property
    def document(self) -> dict[str, Any]:
        """The document, parsed."""
        return AssessmentDocument.read(self.text, "assessment", MAX_REPORT_BYTES).plain()


def fetch_report(connection: Connection, project: str, run: str) -> Report:
    """The report on a run, whether its result was released or not."""
    stub = connection.stub(stewardship_pb2_grpc.StewardshipStub)

    def request(index: int) -> stewardship_pb2.GetReportRequest:
        return stewardship_pb2.GetReportRequest(project=project, run=run, index=index)

    text = Fetch(connection, stub.GetReport, request, f"report of {project}", MAX_REPORT_BYTES).whole()
    return Report(text, hashlib.sha256(text).digest())


def show_report(report: Report, out: Path, language: LanguageCode) -> None:
    """Print the verdict, and write ``assessment.json`` and ``risk.html`` into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "assessment.json").write_bytes(report.text)
    write_risk_report(out / "risk.html", report.document, sha256=report.sha256, language=language)
    for line in verdict_lines(report.document):
        console.print(line, highlight=False)
    console.print(
        f"Wrote {out / 'assessment.json'}, with the SHA-256 {report.sha256.hex()}", highlight=False, soft_wrap=True
    )
    console.print(f"Open [bold]{out / 'risk.html'}[/bold] in a browser.", highlight=False, soft_wrap=True)
