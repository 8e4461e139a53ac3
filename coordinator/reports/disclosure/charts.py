"""The charts of the report on disclosure risk: each a function from the document to a chart and words for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from tryst.common.disclosure_measures import MEASURES, report_order
from tryst.coordinator.reports.linkage.charts import FULL_WIDTH, Chart
from tryst.risk.report.palette import GREY, INK, OCHRE, RUST, SOFT, TEAL

from . import wording

_LABELS = 250
_WIDTH = FULL_WIDTH - _LABELS - 60
_STEP = 30
# Beside the bar, or beside its limit where the limit would be in the way.
_LABEL_AT = (
    "datum.limit !== null && datum.limit >= datum.high && datum.limit < datum.high + 0.09 ? datum.limit : datum.high"
)
_WITHIN, _ABOVE, _UNJUDGED = "within its limit", "above its limit", "no limit set"


def measures_chart(measures: Mapping[str, Any]) -> Chart:
    """Every measure on one scale, with its interval and its limit."""
    order = [measure.name for _, own in report_order() for measure in own if measure.name in measures]
    order.sort(key=lambda name: (not measures[name]["breached"], measures[name]["limit"] is None))
    rows = []
    for name in order:
        found = measures[name]
        kind = _ABOVE if found["breached"] else _UNJUDGED if found["limit"] is None else _WITHIN
        rows.append(
            {
                "name": MEASURES[name].title,
                "value": found["value"],
                "low": found["lower"] if found["lower"] is not None else found["value"],
                "high": found["upper"] if found["upper"] is not None else found["value"],
                "limit": found["limit"],
                "kind": kind,
                "text": wording.figure(found["value"]),
            }
        )
    titles = [MEASURES[name].title for name in order]
    y = alt.Y("name:N", sort=titles, title=None, axis=alt.Axis(labelLimit=_LABELS, labelFontSize=12, labelColor=INK))
    scale = _whole()
    x = alt.X("value:Q", title="of all who could be concerned, or as a probability", scale=scale, axis=_percent())
    kinds = [kind for kind in (_ABOVE, _WITHIN, _UNJUDGED) if any(row["kind"] == kind for row in rows)]
    colours = {_ABOVE: RUST, _WITHIN: TEAL, _UNJUDGED: GREY}
    colour = alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[colours[kind] for kind in kinds]))
    base = alt.Chart(alt.InlineData(values=rows), width=_WIDTH, height={"step": _STEP})
    bars = base.mark_bar(height=13).encode(y=y, x=x, color=colour)
    whiskers = base.mark_rule(color=INK, size=1.5).encode(y=y, x=alt.X("low:Q", scale=scale), x2="high:Q")
    limits = (
        base.transform_filter("datum.limit !== null")
        .mark_tick(color=INK, thickness=3, size=24)
        .encode(y=y, x=alt.X("limit:Q", scale=scale))
    )
    label = (
        base.transform_calculate(end=_LABEL_AT)
        .mark_text(align="left", dx=7, fontSize=11.5, color=SOFT)
        .encode(y=y, x=alt.X("end:Q", scale=scale), text="text:N")
    )
    reported = "; ".join(f"{row['name']} {row['text']}, {row['kind']}" for row in rows)
    return Chart(alt.layer(bars, whiskers, limits, label), f"Bars of every measure of risk. {reported}.")


def chances_chart(histogram: Mapping[str, Any]) -> Chart:
    """How many records have how great a chance to be matched to their person."""
    edges, records = histogram["edges"], histogram["records"]
    rows = [{"from": edges[k], "to": edges[k + 1], "records": number} for k, number in enumerate(records)]
    bars = (
        alt.Chart(alt.InlineData(values=rows), width=FULL_WIDTH // 2 - 90, height=220)
        .mark_bar(color=TEAL, binSpacing=1)
        .encode(
            x=alt.X("from:Q", bin="binned", title="chance to be matched to the right person", axis=_percent()),
            x2="to:Q",
            y=alt.Y("records:Q", title="linked records"),
        )
    )
    total = sum(records) or 1
    half = sum(number for k, number in enumerate(records) if edges[k] >= 0.5)
    return Chart(bars, f"Histogram of the linked records by their chance to be found: {half / total:.1%} at one half.")


def sizes_chart(sizes: Sequence[Mapping[str, Any]]) -> Chart:
    """How many records share their keys with how many."""
    rows = [
        {
            "name": _size_label(size["from"], size["to"]),
            "records": size["records"],
            "alone": size["to"] == 1,
            "text": f"{size['records']:,}",
        }
        for size in sizes
    ]
    labels = [row["name"] for row in rows]
    base = alt.Chart(alt.InlineData(values=rows), width=FULL_WIDTH // 2 - 110, height={"step": 31}).encode(
        y=alt.Y("name:N", sort=labels, title="records that are alike", axis=alt.Axis(labelFontSize=11.5)),
        x=alt.X("records:Q", title="linked records", axis=alt.Axis(tickCount=4)),
    )
    bars = base.mark_bar(height={"band": 0.75}).encode(
        color=alt.condition("datum.alone", alt.value(RUST), alt.value(TEAL))
    )
    text = base.mark_text(align="left", dx=4, color=SOFT, fontSize=11).encode(text="text:N")
    reported = "; ".join(f"{row['name']}: {row['text']}" for row in rows)
    return Chart(alt.layer(bars, text), f"Bars of the linked records by how many are like them. {reported}.")


def linking_chart(document: Mapping[str, Any]) -> Chart:
    """The share of the same people who are found in either file alone and in the combined output."""
    own = document["identification"]["own_file"]
    combined = document["measures"]["correct_matches"]["value"]
    rows = [
        {"name": f"{side.capitalize()}'s file alone", "share": found["correct_matches"], "kind": "alone"}
        for side, found in own.items()
    ]
    rows.append({"name": "the combined output", "share": combined, "kind": "combined"})
    shown = [{**row, "text": wording.figure(row["share"])} for row in rows]
    names = [row["name"] for row in shown]
    room = max(max(row["share"] for row in rows) * 1.15, 0.01)
    base = alt.Chart(alt.InlineData(values=shown), width=_WIDTH + 60, height={"step": 36}).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=_LABELS, labelFontSize=12)),
        x=alt.X(
            "share:Q",
            title="people expected to be matched correctly",
            axis=_percent(),
            scale=alt.Scale(domain=[0, min(1.0, room) if room < 1.0 else 1.1], nice=False),
        ),
    )
    bars = base.mark_bar(height={"band": 0.65}).encode(
        color=alt.condition("datum.kind == 'combined'", alt.value(OCHRE), alt.value(GREY))
    )
    text = base.mark_text(align="left", dx=5, color=SOFT).encode(text="text:N")
    reported = "; ".join(f"{row['name']} {row['text']}" for row in shown)
    return Chart(alt.layer(bars, text), f"People who would be matched correctly: {reported}.")


def variables_chart(shares: Sequence[Mapping[str, Any]]) -> Chart:
    """How much each key variable adds to records' being singled out."""
    rows = [
        {"name": row["variable"], "share": row["share"], "text": f"{row['share']:.0%}"}
        for row in sorted(shares, key=lambda row: -row["share"])
    ]
    names = [row["name"] for row in rows]
    base = alt.Chart(alt.InlineData(values=rows), width=FULL_WIDTH // 2 - 130, height={"step": 27}).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=110)),
        x=alt.X("share:Q", title="of what singles records out, in part by it", axis=_percent(), scale=_whole()),
    )
    bars = base.mark_bar(color=TEAL, height={"band": 0.7})
    text = base.mark_text(align="left", dx=4, color=SOFT, fontSize=11).encode(text="text:N")
    reported = "; ".join(f"{row['name']} {row['text']}" for row in rows)
    return Chart(alt.layer(bars, text), f"Contribution of each key variable to records being unique: {reported}.")


