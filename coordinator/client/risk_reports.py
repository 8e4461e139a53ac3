"""What the commands of steward and coordinator make of a report on disclosure risk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gemel.common.language import LanguageCode
from gemel.common.language.message_words import listed
from gemel.coordinator.client.coordinator_client import Report
from gemel.coordinator.client.terminal import console
from gemel.coordinator.reports.disclosure import write_risk_report


def verdict_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The judged measures, the worst first, with their values and limits; `document` is the report that Carole made."""
    measures = document["measures"]
    limited = {name: found for name, found in measures.items() if found.get("limit") is not None}
    for name, found in sorted(limited.items(), key=lambda item: (not item[1]["breached"], item[0])):
        interval = ""
        if found.get("lower") is not None and found.get("upper") is not None:
            interval = f" ({found['lower']:.3g} to {found['upper']:.3g})"
        judged = "ABOVE" if found["breached"] else "within"
        yield f"{name} {_number(found['value'])}{interval}: {judged} its limit of {found['limit']:g}"
    protection = document.get("protection")
    if protection is not None and protection["outcome"] == "coarsened":
        above = ", ".join(protection["before"]["breaches"])
        yield f"Coarsened ({_changes(protection)}): as it was linked, the policy was breached ({above})."
    elif protection is not None:
        yield f"Not coarsened, as the specification allows: {protection['reason']}."
    for grant in document.get("granted") or ():
        if grant["not_assessed"]:
            columns, sender = listed(grant["not_assessed"]), grant["of"].title()
            yield f"NOT ASSESSED: {columns} of {sender}'s linked records, which {grant['to']} receives."
    if document["verdict"] == "within":
        yield "Verdict: every limit of the policy holds."
    else:
        names = ", ".join(breach["measure"] for breach in document["breaches"])
        yield f"Verdict: the policy is breached ({names})."


def _changes(protection: Mapping[str, Any]) -> str:
    return "; ".join(f"{change['variable']}: {change['coarsening']}" for change in protection["changes"])


def _number(value: float | None) -> str:
    return "could not be computed" if value is None else f"{value:.3g}"


def show_report(report: Report, out: Path, language: LanguageCode) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "assessment.json").write_bytes(report.text)
    write_risk_report(out / "risk.html", report.document, sha256=report.sha256, language=language)
    for line in verdict_lines(report.document):
        console.print(line, highlight=False)
    console.print(
        f"Wrote {out / 'assessment.json'}, with the SHA-256 {report.sha256.hex()}", highlight=False, soft_wrap=True
    )
    console.print(f"Open [bold]{out / 'risk.html'}[/bold] in a browser.", highlight=False, soft_wrap=True)
