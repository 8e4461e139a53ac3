"""Put an assessment of magnitude tables into a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from gemel.risk.magnitude.report.charts import doubt_chart
from gemel.risk.report import rendered
from gemel.risk.report.page import number

_SHOWN = 60


def render(assessment: Mapping[str, Any]) -> str:
    """The page for an assessment (the dictionary that `assess` or `assess_published` makes).

    Cells are listed the narrowest doubt first, and only so many: the JSON has them all.
    """
    cells = sorted(assessment["suppressed"], key=_doubt)
    shown = {
        "a": assessment,
        "alone": "rules" not in assessment,
        "cells": cells[:_SHOWN],
        "hidden": max(0, len(cells) - _SHOWN),
        "breaches": assessment.get("breaches", [])[:_SHOWN],
        "chart": doubt_chart(cells) if "rules" in assessment and cells else Markup(""),
    }
    return rendered(__package__, "page.html.j2", shown, filters={"number": number, "figure": _figure, "cell": _cell})


def _doubt(entry: Mapping[str, Any]) -> float:
    """Width of what an outsider knows, relative to its middle."""
    if entry["lower"] is None or entry["upper"] is None:
        return float("inf")
    width = float(entry["upper"] - entry["lower"])
    middle = abs(float(entry["upper"] + entry["lower"])) / 2
    return width / middle if middle else 0.0


def _cell(described: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {level}" for name, level in described.items()) or "grand total"


def _figure(value: float | None) -> str:
    """A value of a cell: six figures, in thousands."""
    if value is None:
        return "no limit"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:,.4g}"
