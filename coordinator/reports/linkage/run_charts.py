"""The report's charts of how the model was reached and what it does: EM's course, thresholds, examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from gemel.common.documents.linkage_document import (
    AtThreshold,
    BothUnlinkable,
    EffectOfValues,
    Example,
    ExplainedGroup,
    SchemeResult,
)
from gemel.common.documents.model_document import FieldParameters, History
from gemel.common.language import clauses, gettext, listed, marked, named, share, written
from gemel.coordinator.reports.linkage import wording
from gemel.coordinator.reports.linkage.content import ReportContent
from gemel.coordinator.reports.linkage.statistics_phrases import PHRASES
from gemel.coordinator.reports.marks import FULL_WIDTH, Chart, dashed_rule, of_rows, series
from gemel.risk.report.drawing import GREY, INK, OCHRE, RUST, SOFT, TEAL

COMMONEST = "one of the commonest"
"""What an example is that is there for its frequency alone."""
SLIGHT = 0.005
"""Bits below which the fields' dependence changes nothing."""


def comparisons(content: ReportContent) -> list[dict[str, Any]]:
    """The reported comparison patterns, the most probable first, each step by step from the prior odds."""
    ranked = sorted(content.linkage.examples, key=lambda example: (-example.probability, -example.pairs))
    return [_comparison(example, content) for example in ranked]


def _contributions(example: Example, fields: Sequence[FieldParameters]) -> Iterator[tuple[str, str, float]]:
    """What adds to an example's prior: a field, its level and its weight; and the fields together, if that matters."""
    for field, level, weight in zip(fields, example.gamma, example.weights, strict=True):
        yield field.name, _label(field, level), weight
    if abs(example.together) > SLIGHT:
        yield gettext("fields together"), "", example.together


def _comparison(example: Example, content: ReportContent) -> dict[str, Any]:
    at = example.prior
    steps = [{"name": gettext("before anything is compared"), "level": "", "weight": at, "so_far": at}]
    words: dict[str, list[str]] = {}
    for name, label, weight in _contributions(example, content.model.fields):
        at += weight
        steps.append({"name": name, "level": label, "weight": weight, "so_far": at})
        if label:
            words.setdefault(label, []).append(name)
    return {
        "probability": example.probability,
        "pairs": example.pairs,
        "link": example.probability >= content.linkage.threshold,
        "words": clauses(named(label, ", ".join(names)) for label, names in words.items()),
        "steps": steps,
    }


def _label(field: FieldParameters, level: int) -> str:
    labels = wording.level_labels(field.scored.bounds)
    return wording.cell(min(level, len(labels) - 1), labels)


_HALF = FULL_WIDTH // 2 - 90
_KINDS = (marked("start"), marked("for"), marked("values"), marked("against"), marked("end"))
_SHARES = alt.Scale(domain=[0, 1])
_PER_CENT = alt.Axis(format="%")
_SERIES = [TEAL, OCHRE, RUST, GREY, SOFT, INK]


def history_chart(history: History) -> Chart:
    """Draw p, and each field's m at its top level, over the steps of EM."""
    x = alt.X("step:Q", title=gettext("step of EM"), axis=alt.Axis(tickMinStep=1, tickCount=6, format="d"))
    steps, names = list(history.step), list(history.top_m)
    prevalence = [{"step": step, "value": p} for step, p in zip(steps, history.p, strict=True)]
    title = gettext("p, share of pairs that match")
    y = alt.Y("value:Q", title=title, axis=alt.Axis(format=".2e"), scale=alt.Scale(zero=False))
    left = of_rows(prevalence, width=_HALF, height=200).mark_line(color=TEAL, size=2).encode(x=x, y=y)
    rows = [
        {"step": step, "value": m, "field": name}
        for name, values in history.top_m.items()
        for step, m in zip(steps, values, strict=True)
    ]
    legend = alt.Legend(orient="bottom", columns=3, symbolType="stroke")
    dashes = [[1, 0]] * min(6, len(names)) + [[4, 2]] * max(0, len(names) - 6)
    right = (
        of_rows(rows, width=_HALF, height=200)
        .mark_line(size=1.8)
        .encode(
            x=x,
            y=alt.Y("value:Q", title=gettext("m at the top level"), scale=_SHARES, axis=_PER_CENT),
            color=series("field:N", names, _cycled(len(names)), legend=legend),
            strokeDash=_dashes("field:N", names, dashes, title=None),
        )
    )
    last = clauses(f"{name} {share(values[-1])}" for name, values in history.top_m.items() if len(values))
    alt_text = gettext(
        "Two lines of EM's course over {steps} steps: p, which ends at {p}, and m at each field's top level, which ends"
        " at: {last}."
    ).format(steps=steps[-1] if steps else 0, p=written(history.p[-1] if len(history.p) else 0.0, ".2e"), last=last)
    return Chart(alt.hconcat(left, right, spacing=40).resolve_scale(color="independent"), alt_text)


