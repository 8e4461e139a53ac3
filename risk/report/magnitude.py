"""Put an assessment of magnitude tables into a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from markupsafe import Markup

from gemel.risk.report import draw, rendered
from gemel.risk.report.drawing import OCHRE, RUST, TEAL
from gemel.risk.report.page import number

_CHARTED = 25
_FAR = 3.0  # relative to the value; what reaches further is drawn so far


def doubt_chart(cells: Sequence[Mapping[str, Any]]) -> Markup:
    """What an outsider knows of each withheld cell, relative to its value, and the protection required."""
    rows: list[dict[str, Any]] = []
    for entry in cells:
        size = abs(entry["value"])
        if len(rows) == _CHARTED or not size or entry["required"] is None:
            continue
        low = -_FAR if entry["lower"] is None else (entry["lower"] - entry["value"]) / size
        high = _FAR if entry["upper"] is None else (entry["upper"] - entry["value"]) / size
        rows.append(
            {
                "cell": ", ".join(entry["cell"].values()) or "grand total",
                "low": max(low, -_FAR),
                "high": min(high, _FAR),
                "required_low": max(-entry["required"] / size, -1.0 if entry["value"] > 0 else -_FAR),
                "required_high": min(entry["required"] / size, _FAR),
            }
        )
    if not rows:
        return Markup("")
    chart = alt.Chart(alt.InlineData(values=rows), width=600, height={"step": 16})
    base = chart.encode(y=alt.Y("cell:N", sort=None, title=None))
    scale = alt.Scale(domain=[min(-1.0, *(row["low"] for row in rows)), _FAR])
    distance = alt.X("low:Q", title="distance from the true value", scale=scale, axis=alt.Axis(format="+.0%"))
    known = base.mark_bar(color=TEAL, height=4).encode(x=distance, x2="high:Q")
    protection = alt.X("required_low:Q", scale=scale)
    required = base.mark_bar(color=OCHRE, height=10, opacity=0.55).encode(x=protection, x2="required_high:Q")
    tick = base.mark_tick(color=RUST, thickness=2).encode(x=alt.X("truth:Q", scale=scale))
    truth = tick.transform_calculate(truth="0")
    words = "What an outsider knows of each risky cell (thin), and the protection it requires (broad)."
    return draw(alt.layer(required, known, truth), "doubt", words)


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
    return rendered(
        __package__, "magnitude.html.j2", shown, filters={"number": number, "figure": _figure, "cell": _cell}
    )


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
