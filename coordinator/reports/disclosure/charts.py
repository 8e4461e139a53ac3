"""The charts of the report on disclosure risk: each a function from the document to a chart and words for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from gemel.common.documents.disclosure_measures import MEASURES, report_order
from gemel.common.language import clauses, decimals, gettext, marked, named, written
from gemel.coordinator.reports.marks import (
    FULL_WIDTH,
    LINES,
    Chart,
    dashed_rule,
    named_bars,
    of_rows,
    reported,
    wrapped,
)
from gemel.risk.report.drawing import GREY, INK, OCHRE, RUST, SOFT, TEAL

from . import wording

_LABELS = 250
_WIDTH = FULL_WIDTH - _LABELS - 60
_LINE, _ACTION_LINE = 43, 57
"""Characters of a label's line, so that none is cut off."""
_STEP = 34
_SMALL = {"fontSize": 11}
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
        ends = {
            end: found["value"] if found[of] is None else found[of] for end, of in (("low", "lower"), ("high", "upper"))
        }
        row = {"name": wrapped(gettext(MEASURES[name].title), _LINE), "value": found["value"], **ends}
        rows.append(row | {"limit": found["limit"], "kind": gettext(kind), "text": wording.figure(found["value"])})
    titles = [row["name"] for row in rows]
    axis = alt.Axis(labelLimit=_LABELS, labelFontSize=12, labelColor=INK, labelExpr=LINES)
    y = alt.Y("name:N", sort=titles, title=None, axis=axis)
    scale = _whole()
    x = alt.X(
        "value:Q", title=gettext("of all who could be concerned, or as a probability"), scale=scale, axis=_percent()
    )
    colours = {gettext(_ABOVE): RUST, gettext(_WITHIN): TEAL, gettext(_UNJUDGED): GREY}
    kinds = [kind for kind in colours if any(row["kind"] == kind for row in rows)]
    colour = alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[colours[kind] for kind in kinds]))
    base = of_rows(rows, width=_WIDTH, height={"step": _STEP})
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
    listed = clauses(f"{row['name']} {row['text']}, {row['kind']}" for row in rows)
    alt_text = gettext("Bars of every measure of risk. {reported}.").format(reported=listed)
    return Chart(alt.layer(bars, whiskers, limits, label), alt_text)


