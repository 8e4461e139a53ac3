"""The report's charts: each a function from content to an altair chart and the words for those who cannot see it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from gemel.common.documents.linkage_document import Curve
from gemel.common.documents.model_document import FieldParameters
from gemel.common.language import clauses, gettext, ngettext, share
from gemel.coordinator.reports.marks import FULL_WIDTH, Chart, dashed_rule, of_rows, series
from gemel.risk.report.drawing import GREY, INK, OCHRE, RUST, SOFT, TEAL

from . import wording
from .content import ReportContent

Panel = alt.Chart | alt.LayerChart | alt.FacetChart

_COLUMNS = 2
_GAP = 36
_POINTS = 600
"""Of a curve, as many as a drawing can show."""
_BESIDE: dict[str, Any] = {"paddingInner": 0, "paddingOuter": 0.12}
"""Of two bars of a level."""
_LABELS = 74
_SQUARE = FULL_WIDTH // 2 - 80
_PANEL = (FULL_WIDTH - _GAP) // _COLUMNS - _LABELS


def weights_chart(fields: Sequence[FieldParameters]) -> Chart:
    """Draw the match weight of every comparison level, a panel per field on one scale."""
    scored = [field.scored for field in fields]
    lowest = min(min(field.weights) for field in scored)
    highest = max(max(field.weights) for field in scored)
    # Room for the figures after the ends of the bars.
    room = 0.09 * max(1.0, highest - min(lowest, 0.0))
    scale = alt.Scale(domain=[min(lowest, 0.0) - room, max(highest, 0.0) + room], nice=False)
    panels = []
    for i, field in enumerate(fields):
        title = gettext("match weight (log2 Bayes factor)") if _at_foot(i, len(fields)) else None
        x = alt.X("weight:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6))
        labels = wording.level_labels(scored[i].bounds)
        rows = [
            {"level": label, "weight": weight, "text": wording.signed(weight)}
            for label, weight in zip(labels, scored[i].weights, strict=True)
        ]
        base = of_rows(rows).encode(y=_levels(labels))
        bars = base.mark_bar(height={"band": 0.8}).encode(
            x=x, color=alt.condition("datum.weight >= 0", alt.value(TEAL), alt.value(RUST))
        )
        label = base.encode(x=x, text="text:N")
        right = label.transform_filter("datum.weight >= 0").mark_text(align="left", dx=4, fontSize=10, color=SOFT)
        left = label.transform_filter("datum.weight < 0").mark_text(align="right", dx=-4, fontSize=10, color=SOFT)
        zero = of_rows([{"weight": 0}]).mark_rule(color=SOFT, size=1).encode(x=x)
        panels.append(_panel(alt.layer(bars, left, right, zero), field.name, len(rows)))
    strongest = max(fields, key=lambda field: max(field.weights))
    against = min(fields, key=lambda field: min(field.weights))
    alt_text = ngettext(
        "Bars of the match weight of each comparison level, for {number} field. Strongest for a match: {strongest}."
        " Strongest against: {against}.",
        "Bars of the match weight of each comparison level, for {number} fields. Strongest for a match: {strongest}."
        " Strongest against: {against}.",
        len(fields),
    ).format(
        number=len(fields),
        strongest=f"{strongest.name}, {wording.signed(max(strongest.weights))}",
        against=f"{against.name}, {wording.signed(min(against.weights))}",
    )
    return Chart(_grid(panels), alt_text)


def levels_chart(fields: Sequence[FieldParameters]) -> Chart:
    """Draw m and u of every comparison level, a panel per field; m with two standard errors either way."""
    who = [gettext("matches (m)"), gettext("non-matches (u)")]
    panels = []
    for i, field in enumerate(fields):
        title = gettext("share of pairs at the level") if _at_foot(i, len(fields)) else None
        x: dict[str, Any] = {
            "title": title,
            "scale": alt.Scale(domain=[0, 1]),
            "axis": alt.Axis(format="%", tickCount=5),
        }
        labels = wording.level_labels(field.bounds)
        rows = [
            {"level": label, "share": value, "who": name}
            for name, values in zip(who, (field.m, field.u), strict=True)
            for label, value in zip(labels, values, strict=True)
        ]
        drawn: Panel = (
            of_rows(rows)
            .mark_bar()
            .encode(
                x=alt.X("share:Q", **x),
                y=_levels(labels),
                yOffset=alt.YOffset("who:N", sort=who, scale=alt.Scale(**_BESIDE)),
                color=series("who:N", who, (TEAL, OCHRE)),
            )
        )
        errors = field.standard_errors.m if field.standard_errors else [None] * len(labels)
        spread = [
            {"level": label, "low": max(0.0, m - 2 * error), "high": min(1.0, m + 2 * error), "who": who[0]}
            for label, m, error in zip(labels, field.m, errors, strict=True)
            if error is not None
        ]
        if spread:
            whiskers = of_rows(spread).mark_rule(color=INK, size=1)
            at = alt.YOffset("who:N", sort=who, scale=alt.Scale(domain=who, **_BESIDE))
            drawn = alt.layer(drawn, whiskers.encode(x=alt.X("low:Q", **x), x2="high:Q", y=_levels(labels), yOffset=at))
        panels.append(_panel(drawn, field.name, len(rows) // 2, step=16))
    top = gettext("{name} {m} and {u}")
    tops = clauses(top.format(name=field.name, m=share(field.m[-1]), u=share(field.u[-1])) for field in fields)
    alt_text = gettext(
        "Bars of m and u by comparison level and field. Shares at the top level, matches and non-matches: {tops}."
    ).format(tops=tops)
    return Chart(_grid(panels), alt_text)


def histogram_chart(content: ReportContent) -> Chart:
    """Draw the kept pairs by match weight, those that became links in front, and the decision."""
    histogram, decision = content.linkage.histogram, content.threshold_weight
    edges, counts, links = list(histogram.edges), list(histogram.counts), list(histogram.links)
    positive = [number for number in counts if number > 0]
    logarithmic = bool(positive) and max(positive) > 30 * min(positive)
    base, room = (0.7, 1.6) if logarithmic else (0.0, 1.08)
    top = max([*positive, 1]) * room
    names, colours = (
        ([gettext("kept pairs"), gettext("links")], [GREY, TEAL]) if links else ([gettext("kept pairs")], [TEAL])
    )
    rows = [
        {"left": edges[i], "right": edges[i + 1], "pairs": number, "base": base, "what": name}
        for name, numbers in zip(names, (counts, links), strict=False)
        for i, number in enumerate(numbers)
        if number > 0
    ]
    x_scale = alt.Scale(domain=[edges[0], edges[-1]], nice=False)
    x = alt.X("left:Q", title=gettext("match weight (log2 Bayes factor)"), scale=x_scale)
    y = alt.Y(
        "pairs:Q",
        title=gettext("pairs (log scale)") if logarithmic else gettext("pairs"),
        scale=alt.Scale(type="log", domain=[base, top], nice=False) if logarithmic else alt.Scale(domain=[0, top]),
        axis=alt.Axis(
            values=[10.0**k for k in range(math.ceil(math.log10(top)))] if logarithmic else alt.Undefined,
            format=",d",
            tickCount=5,
        ),
    )
    colour = alt.Color("what:N", scale=alt.Scale(domain=names, range=colours), legend=alt.Legend() if links else None)
    bars = of_rows(rows, width=FULL_WIDTH - 70, height=230).mark_bar(binSpacing=1)
    layers: list[alt.Chart] = [bars.encode(x=x, x2="right:Q", y=y, y2="base:Q", color=colour)]
    if edges[0] <= decision <= edges[-1]:
        mark = [{"left": decision, "text": _decision(content)}]
        place: dict[str, Any]
        place = {"align": "right", "dx": -6} if decision > (edges[0] + edges[-1]) / 2 else {"align": "left", "dx": 6}
        words = of_rows(mark).mark_text(color=RUST, dy=6, **place)
        layers.append(dashed_rule(mark, RUST, (4, 3), size=1.5).encode(x=x))
        layers.append(words.encode(x=x, y=alt.value(0), text="text:N"))
    alt_text = gettext("Histogram of {pairs} kept pairs by match weight, from {low} to {high}.").format(
        pairs=wording.count(sum(counts)), low=wording.signed(edges[0]), high=wording.signed(edges[-1])
    )
    if math.isfinite(decision):
        above = sum(number for left, number in zip(edges, counts, strict=False) if left >= decision)
        over = gettext("{pairs} are in bars above the decision at weight {weight}.")
        alt_text += f" {over.format(pairs=wording.count(above), weight=wording.signed(decision))}"
    return Chart(alt.layer(*layers), alt_text)


def precision_recall_chart(content: ReportContent) -> Chart:
    """Draw the precision-recall curve, whole and with its corner enlarged, with decision and best threshold."""
    evaluation = content.evaluation
    if evaluation is None:
        raise AssertionError("a precision-recall curve needs the truth")
    decision, best = evaluation.at_decision, evaluation.at_best
    recall, precision = _thinned(evaluation.curve)
    marks = [
        {"recall": decision.recall, "precision": decision.precision, "what": gettext("decision taken")},
        {"recall": best.recall, "precision": best.precision, "what": gettext("best F1")},
    ]
    worst = min(mark[axis] for mark in marks for axis in ("recall", "precision"))  # type: ignore[type-var]
    corner = next((low for low in (0.99, 0.98, 0.95, 0.9, 0.8) if float(worst) >= low + 0.2 * (1 - low)), None)  # type: ignore[arg-type]
    panels = [_curve_panel(recall, precision, marks, 0.0, gettext("the whole curve"))]
    if corner is not None:
        panels.append(_curve_panel(recall, precision, marks, corner, gettext("its upper right corner")))
    alt_text = gettext(
        "Precision against recall. At the decision precision is {precision} and recall {recall}; the best F1, {f1},"
        " lies at {best_precision} and {best_recall}. The area under the expected curve is {auc}."
    ).format(
        precision=share(decision.precision),
        recall=share(decision.recall),
        f1=wording.score(best.f1),
        best_precision=share(best.precision),
        best_recall=share(best.recall),
        auc=wording.score(evaluation.auc),
    )
    return Chart(alt.hconcat(*panels, spacing=30), alt_text)


def calibration_chart(content: ReportContent) -> Chart:
    """Draw running true matches against running match probability, and what lies between them."""
    if content.evaluation is None:
        raise AssertionError("calibration needs the truth")
    points = content.evaluation.calibration
    expected = np.asarray([0.0, *points.expected])
    observed = np.asarray([0.0, *points.observed])
    end = float(max(expected[-1], observed[-1], 1.0)) * 1.03
    rows = [
        {"expected": float(expected[i]), "true": float(observed[i]), "excess": float(observed[i] - expected[i])}
        for i in _spaced(len(expected), 500)
    ]
    reach = max(5.0, *(abs(row["excess"]) for row in rows)) * 1.1
    scale = alt.Scale(domain=[0, end], nice=False)
    x = alt.X("expected:Q", title=gettext("matches expected by the model"), scale=scale, axis=_round())
    panels = []
    for name, what, limits, ideal in (
        ("true", gettext("true matches"), [0.0, end], [0.0, end]),
        ("excess", gettext("true less expected matches"), [-reach, reach], [0.0, 0.0]),
    ):
        y = alt.Y(f"{name}:Q", title=what, scale=alt.Scale(domain=limits, nice=False), axis=_round())
        line = [{"expected": at, name: value} for at, value in zip((0.0, end), ideal, strict=True)]
        drawn = alt.layer(
            of_rows(line).mark_line(color=SOFT, size=1, strokeDash=[4, 3]).encode(x=x, y=y),
            of_rows(rows).mark_line(color=TEAL, size=2.2).encode(x=x, y=y, order="expected:Q"),
        )
        panels.append(drawn.properties(width=_SQUARE, height=_SQUARE - 40))
    alt_text = gettext(
        "True matches against expected ones, most probable pairs first: over all kept pairs the model expects"
        " {expected} and there are {observed}."
    ).format(expected=wording.count(expected[-1]), observed=wording.count(observed[-1]))
    return Chart(alt.hconcat(*panels, spacing=30), alt_text)


def _curve_panel(
    recall: NDArray[np.float64], precision: NDArray[np.float64], marks: list[dict[str, object]], low: float, title: str
) -> Panel:
    # A hair above 1, so that a curve along the upper edge is not cut in half.
    scale = alt.Scale(domain=[low, 1 + 0.01 * (1 - low)], nice=False, clamp=False)
    axis = alt.Axis(format=".0%" if low < 0.95 else ".1%", tickCount=5)
    x = alt.X("recall:Q", title=gettext("recall"), scale=scale, axis=axis)
    y = alt.Y("precision:Q", title=gettext("precision"), scale=scale, axis=axis)
    rows = [{"recall": float(r), "precision": float(q)} for r, q in zip(recall, precision, strict=True)]
    line = of_rows(rows).mark_line(color=TEAL, size=2.2, clip=True).encode(x=x, y=y, order="recall:Q")
    what = [str(mark["what"]) for mark in marks]
    shape = alt.Shape("what:N", scale=alt.Scale(domain=what, range=["circle", "diamond"]))
    colour = alt.Color("what:N", scale=alt.Scale(domain=what, range=[RUST, OCHRE]))
    points = of_rows(marks).mark_point(size=90, filled=True, opacity=1).encode(x=x, y=y, shape=shape, color=colour)
    named = alt.TitleParams(title, fontWeight="normal", color=INK, frame="group")
    return alt.layer(line, points).properties(width=_SQUARE, height=_SQUARE - 40, title=named)


def _thinned(curve: Curve) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the curve with so many points as a drawing can show: evenly spaced along its length."""
    recall = np.asarray(curve.recall, dtype=np.float64)
    precision = np.asarray(curve.precision, dtype=np.float64)
    if len(recall) == 0:
        return recall, precision
    # In the first class pairs are equally probable, so its expected precision holds from recall 0 on.
    recall, precision = np.concatenate([[0.0], recall]), np.concatenate([precision[:1], precision])
    if len(recall) <= _POINTS:
        return recall, precision
    # Along the length, since a curve at its corner has most of its points in one place, and those matter.
    length = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(recall), np.diff(precision)))])
    even = np.searchsorted(length, np.linspace(0.0, length[-1], _POINTS // 2))
    corner = np.flatnonzero((recall > 0.8) & (precision > 0.8))
    kept = np.unique(np.concatenate([even, corner[_spaced(len(corner), _POINTS // 2)], [0, len(recall) - 1]]))
    return recall[kept], precision[kept]


def _spaced(n: int, maximum: int) -> NDArray[np.int64]:
    if n <= maximum:
        return np.arange(n)
    return np.unique(np.linspace(0, n - 1, maximum).round().astype(np.int64))


def _levels(labels: list[str]) -> alt.Y:
    # The extent is fixed so that the panels of a column line up.
    axis = alt.Axis(title=None, minExtent=_LABELS, maxExtent=_LABELS, ticks=False, domain=False, labelPadding=6)
    return alt.Y("level:N", sort=labels[::-1], axis=axis)


def _panel(chart: Panel, title: str, n_levels: int, step: int = 15) -> Panel:
    return chart.properties(width=_PANEL, height=step * n_levels, title=alt.TitleParams(title, frame="group"))


def _at_foot(i: int, n: int) -> bool:
    """Whether panel `i` of `n` is the last of its column, where the axis is named."""
    return i + _COLUMNS >= n


def _grid(panels: Sequence[Panel]) -> alt.ConcatChart:
    return alt.concat(*panels, columns=_COLUMNS, spacing={"row": 18, "column": _GAP}, align="each")


def _round() -> alt.Axis:
    return alt.Axis(format=",d", tickCount=5)


def _decision(content: ReportContent) -> str:
    threshold = wording.probability(content.linkage.threshold)
    return gettext("decision: probability {threshold}").format(threshold=threshold)
