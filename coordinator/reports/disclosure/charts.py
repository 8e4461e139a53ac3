"""The charts of the report on disclosure risk: each a function from the document to a chart and words for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from gemel.common.documents.disclosure_measures import MEASURES, report_order
from gemel.common.language import clauses, decimals, gettext, marked, named, written
from gemel.coordinator.reports.linkage.charts import FULL_WIDTH, LINES, Chart, wrapped
from gemel.risk.report.drawing import GREY, INK, OCHRE, RUST, SOFT, TEAL

from . import wording

_LABELS = 250
_WIDTH = FULL_WIDTH - _LABELS - 60
_LINE, _ACTION_LINE = 43, 57
"""Characters of a label's line, so that none is cut off."""
_STEP = 34
# Beside the bar, or beside its limit where the limit would be in the way.
_LABEL_AT = (
    "datum.limit !== null && datum.limit >= datum.high && datum.limit < datum.high + 0.09 ? datum.limit : datum.high"
)
_WITHIN, _ABOVE, _UNJUDGED = marked("within its limit"), marked("above its limit"), marked("no limit set")
_NOW, _ENOUGH, _AFTER = marked("now"), marked("enough"), marked("after")


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
                "name": wrapped(gettext(MEASURES[name].title), _LINE),
                "value": found["value"],
                "low": found["lower"] if found["lower"] is not None else found["value"],
                "high": found["upper"] if found["upper"] is not None else found["value"],
                "limit": found["limit"],
                "kind": gettext(kind),
                "text": wording.figure(found["value"]),
            }
        )
    titles = [wrapped(gettext(MEASURES[name].title), _LINE) for name in order]
    axis = alt.Axis(labelLimit=_LABELS, labelFontSize=12, labelColor=INK, labelExpr=LINES)
    y = alt.Y("name:N", sort=titles, title=None, axis=axis)
    scale = _whole()
    x = alt.X(
        "value:Q", title=gettext("of all who could be concerned, or as a probability"), scale=scale, axis=_percent()
    )
    colours = {gettext(_ABOVE): RUST, gettext(_WITHIN): TEAL, gettext(_UNJUDGED): GREY}
    kinds = [kind for kind in colours if any(row["kind"] == kind for row in rows)]
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
    reported = clauses(f"{row['name']} {row['text']}, {row['kind']}" for row in rows)
    return Chart(
        alt.layer(bars, whiskers, limits, label),
        gettext("Bars of every measure of risk. {reported}.").format(reported=reported),
    )


def chances_chart(histogram: Mapping[str, Any]) -> Chart:
    """How many records have how great a chance to be matched to their person."""
    edges, records = histogram["edges"], histogram["records"]
    rows = [{"from": edges[k], "to": edges[k + 1], "records": number} for k, number in enumerate(records)]
    bars = (
        alt.Chart(alt.InlineData(values=rows), width=FULL_WIDTH // 2 - 90, height=220)
        .mark_bar(color=TEAL, binSpacing=1)
        .encode(
            x=alt.X("from:Q", bin="binned", title=gettext("chance to be matched to the right person"), axis=_percent()),
            x2="to:Q",
            y=alt.Y("records:Q", title=gettext("linked records")),
        )
    )
    total = sum(records) or 1
    half = sum(number for k, number in enumerate(records) if edges[k] >= 0.5)
    words = gettext("Histogram of the linked records by their chance to be found: {share} at one half.")
    return Chart(bars, words.format(share=written(half / total, ".1%")))


def sizes_chart(sizes: Sequence[Mapping[str, Any]]) -> Chart:
    """How many records share their keys with how many."""
    rows = [
        {
            "name": _size_label(size["from"], size["to"]),
            "records": size["records"],
            "alone": size["to"] == 1,
            "text": decimals(f"{size['records']:,}"),
        }
        for size in sizes
    ]
    labels = [row["name"] for row in rows]
    base = alt.Chart(alt.InlineData(values=rows), width=FULL_WIDTH // 2 - 110, height={"step": 31}).encode(
        y=alt.Y("name:N", sort=labels, title=gettext("records that are alike"), axis=alt.Axis(labelFontSize=11.5)),
        x=alt.X("records:Q", title=gettext("linked records"), axis=alt.Axis(tickCount=4)),
    )
    bars = base.mark_bar(height={"band": 0.75}).encode(
        color=alt.condition("datum.alone", alt.value(RUST), alt.value(TEAL))
    )
    text = base.mark_text(align="left", dx=4, color=SOFT, fontSize=11).encode(text="text:N")
    reported = clauses(named(row["name"], row["text"]) for row in rows)
    words = gettext("Bars of the linked records by how many are like them. {reported}.")
    return Chart(alt.layer(bars, text), words.format(reported=reported))


def linking_chart(document: Mapping[str, Any]) -> Chart:
    """The share of the same people who are found in either file alone and in the combined output."""
    own = document["identification"]["own_file"]
    combined = document["measures"]["correct_matches"]["value"]
    rows = [
        {
            "name": gettext("{side}'s file alone").format(side=side.capitalize()),
            "share": found["correct_matches"],
            "kind": "alone",
        }
        for side, found in own.items()
    ]
    rows.append({"name": gettext("the combined output"), "share": combined, "kind": "combined"})
    shown = [{**row, "text": wording.figure(row["share"])} for row in rows]
    names = [row["name"] for row in shown]
    room = max(max(row["share"] for row in rows) * 1.15, 0.01)
    base = alt.Chart(alt.InlineData(values=shown), width=_WIDTH + 60, height={"step": 36}).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=_LABELS, labelFontSize=12)),
        x=alt.X(
            "share:Q",
            title=gettext("people expected to be matched correctly"),
            axis=_percent(),
            scale=alt.Scale(domain=[0, min(1.0, room) if room < 1.0 else 1.1], nice=False),
        ),
    )
    bars = base.mark_bar(height={"band": 0.65}).encode(
        color=alt.condition("datum.kind == 'combined'", alt.value(OCHRE), alt.value(GREY))
    )
    text = base.mark_text(align="left", dx=5, color=SOFT).encode(text="text:N")
    reported = clauses(f"{row['name']} {row['text']}" for row in shown)
    words = gettext("People who would be matched correctly: {reported}.")
    return Chart(alt.layer(bars, text), words.format(reported=reported))