def chances_chart(histogram: Mapping[str, Any]) -> Chart:
    """How many records have how great a chance to be matched to their person."""
    edges, records = histogram["edges"], histogram["records"]
    rows = [{"from": edges[k], "to": edges[k + 1], "records": number} for k, number in enumerate(records)]
    x = alt.X("from:Q", bin="binned", title=gettext("chance to be matched to the right person"), axis=_percent())
    bars = of_rows(rows, width=FULL_WIDTH // 2 - 90, height=220).mark_bar(color=TEAL, binSpacing=1)
    total = sum(records) or 1
    half = sum(number for k, number in enumerate(records) if edges[k] >= 0.5)
    words = gettext("Histogram of the linked records by their chance to be found: {share} at one half.")
    drawing = bars.encode(x=x, x2="to:Q", y=alt.Y("records:Q", title=gettext("linked records")))
    return Chart(drawing, words.format(share=written(half / total, ".1%")))


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
    bars, text = named_bars(
        rows,
        alt.X("records:Q", title=gettext("linked records"), axis=alt.Axis(tickCount=4)),
        width=FULL_WIDTH // 2 - 110,
        step=31,
        band=0.75,
        axis=alt.Axis(labelFontSize=11.5),
        title=gettext("records that are alike"),
        figures=_SMALL,
    )
    bars = bars.encode(color=alt.condition("datum.alone", alt.value(RUST), alt.value(TEAL)))
    listed = clauses(named(row["name"], row["text"]) for row in rows)
    words = gettext("Bars of the linked records by how many are like them. {reported}.")
    return Chart(alt.layer(bars, text), words.format(reported=listed))


def linking_chart(document: Mapping[str, Any]) -> Chart:
    """The share of the same people who are found in either file alone and in the combined output."""
    alone = gettext("{side}'s file alone")
    shares = [
        (alone.format(side=side.capitalize()), found["correct_matches"], "alone")
        for side, found in document["identification"]["own_file"].items()
    ]
    combined = document["measures"]["correct_matches"]["value"]
    shares.append((gettext("the combined output"), combined, "combined"))
    rows = [{"name": name, "share": share, "kind": kind, "text": wording.figure(share)} for name, share, kind in shares]
    room = max(max(share for _, share, _ in shares) * 1.15, 0.01)
    x = alt.X(
        "share:Q",
        title=gettext("people expected to be matched correctly"),
        axis=_percent(),
        scale=alt.Scale(domain=[0, min(1.0, room) if room < 1.0 else 1.1], nice=False),
    )
    axis = alt.Axis(labelLimit=_LABELS, labelFontSize=12)
    bars, text = named_bars(rows, x, width=_WIDTH + 60, step=36, band=0.65, axis=axis, dx=5)
    bars = bars.encode(color=alt.condition("datum.kind == 'combined'", alt.value(OCHRE), alt.value(GREY)))
    words = gettext("People who would be matched correctly: {reported}.")
    return Chart(alt.layer(bars, text), words.format(reported=reported(rows)))


def variables_chart(shares: Sequence[Mapping[str, Any]]) -> Chart:
    """How much each key variable adds to records' being singled out."""
    rows = [
        {"name": row["variable"], "share": row["share"], "text": written(row["share"], ".0%")}
        for row in sorted(shares, key=lambda row: -row["share"])
    ]
    title = gettext("of what singles records out, in part by it")
    bars, text = named_bars(
        rows,
        alt.X("share:Q", title=title, axis=_percent(), scale=_whole()),
        width=FULL_WIDTH // 2 - 130,
        step=27,
        band=0.7,
        axis=alt.Axis(labelLimit=110),
        figures=_SMALL,
        color=TEAL,
    )
    words = gettext("Contribution of each key variable to records being unique: {reported}.")
    return Chart(alt.layer(bars, text), words.format(reported=reported(rows)))


def options_chart(found: Mapping[str, Any], measure: Mapping[str, Any]) -> Chart:
    """What the chief measure would be after each way of releasing less."""
    values = [(gettext("as it is"), measure["judged"], _NOW)]
    values += [
        (wrapped(row["action"], _ACTION_LINE), row["main"], _ENOUGH if row["enough"] else _AFTER)
        for row in found["rows"]
    ]
    rows = [
        {"name": name, "value": value, "kind": gettext(kind), "text": wording.figure(value)}
        for name, value, kind in values
    ]
    ends = [1.12 * value for value in (*(value for _, value, _ in values), measure["limit"] or 0.0)]
    scale = alt.Scale(domain=[0, max(1e-6, *ends)])
    title = gettext(MEASURES[found["main"]].title)
    bars, text = named_bars(
        rows,
        alt.X("value:Q", title=title, axis=_percent(), scale=scale),
        width=FULL_WIDTH - 400,
        step=30,
        band=0.68,
        axis=alt.Axis(labelLimit=330, labelFontSize=11.5, labelExpr=LINES),
        figures=_SMALL,
    )
    kinds = [gettext(kind) for kind in (_NOW, _ENOUGH, _AFTER)]
    colour = alt.Color("kind:N", legend=None, scale=alt.Scale(domain=kinds, range=[SOFT, TEAL, GREY]))
    layers: list[alt.Chart] = [bars.encode(color=colour), text]
    if measure["limit"] is not None:
        line = dashed_rule([{"limit": measure["limit"]}], RUST, (5, 3), size=1.5)
        layers.append(line.encode(x=alt.X("limit:Q", scale=scale)))
    words = gettext("{title}, as it is and after each change: {reported}.")
    return Chart(alt.layer(*layers), words.format(title=title, reported=reported(rows)))


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
