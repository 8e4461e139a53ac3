"""Put an assessment into a page."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined
from markupsafe import Markup

from risk.identification.report.charts import cumulative_chart, histogram_chart, share_chart


def render(assessment: Mapping[str, Any]) -> str:
    """The page for an assessment (the dictionary that `assessment.assess` makes)."""
    environment = Environment(
        loader=BaseLoader(), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"share": _share, "number": _number, "figure": _figure}
    text = files(__package__).joinpath("page.html.j2").read_text(encoding="utf-8")
    return environment.from_string(text).render(a=assessment, charts=_charts(assessment))


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
    if "lowering" in assessment:
        rows = [(v["variable"], max(0.0, v["avoided"])) for v in assessment["lowering"]["by_variable"]]
        drawn["lowering"] = share_chart(
            rows,
            "lowering",
            "share of the expected correct matches avoided by leaving it out",
            "What leaving out each key variable would avoid.",
        )
    return drawn


def _share(value: float | None) -> str:
    """A probability or share with three significant digits."""
    if value is None:
        return "-"
    return f"{value:.3g}" if value < 1e-3 and value else f"{value:.3f}".rstrip("0").rstrip(".") or "0"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:,.0f}"


def _figure(value: float | None) -> str:
    """A measure's value: counts of matches with a decimal, chances with three."""
    if value is None:
        return "-"
    return f"{value:,.1f}" if value > 1 else _share(value)
