"""Put an assessment into a page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
from markupsafe import Markup

from gemel.risk.models.graphs import Graph
from gemel.risk.models.pictures import draw_graph, draw_junction_tree
from gemel.risk.report import draw, rendered
from gemel.risk.report.drawing import GREY, INK, OCHRE, RUST, SOFT, TEAL
from gemel.risk.report.page import number, share

# The report's charts, drawn as inline SVG on this machine.

_COLOURS = {"calibrated": INK, "modelled": TEAL, "log-linear": OCHRE, "true": RUST}
_SCORES = {**_COLOURS, "IS": RUST, "SUDA": SOFT, "individual": GREY}
_MINIMUM = 1e-5  # share of the records from which a bar is drawn, on a scale of logarithms


def histogram_chart(histogram: Mapping[str, Any], name: str = "histogram") -> Markup:
    """Share of the records in each class of chance: bars side by side for each way of finding it."""
    edges, series = histogram["edges"], histogram["series"]
    rows = [
        {"from": edges[k], "to": edges[k + 1], "share": share, "way": way}
        for way, own in series.items()
        for k, share in enumerate(own["share"])
        if share > 0
    ]
    log = alt.Scale(type="log", domainMin=_MINIMUM, domainMax=1)
    ticks = alt.Axis(values=[1e-4, 1e-3, 1e-2, 0.1, 1], format="~%")
    chart = alt.Chart(alt.InlineData(values=rows), width=785, height=110).transform_calculate(minimum=f"{_MINIMUM}")
    bars = chart.mark_bar().encode(
        x=alt.X("from:Q", title="chance of a correct match", scale=alt.Scale(domain=[0, 1])),
        x2="to:Q",
        y=alt.Y("share:Q", title="share of records", scale=log, axis=ticks),
        y2="minimum:Q",
        color=alt.Color("way:N", scale=_scale(series), legend=None),
        row=alt.Row("way:N", sort=list(series)),
    )
    words = "Histograms of the records by their chance of a correct match, on a scale of logarithms: "
    words += "; ".join(f"{way}: {own['at_or_above'][10]:.2%} at one half or above" for way, own in series.items())
    return draw(bars, name, words)


def cumulative_chart(histogram: Mapping[str, Any], name: str = "cumulative") -> Markup:
    """Share of the records whose chance is at least so much."""
    edges, series = histogram["edges"], histogram["series"]
    rows = [
        {"chance": edges[k], "share": share, "way": way}
        for way, own in series.items()
        for k, share in enumerate(own["at_or_above"])
        if share > 0
    ]
    log, ticks = alt.Scale(type="log", domainMax=1), alt.Axis(format="~%")
    chart = alt.Chart(alt.InlineData(values=rows), width=800, height=240)
    lines = chart.mark_line(interpolate="step-after", strokeWidth=2).encode(
        x=alt.X("chance:Q", title="chance of a correct match", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("share:Q", title="share of records at or above", scale=log, axis=ticks),
        color=alt.Color("way:N", scale=_scale(series), legend=alt.Legend(symbolType="stroke")),
    )
    return draw(lines, name, "Share of the records whose chance of a correct match is at least so much.")


def share_chart(rows: list[tuple[str, float]], name: str, title: str, alt_text: str) -> Markup:
    """A bar for each named share."""
    values = [{"name": label, "share": share, "text": f"{share:.0%}"} for label, share in rows]
    base = alt.Chart(alt.InlineData(values=values), width=680, height={"step": 24}).encode(
        y=alt.Y("name:N", title=None, sort=None),
        x=alt.X("share:Q", title=title, axis=alt.Axis(format="%"), scale=alt.Scale(domainMin=0)),
    )
    text = base.mark_text(align="left", dx=4, color=SOFT).encode(text="text:N")
    return draw(alt.layer(base.mark_bar(color=TEAL), text), name, alt_text)


def logit_rank_chart(ranking: Mapping[str, Any], name: str) -> Markup:
    """The logit rank plot of each score: the steeper, the better it finds population uniques."""
    scores = ranking["scores"]
    named = {each["score"]: f"{each['score']} (AUC {each['auc']:.3f})" for each in scores}
    rows = [
        {"t": t, "logit": value, "score": named[each["score"]]}
        for each in scores
        for t, value in zip(each["t"], each["logit"], strict=True)
        if value is not None
    ]
    colours = alt.Scale(domain=list(named.values()), range=[_SCORES.get(score, GREY) for score in named])
    legend = alt.Legend(symbolType="stroke", columns=3, labelLimit=240)
    lines = alt.Chart(alt.InlineData(values=rows), width=800, height=260).mark_line(strokeWidth=2)
    lines = lines.encode(
        x=alt.X("t:Q", title="logit of the record's rank by the score"),
        y=alt.Y("logit:Q", title="logit of the share that is population unique"),
        color=alt.Color("score:N", scale=colours, legend=legend),
    )
    words = "Logit rank plot of each score; area under the ROC curve: "
    return draw(lines, name, words + ", ".join(f"{each['score']} {each['auc']:.3f}" for each in scores))


def _scale(series: Mapping[str, Any]) -> alt.Scale:
    return alt.Scale(domain=list(series), range=[_COLOURS[way] for way in series])


# The models behind the numbers, drawn: their graphs, the junction tree, and the trace of each search.


def model_pictures(assessment: Mapping[str, Any], prefix: str) -> dict[str, Markup]:
    """Drawings of an assessment's models, by their names on the page; `prefix` sets them apart from those of others."""
    drawn: dict[str, Markup] = {}

    def draw_inline(name: str, svg: str) -> None:
        drawn[name] = _inline(svg, prefix + name.replace("_", "-"))

    if "modelled" in assessment:
        own = assessment["modelled"]
        inclusion = np.array(own["graph"]["inclusion"])
        title = "The likeliest decomposable model"
        draw_inline("modelled_graph", draw_graph(_graph(own["graph"]), inclusion, title=title))
        if len(own["trace"]["log_scores"]) and len(own["trace"]["log_scores"][0]) > 1:
            drawn["trace"] = _trace(own["trace"], f"{prefix}trace")
    if "log_linear" in assessment:
        own = assessment["log_linear"]
        graph = _graph(own["graph"])
        draw_inline("log_linear_graph", draw_graph(graph, title="The log-linear model"))
        if own["graph"]["decomposable"]:
            draw_inline("junction_tree", draw_junction_tree(graph, title="Its junction tree"))
        if own["dis"] is not None and len(own["models"]) > 1:
            drawn["path"] = _path(own, f"{prefix}path")
    return drawn


