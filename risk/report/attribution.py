"""Put an assessment into a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
from markupsafe import Markup

from gemel.risk.report import draw, rendered
from gemel.risk.report.drawing import OCHRE, TEAL
from gemel.risk.report.page import number, share

_POINTS = 400


def sap_chart(found: Mapping[str, Any]) -> Markup:
    """SAP against the number of known people, for both attackers, with the confidence band of Monte Carlo."""
    static = found["static"]
    step = max(1, len(static) // _POINTS)
    rows = [{"k": k, "sap": static[k], "attacker": "bounds as released"} for k in range(0, len(static), step)]
    again = found["retightened"]
    layers: list[alt.Chart] = []
    if again:
        name = "bounds derived again"
        rows += [{"k": k, "sap": again["curve"][k], "attacker": name} for k in range(0, len(again["curve"]), step)]
        if not again["exact"]:
            points = range(0, len(again["curve"]), step)
            band = [{"k": k, "low": again["lower"][k], "high": again["upper"][k]} for k in points]
            area = alt.Chart(alt.InlineData(values=band)).mark_area(opacity=0.25, color=OCHRE)
            layers.append(area.encode(x="k:Q", y="low:Q", y2="high:Q"))
    attackers = alt.Scale(domain=["bounds as released", "bounds derived again"], range=[TEAL, OCHRE])
    lines = alt.Chart(alt.InlineData(values=rows), width=800, height=280).mark_line(strokeWidth=2)
    lines = lines.encode(
        x=alt.X("k:Q", title="known people taken away (k)"),
        y=alt.Y("sap:Q", title="P(an empty cell is revealed)", scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("attacker:N", scale=attackers, legend=alt.Legend(symbolType="stroke")),
        strokeDash=alt.StrokeDash("attacker:N", legend=None),
    )
    reach = found["known_for"]["0.5"]
    words = "Curve of the subtraction attribution probability against the number of known people."
    if reach is not None:
        words += f" It passes one half at {reach} known people for the attacker who keeps the released bounds."
    return draw(alt.layer(*layers, lines), "sap", words)


_SHOWN = 60


def render(assessment: Mapping[str, Any]) -> str:
    """The page for an assessment (the dictionary that `assessment.assess` makes).

    Cells are listed the most exposed first, and only so many: the JSON has them all.
    """
    cells = sorted(assessment["bounds"]["cells"], key=_exposure)
    sap = assessment["sap"]
    shown = {
        "a": assessment,
        "shown": cells[:_SHOWN],
        "hidden": max(0, len(cells) - _SHOWN),
        "chart": sap_chart(sap) if sap["computed"] else Markup(""),
        "most": _SHOWN,
    }
    return rendered(__package__, "attribution.html.j2", shown, filters={"share": share, "number": number})


def _exposure(cell: Mapping[str, Any]) -> tuple[int, int]:
    """Known exactly first, then narrow ranges, small counts first."""
    if cell["upper"] is None:
        return (2**31, 0)
    return (cell["upper"] - cell["lower"], cell["upper"])