def variables_chart(shares: Sequence[Mapping[str, Any]]) -> Chart:
    """How much each key variable adds to records' being singled out."""
    rows = [
        {"name": row["variable"], "share": row["share"], "text": written(row["share"], ".0%")}
        for row in sorted(shares, key=lambda row: -row["share"])
    ]
    names = [row["name"] for row in rows]
    base = alt.Chart(alt.InlineData(values=rows), width=FULL_WIDTH // 2 - 130, height={"step": 27}).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=110)),
        x=alt.X(
            "share:Q", title=gettext("of what singles records out, in part by it"), axis=_percent(), scale=_whole()
        ),
    )
    bars = base.mark_bar(color=TEAL, height={"band": 0.7})
    text = base.mark_text(align="left", dx=4, color=SOFT, fontSize=11).encode(text="text:N")
    reported = clauses(f"{row['name']} {row['text']}" for row in rows)
    words = gettext("Contribution of each key variable to records being unique: {reported}.")
    return Chart(alt.layer(bars, text), words.format(reported=reported))


def options_chart(found: Mapping[str, Any], measure: Mapping[str, Any]) -> Chart:
    """What the chief measure would be after each way of releasing less."""
    judged = measure["judged"]
    now = {"name": gettext("as it is"), "value": judged, "kind": gettext(_NOW), "text": wording.figure(judged)}
    rows = [now] + [
        {
            "name": wrapped(row["action"], _ACTION_LINE),
            "value": row["main"],
            "kind": gettext(_ENOUGH if row["enough"] else _AFTER),
            "text": wording.figure(row["main"]),
        }
        for row in found["rows"]
    ]
    names = [row["name"] for row in rows]
    scale = alt.Scale(domain=[0, max(1e-6, *(row["value"] * 1.12 for row in rows), (measure["limit"] or 0.0) * 1.12)])
    title = gettext(MEASURES[found["main"]].title)
    width = FULL_WIDTH - 400
    base = alt.Chart(alt.InlineData(values=rows), width=width, height={"step": 30}).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=330, labelFontSize=11.5, labelExpr=LINES)),
        x=alt.X("value:Q", title=title, axis=_percent(), scale=scale),
    )
    bars = base.mark_bar(height={"band": 0.68}).encode(
        color=alt.Color(
            "kind:N",
            legend=None,
            scale=alt.Scale(domain=[gettext(kind) for kind in (_NOW, _ENOUGH, _AFTER)], range=[SOFT, TEAL, GREY]),
        )
    )
    text = base.mark_text(align="left", dx=4, color=SOFT, fontSize=11).encode(text="text:N")
    layers: list[alt.Chart] = [bars, text]
    if measure["limit"] is not None:
        line = alt.Chart(alt.InlineData(values=[{"limit": measure["limit"]}]))
        layers.append(line.mark_rule(color=RUST, strokeDash=[5, 3], size=1.5).encode(x=alt.X("limit:Q", scale=scale)))
    reported = clauses(f"{row['name']} {row['text']}" for row in rows)
    words = gettext("{title}, as it is and after each change: {reported}.")
    return Chart(alt.layer(*layers), words.format(title=title, reported=reported))


def _size_label(low: int, high: int | None) -> str:
    if high is None:
        return gettext("{low} or more").format(low=low)
    if low == high and low in (1, 2):
        return gettext("alone") if low == 1 else gettext("two")
    return gettext("{low} to {high}").format(low=low, high=high)


def _percent() -> alt.Axis:
    return alt.Axis(format="~%", tickCount=6)


def _whole() -> alt.Scale:
    """0 to 100 %, with room for the figures after the ends of the bars."""
    return alt.Scale(domain=[0, 1.1], nice=False)