def _graph(given: Mapping[str, Any]) -> Graph:
    return Graph.from_edges(given["variables"], [(a, b) for a, b in given["edges"]])


def _inline(svg: str, name: str) -> Markup:
    """A drawing as part of the page: its rules of style are for itself alone."""
    rules = re.sub(r"(^|})(?=[^}])", rf"\1#{name} ", re.search(r"<style>(.*?)</style>", svg, re.S)[1])  # type: ignore[index]
    placed = re.sub(r"<style>.*?</style>", lambda _: f"<style>{rules}</style>", svg, count=1, flags=re.S)
    width = re.search(r'viewBox="0 0 (\d+)', placed)[1]  # type: ignore[index]  # pictures are as `draw_graph` makes them
    opening = f'<svg id="{name}" width="{width}" style="max-width:100%;height:auto" '
    return Markup(placed.replace("<svg ", opening, 1))  # noqa: S704 - pictures escape every label


def _trace(trace: Mapping[str, Any], name: str) -> Markup:
    rows = [
        {"move": k * trace["every"], "score": score, "chain": str(number + 1)}
        for number, own in enumerate(trace["log_scores"])
        for k, score in enumerate(own)
    ]
    lines = alt.Chart(alt.InlineData(values=rows), width=800, height=160).mark_line(strokeWidth=1)
    lines = lines.encode(
        x=alt.X("move:Q", title="point of the trace"),
        y=alt.Y("score:Q", title="log marginal likelihood", scale=alt.Scale(zero=False)),
        color=alt.Color("chain:N", legend=None, scale=alt.Scale(range=[TEAL, OCHRE, RUST, SOFT])),
    )
    return draw(lines, name, "Log marginal likelihood along each chain of the search.")