def thresholds_chart(thresholds: list[AtThreshold], decision: float) -> Chart:
    """Draw the precision and recall that the model expects, over the threshold."""
    names = [gettext("precision"), gettext("recall")]
    rows = [
        {"threshold": row.threshold, "share": getattr(row, measure), "what": name}
        for name, measure in zip(names, ("precision", "recall"), strict=True)
        for row in thresholds
    ]
    lowest = min(min(row.precision, row.recall) for row in thresholds)
    scale = alt.Scale(domain=[max(0.0, lowest - 0.05), 1.0])
    y = alt.Y("share:Q", title=gettext("expected by the model"), axis=_PER_CENT, scale=scale)
    lines = _over_threshold(rows, y, "what:N", names, height=200)
    mark = dashed_rule([{"threshold": decision}], RUST, (4, 3)).encode(x=_threshold())
    alt_text = gettext(
        "Expected precision and recall at thresholds from {low} to {high}; the decision is at {decision}."
    ).format(
        low=written(thresholds[0].threshold),
        high=written(thresholds[-1].threshold),
        decision=wording.probability(decision),
    )
    return Chart(alt.layer(lines, mark), alt_text)


def schemes_chart(schemes: list[SchemeResult]) -> Chart:
    names = [PHRASES.plain(one.scheme) for one in schemes]
    rows = [
        {"recall": recall, "precision": precision, "scheme": name}
        for name, one in zip(names, schemes, strict=True)
        for recall, precision in zip(one.curve.recall, one.curve.precision, strict=True)
        # Below the pairs kept, the rest of the product is one class that no decision would link.
        if precision > 0.01
    ]
    lowest = min((float(row["precision"]) for row in rows if float(row["recall"]) > 0), default=0.0)  # type: ignore[arg-type]
    scale = alt.Scale(domain=[min(0.95, max(0.0, lowest - 0.05)), 1.005], nice=False)
    axis = alt.Axis(format="%", tickCount=5)
    chart = (
        of_rows(rows, width=FULL_WIDTH - 120, height=240)
        .mark_line(size=2, clip=True)
        .encode(
            x=alt.X("recall:Q", title=gettext("recall"), scale=alt.Scale(domain=[0, 1.005]), axis=_PER_CENT),
            y=alt.Y("precision:Q", title=gettext("precision"), axis=axis, scale=scale),
            order="recall:Q",
            color=series("scheme:N", names, _cycled(len(names))),
            strokeDash=_dashes("scheme:N", names, [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4]][: len(names)]),
        )
    )
    each = gettext("{scheme}: F1 {f1} at its decision, area {auc}")
    reported = clauses(
        each.format(scheme=name, f1=wording.score(one.f1), auc=wording.score(one.auc))
        for name, one in zip(names, schemes, strict=True)
    )
    return Chart(chart, gettext("Precision against recall by scheme. {reported}").format(reported=reported))


def unlinkable_chart(content: ReportContent, found: BothUnlinkable) -> Chart:
    """Draw the share of each file's records that could not be linked even to their like, over the threshold."""
    files = (content.run.files.alice, content.run.files.bob)
    names = [file.title for file in files]
    rows = [
        {"threshold": threshold, "share": records / max(1, file.records), "file": file.title}
        for file, one in zip(files, (found.alice, found.bob), strict=True)
        for threshold, records in one.below
    ]
    scale = alt.Scale(domain=[0, max(0.01, 1.1 * max(float(str(row["share"])) for row in rows))])
    axis = alt.Axis(format=".1%", tickCount=4)
    y = alt.Y("share:Q", title=gettext("records that cannot reach it"), axis=axis, scale=scale)
    alt_text = gettext(
        "Share of records that could not be linked even to their like. At the decision, {file_a}: {alice}, {file_b}:"
        " {bob}."
    ).format(
        file_a=names[0],
        alice=wording.count(found.alice.at_decision),
        file_b=names[1],
        bob=wording.count(found.bob.at_decision),
    )
    return Chart(_over_threshold(rows, y, "file:N", names, height=170), alt_text)


def _threshold() -> alt.X:
    return alt.X("threshold:Q", title=gettext("threshold"), scale=_SHARES, axis=alt.Axis(tickCount=6))


def _over_threshold(rows: list[dict[str, Any]], y: alt.Y, of: str, names: list[str], *, height: int) -> alt.Chart:
    chart = of_rows(rows, width=FULL_WIDTH - 120, height=height)
    lines: alt.Chart = chart.mark_line(point=True, size=2).encode(
        x=_threshold(), y=y, color=series(of, names, (TEAL, OCHRE))
    )
    return lines


def waterfall_chart(example: Example, fields: list[FieldParameters]) -> Chart:
    """Draw how an example's weights add up, from the prior to the posterior log odds."""
    steps = [(gettext("prior"), example.prior, "start")]
    steps += [
        (named(name, label) if label else name, bits, "for" if bits >= 0 else "against")
        for name, label, bits in _contributions(example, fields)
    ]
    what = gettext("{what} ({pairs} pairs, probability {probability})").format(
        what=PHRASES.plain(example.what),
        pairs=wording.count(example.pairs),
        probability=wording.probability(example.probability),
    )
    return _waterfall(steps, what)