def options_chart(found: Mapping[str, Any], measure: Mapping[str, Any]) -> Chart:
    """What the chief measure would be after each way of releasing less."""
    now = {"name": "as it is", "value": measure["judged"], "kind": "now", "text": wording.figure(measure["judged"])}
    rows = [now] + [
        {
            "name": row["action"],
            "value": row["main"],
            "kind": "enough" if row["enough"] else "after",
            "text": wording.figure(row["main"]),
        }
        for row in found["rows"]
    ]
    names = [row["name"] for row in rows]
    scale = alt.Scale(domain=[0, max(1e-6, *(row["value"] * 1.12 for row in rows), (measure["limit"] or 0.0) * 1.12)])
    width = FULL_WIDTH - 400
    base = alt.Chart(alt.InlineData(values=rows), width=width, height={"step": 25}).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=330, labelFontSize=11.5)),
        x=alt.X("value:Q", title=MEASURES[found["main"]].title.lower(), axis=_percent(), scale=scale),
    )
    bars = base.mark_bar(height={"band": 0.68}).encode(
        color=alt.Color(
            "kind:N", legend=None, scale=alt.Scale(domain=["now", "enough", "after"], range=[SOFT, TEAL, GREY])
        )
    )
    text = base.mark_text(align="left", dx=4, color=SOFT, fontSize=11).encode(text="text:N")
    layers: list[alt.Chart] = [bars, text]
    if measure["limit"] is not None:
        line = alt.Chart(alt.InlineData(values=[{"limit": measure["limit"]}]))
        layers.append(line.mark_rule(color=RUST, strokeDash=[5, 3], size=1.5).encode(x=alt.X("limit:Q", scale=scale)))
    reported = "; ".join(f"{row['name']} {row['text']}" for row in rows)
    title = MEASURES[found["main"]].title
    return Chart(alt.layer(*layers), f"{title}, as it is and after each change: {reported}.")


def _size_label(low: int, high: int | None) -> str:
    if high is None:
        return f"{low} or more"
    return {1: "alone", 2: "two"}.get(low, f"{low} to {high}") if low == high else f"{low} to {high}"


def _percent() -> alt.Axis:
    return alt.Axis(format="~%", tickCount=6)


def _whole() -> alt.Scale:
    """0 to 100 %, with room for the figures after the ends of the bars."""
    return alt.Scale(domain=[0, 1.1], nice=False)