def _path(own: Mapping[str, Any], name: str) -> Markup:
    low, value, high = own["dis"]
    rows = [
        {"model": k + 1, "implied": m["cm_given_um"], "used": "used" if k == own["chosen"] else m["origin"]}
        for k, m in enumerate(own["models"])
    ]
    band = alt.Chart(alt.InlineData(values=[{"low": low, "high": high, "dis": value}]), width=800, height=200)
    scale = alt.Scale(domain=["two-way path", "decomposable path", "search", "used"], range=[SOFT, TEAL, OCHRE, RUST])
    points = alt.Chart(alt.InlineData(values=rows)).mark_circle(size=60, opacity=1)
    points = points.encode(
        x=alt.X("model:Q", title="model, in the order of the table", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("implied:Q", title="Pr(CM | UM)", scale=alt.Scale(zero=False)),
        color=alt.Color("used:N", title=None, scale=scale),
    )
    chart = alt.layer(
        band.mark_rect(color=TEAL, opacity=0.15).encode(y="low:Q", y2="high:Q"),
        band.mark_rule(color=TEAL).encode(y="dis:Q"),
        points,
    )
    words = f"Pr(CM | UM) that each model implies; DIS is {value:.3g}, from {low:.3g} to {high:.3g}."
    return draw(chart, name, words)


_PARTS = (
    "privacy_models.html.j2",
    "survey_risk.html.j2",
    "score_ranking.html.j2",
    "comparison.html.j2",
    "numeric_risk.html.j2",
)


def render(assessment: Mapping[str, Any]) -> str:
    """The page for an assessment (the dictionary of `assess`), or for several (that of `scenarios.compared`)."""
    several = assessment.get("scenarios", [assessment])
    drawn = [(each, _charts(each, f"s{n}-" if n else ""), _contradicted(each)) for n, each in enumerate(several)]
    shown = {"scenarios": drawn, "comparison": assessment.get("comparison", [])}
    filters = {"share": share, "number": number, "figure": _figure, "signed": _signed}
    return rendered(__package__, "identification.html.j2", shown, parts=_PARTS, filters=filters)


def _charts(assessment: Mapping[str, Any], prefix: str) -> dict[str, Markup]:
    """The charts of one assessment; `prefix` sets their names apart from those of others on the page."""
    drawn = {}
    if assessment["histogram"]["series"]:
        drawn["histogram"] = histogram_chart(assessment["histogram"], f"{prefix}histogram")
        drawn["cumulative"] = cumulative_chart(assessment["histogram"], f"{prefix}cumulative")
    by_variable = assessment["special_uniques"]["by_variable"]
    if any(v["is_share"] > 0 for v in by_variable):
        rows = sorted(((v["variable"], v["is_share"]) for v in by_variable), key=lambda row: -row[1])
        title = "share of the file's IS from special uniques with the variable"
        words = "Contribution of each key variable to the file's IS."
        drawn["special_uniques"] = share_chart(rows, f"{prefix}special-uniques", title, words)
    if "risk_reduction" in assessment:
        rows = [(v["variable"], max(0.0, v["avoided"])) for v in assessment["risk_reduction"]["by_variable"]]
        title = "share of the expected correct matches avoided by leaving it out"
        words = "What leaving out each key variable would avoid."
        drawn["risk_reduction"] = share_chart(rows, f"{prefix}risk-reduction", title, words)
    if "score_ranking" in assessment:
        drawn["score_ranking"] = logit_rank_chart(assessment["score_ranking"], f"{prefix}ranking")
    return drawn | model_pictures(assessment, prefix)


def _contradicted(assessment: Mapping[str, Any]) -> list[str]:
    """The models that the file's DIS contradicts."""
    return [
        name
        for name, part in (("log-linear", "log_linear"), ("modelled", "modelled"))
        if part in assessment and assessment[part]["agrees"] is False
    ]


def _signed(value: float | None) -> str:
    """A criterion, of either sign."""
    return "-" if value is None else ("-" if value < 0 else "") + _figure(abs(value))


def _figure(value: float | None) -> str:
    """A measure's value: counts of matches with a decimal, chances with three."""
    if value is None:
        return "-"
    return f"{value:,.1f}" if value > 1 else share(value)
