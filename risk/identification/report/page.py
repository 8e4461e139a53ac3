"""Put an assessment into a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from tryst.risk.identification.report.charts import cumulative_chart, histogram_chart, share_chart
from tryst.risk.identification.report.model_pictures import model_pictures
from tryst.risk.report import rendered
from tryst.risk.report.page import number, share


def render(assessment: Mapping[str, Any]) -> str:
    """The page for an assessment (the dictionary that `assessment.assess` makes)."""
    contradicted = [
        name
        for name, part in (("log-linear", "log_linear"), ("modelled", "modelled"))
        if part in assessment and assessment[part]["agrees"] is False
    ]
    shown = {"a": assessment, "charts": _charts(assessment), "contradicted": contradicted}
    filters = {"share": share, "number": number, "figure": _figure, "signed": _signed}
    return rendered(__package__, "page.html.j2", shown, filters=filters)


def _charts(assessment: Mapping[str, Any]) -> dict[str, Markup]:
    drawn = {}
    if assessment["histogram"]["series"]:
        drawn["histogram"] = histogram_chart(assessment["histogram"])
        drawn["cumulative"] = cumulative_chart(assessment["histogram"])
    by_variable = assessment["suda"]["by_variable"]
    if any(v["share"] > 0 for v in by_variable):
        rows = sorted(((v["variable"], v["share"]) for v in by_variable), key=lambda row: -row[1])
        drawn["suda"] = share_chart(
            rows,
            "suda",
            "share of the file's score from special uniques with the variable",
            "Contribution of each key variable to the file's SUDA score.",
        )
    if "risk_reduction" in assessment:
        rows = [(v["variable"], max(0.0, v["avoided"])) for v in assessment["risk_reduction"]["by_variable"]]
        drawn["risk_reduction"] = share_chart(
            rows,
            "risk_reduction",
            "share of the expected correct matches avoided by leaving it out",
            "What leaving out each key variable would avoid.",
        )
    return drawn | model_pictures(assessment)


def _signed(value: float | None) -> str:
    """A criterion, of either sign."""
    return "-" if value is None else ("-" if value < 0 else "") + _figure(abs(value))


def _figure(value: float | None) -> str:
    """A measure's value: counts of matches with a decimal, chances with three."""
    if value is None:
        return "-"
    return f"{value:,.1f}" if value > 1 else share(value)
