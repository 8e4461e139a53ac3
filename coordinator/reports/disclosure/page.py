"""Put the report on disclosure risk together and write it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.language import Language, LanguageCode, day, gettext, in_language, listed
from gemel.coordinator.reports.disclosure.content import protection
from gemel.coordinator.reports.disclosure.wording import PHRASES
from gemel.coordinator.reports.linkage import wording as linkage_wording
from gemel.coordinator.reports.linkage.page import FILTERS
from gemel.coordinator.reports.marks import Chart
from gemel.risk.report import draw, rendered, write_page

from . import charts, wording
from .content import card, checked, groups, highest_risk_records, options, unjudged

_FILTERS: Mapping[str, Callable[..., str]] = {
    **FILTERS,
    "figure": wording.figure,
    "joined": listed,
    "phrase": PHRASES.shown,
    "sentence": lambda text: PHRASES.shown(text, linkage_wording.sentence),
    "title_of": lambda name: gettext(MEASURES[name].title),
    "receives": wording.receives,
    "role": wording.role,
    "protection": wording.protection,
    "earlier_runs": wording.earlier_runs,
}


def write_risk_report(
    path: Path,
    document: Mapping[str, Any],
    *,
    invented: bool = False,
    sha256: bytes | None = None,
    language: LanguageCode = "en",
) -> None:
    """Write the report as one HTML file that needs nothing else."""
    write_page(path, render_risk_report(document, invented=invented, sha256=sha256, language=language))


def render_risk_report(
    document: Mapping[str, Any],
    *,
    invented: bool = False,
    sha256: bytes | None = None,
    language: LanguageCode | Language = "en",
) -> str:
    with in_language(language):
        return _rendered(document, invented=invented, sha256=sha256)


def _rendered(document: Mapping[str, Any], *, invented: bool, sha256: bytes | None) -> str:
    document = checked(document)
    ways = options(document)
    judged = [card(name, found) for name, found in document["measures"].items() if found["limit"] is not None]
    judged.sort(key=lambda shown: not shown["breached"])
    shown = {
        "d": document,
        "invented": invented,
        "made": {"date": day(datetime.now(UTC)), "version": version("gemel")},
        "document_sha256": sha256.hex() if sha256 else None,
        "headline": wording.headline(document),
        "verdict": wording.verdict(document),
        "judged": judged,
        "unjudged": unjudged(document),
        "groups": groups(document),
        "highest_risk_records": highest_risk_records(document),
        "options": ways,
        "protection": protection(document),
        "figures": {name: draw(c.drawing, f"risk-{name}", c.alt_text) for name, c in _charts(document, ways).items()},
    }
    return rendered(__package__, "risk.html.j2", shown, styles=("risk.css",), filters=_FILTERS)


def _charts(document: Mapping[str, Any], ways: Mapping[str, Any]) -> dict[str, Chart]:
    found = document["identification"]
    drawn = {"measures": charts.measures_chart(document["measures"])}
    if sum(found.get("histogram", {}).get("records", [])):
        drawn["chances"] = charts.chances_chart(found["histogram"])
    if found.get("group_sizes"):
        drawn["sizes"] = charts.sizes_chart(found["group_sizes"])
    if found.get("own_file") and "correct_matches" in document["measures"]:
        drawn["linking"] = charts.linking_chart(document)
    shares = found.get("special_uniques", {}).get("by_variable", [])
    if any(row["share"] > 0 for row in shares):
        drawn["variables"] = charts.variables_chart(shares)
    if ways["rows"]:
        drawn["options"] = charts.options_chart(ways, document["measures"][ways["main"]])
    return drawn