def explained_chart(group: ExplainedGroup) -> Chart:
    """Draw what a group of pairs owes to agreement and to values, on average, from the prior to the log odds."""
    words = {"agreement": gettext("agreement: {name}"), "association": gettext("values: {name}")}
    steps = []
    for part in group.parts:
        if part.kind == "prior":
            steps.append((gettext("prior"), part.bits, "start"))
        else:
            kind = "against" if part.bits < 0 else "for" if part.kind == "agreement" else "values"
            name = words[part.kind].format(name=part.name) if part.kind in words else PHRASES.plain(part.name)
            steps.append((name, part.bits, kind))
    what = gettext("{what}, {pairs} pairs on average")
    return _waterfall(steps, what.format(what=PHRASES.plain(group.what), pairs=wording.count(group.pairs)))


def dependences_chart(effect: EffectOfValues) -> Chart:
    """Draw the mutual information of every edge of the joint distribution's graph, by it and by the links alone."""
    moved = sorted(effect.dependences, key=lambda one: -one.joint)
    edges = [{"edge": listed(list(one.variables)), "joint": one.joint, "links": one.links} for one in moved]
    names = [str(edge["edge"]) for edge in edges]
    who = [gettext("joint distribution"), gettext("links of agreement alone")]
    points = [
        {"edge": edge["edge"], "bits": edge[by], "who": title}
        for edge in edges
        for by, title in zip(("joint", "links"), who, strict=True)
    ]
    y = alt.Y("edge:N", sort=names, title=None, axis=alt.Axis(labelLimit=320, ticks=False, domain=False))
    title = gettext("mutual information, in bits")
    x = alt.X("joint:Q", title=title, scale=alt.Scale(zero=True))
    rules = of_rows(edges).mark_rule(color=GREY, size=2).encode(x=x, x2="links:Q", y=y)
    shapes = alt.Scale(domain=who, range=["circle", "diamond"])
    dots = (
        of_rows(points)
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=alt.X("bits:Q", title=title),
            y=y,
            color=series("who:N", who, (TEAL, OCHRE)),
            shape=alt.Shape("who:N", sort=who, title=None, scale=shapes),
        )
    )
    each = gettext("{name}: {joint} and {links}")
    reported = clauses(
        each.format(name=name, joint=wording.score(one.joint), links=wording.score(one.links))
        for name, one in zip(names, moved, strict=True)
    )
    alt_text = gettext(
        "Mutual information in bits, by the joint distribution and by the links of agreement alone. {reported}."
    ).format(reported=reported)
    return Chart(alt.layer(rules, dots).properties(width=FULL_WIDTH - 400, height=22 * len(names)), alt_text)


def _waterfall(steps: list[tuple[str, float, str]], what: str) -> Chart:
    """Bars that begin where the one before ends; of each step its name, its bits and its kind."""
    rows, at = [], 0.0
    for step, bits, kind in steps:
        rows.append(_bar(step, at, at + bits, kind))
        at += bits
    rows.append(_bar(gettext("sum"), 0.0, at, "end"))
    order = [str(row["step"]) for row in rows]
    kinds = [gettext(kind) for kind in _KINDS]
    base = of_rows(rows, width=FULL_WIDTH - 340, height=17 * len(rows)).encode(
        y=alt.Y("step:N", sort=order, axis=alt.Axis(title=None, ticks=False, domain=False, labelLimit=320))
    )
    bars = base.mark_bar(height={"band": 0.75}).encode(
        x=alt.X("from:Q", title=gettext("log2 odds of a match"), axis=alt.Axis(tickCount=8)),
        x2="to:Q",
        color=alt.Color("kind:N", legend=None, scale=alt.Scale(domain=kinds, range=[GREY, TEAL, OCHRE, RUST, INK])),
    )
    text = base.mark_text(align="left", dx=4, fontSize=10, color=SOFT).encode(x="right:Q", text="label:N")
    alt_text = gettext("{what}: log2 odds {odds}. {steps}").format(
        what=what, odds=wording.signed(at), steps=clauses(f"{row['step']} {row['label']}" for row in rows[:-1])
    )
    return Chart(alt.layer(bars, text), alt_text)


def _bar(step: str, start: float, stop: float, kind: str) -> dict[str, object]:
    ends = {"from": start, "to": stop, "right": max(start, stop)}
    return {"step": step, **ends, "kind": gettext(kind), "label": wording.signed(stop - start)}


def _dashes(field: str, names: list[str], dashes: list[list[int]], **more: Any) -> alt.StrokeDash:
    scale = alt.Scale(domain=names, range=dashes)
    return alt.StrokeDash(field, sort=names, legend=None, scale=scale, **more)


def _cycled(n: int) -> list[str]:
    return [_SERIES[k % len(_SERIES)] for k in range(n)]
