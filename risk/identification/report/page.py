"""Put an assessment into a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from gemel.risk.identification.report.charts import (
    cumulative_chart,
    histogram_chart,
    logit_rank_chart,
    share_chart,
)
from gemel.risk.identification.report.model_pictures import model_pictures
from gemel.risk.report import rendered
from gemel.risk.report.page import number, share

_PARTS = (
    "privacy_models.html.j2",
    "survey_risk.html.j2",
    "score_ranking.html.j2",
    "comparison.html.j2",
    "numeric_risk.html.j2",
)


def render(assessment: Mapping[str, Any]) -> str:
    """The page for an assessment (the dictionary of `assess`), or for several (that of `scenarios.compared`)."""
    several = assessment.get("scenarios", [assessment])
    shown = {
        "scenarios": [
            (each, _charts(each, f"s{n}-" if n else ""), _contradicted(each)) for n, each in enumerate(several)
        ],
        "comparison": assessment.get("comparison", []),
    }
    return rendered(
        __package__,
        "page.html.j2",
        shown,
        parts=_PARTS,
        filters={"share": share, "number": number, "figure": _figure, "signed": _signed},
    )


def _charts(assessment: Mapping[str, Any], prefix: str) -> dict[str, Markup]:
    """The charts of one assessment; `prefix` sets their names apart from those of others on the page."""
    drawn = {}
    if assessment["histogram"]["series"]:
        drawn["histogram"] = histogram_chart(assessment["histogram"], f"{prefix}histogram")
        drawn["cumulative"] = cumulative_chart(assessment["histogram"], f"{prefix}cumulative")
    by_variable = assessment["special_uniques"]["by_variable"]
    if any(v["is_share"] > 0 for v in by_variable):
        rows = sorted(((v["variable"], v["is_share"]) for v in by_variable), key=lambda row: -row[1])
        drawn["special_uniques"] = share_chart(
            rows,
            f"{prefix}special-uniques",
            "share of the file's IS from special uniques with the variable",
            "Contribution of each key variable to the file's IS.",
        )
    if "risk_reduction" in assessment:
        rows = [(v["variable"], max(0.0, v["avoided"])) for v in assessment["risk_reduction"]["by_variable"]]
        drawn["risk_reduction"] = share_chart(
            rows,
            f"{prefix}risk-reduction",
            "share of the expected correct matches avoided by leaving it out",
            "What leaving out each key variable would avoid.",
        )
    if "score_ranking" in assessment:
        drawn["score_ranking"] = logit_rank_chart(assessment["score_ranking"], f"{prefix}ranking")
    return drawn | model_pictures(assessment, prefix)


def _contradicted(assessment: Mapping[str, Any]) -> list[str]:
    """The models that the file's DIS contradicts."""
    return [
        name
        for name, part in (("log-linear", "log_linear"), ("modelled", "modelled"))
        if part in assessment and assessment[part]["agrees"] is False
    ]


def _signed(value: float | None) -> str:
    """A criterion, of either sign."""
    return "-" if value is None else ("-" if value < 0 else "") + _figure(abs(value))


def _figure(value: float | None) -> str:
    """A measure's value: counts of matches with a decimal, chances with three."""
    if value is None:
        return "-"
    return f"{value:,.1f}" if value > 1 else share(value)
