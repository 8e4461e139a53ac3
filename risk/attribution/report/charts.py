"""The report's charts, drawn as inline SVG on this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import altair as alt
import vl_convert
from markupsafe import Markup, escape

INK, SOFT, LINE, TEAL, OCHRE = "#1b2430", "#5a6573", "#d8d9d3", "#0d6a78", "#c07f1f"

_STYLE = {
    "font": "sans-serif",
    "background": None,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "gridColor": LINE,
        "domainColor": LINE,
        "titleFontWeight": "normal",
    },
    "legend": {"title": None, "orient": "top", "labelColor": SOFT},
}
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
            band = [
                {"k": k, "low": again["lower"][k], "high": again["upper"][k]}
                for k in range(0, len(again["curve"]), step)
            ]
            layers.append(
                alt.Chart(alt.InlineData(values=band))
                .mark_area(opacity=0.25, color=OCHRE)
                .encode(x="k:Q", y="low:Q", y2="high:Q")
            )
    lines = (
        alt.Chart(alt.InlineData(values=rows), width=760, height=280)
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("k:Q", title="known people taken away (k)"),
            y=alt.Y("sap:Q", title="P(an empty cell comes to light)", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color(
                "attacker:N",
                scale=alt.Scale(domain=["bounds as released", "bounds derived again"], range=[TEAL, OCHRE]),
            ),
            strokeDash=alt.StrokeDash("attacker:N", legend=None),
        )
    )
    reach = found["known_for"]["0.5"]
    words = "Curve of the subtraction attribution probability against the number of known people."
    if reach is not None:
        words += f" It passes one half at {reach} known people for the attacker who keeps the released bounds."
    return _draw(alt.layer(*layers, lines), "sap", words)


def _draw(chart: alt.TopLevelMixin, name: str, alt_text: str) -> Markup:
    svg = vl_convert.vegalite_to_svg(chart.to_dict(validate=False) | {"config": _STYLE})
    svg = re.sub(r'(id="|url\(#)(clip\d+)', rf"\g<1>{name}-\g<2>", svg)
    opening = re.match(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"[^>]*>', svg)
    if opening is None:
        raise AssertionError("vl-convert returned no svg element")
    width, height = opening.groups()
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="{name}-alt" '
    head += f'viewBox="0 0 {width} {height}">'
    title = f'<title id="{name}-alt">{escape(alt_text)}</title>'
    return Markup(head + title + svg[opening.end() :])  # noqa: S704 - vl-convert escapes the text it draws
