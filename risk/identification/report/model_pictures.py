"""The models behind the numbers, drawn: their graphs, the junction tree, and the trace of each search."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
from markupsafe import Markup

from gemel.risk.models.graphs import Graph
from gemel.risk.models.pictures import draw_graph, draw_junction_tree
from gemel.risk.report import draw
from gemel.risk.report.palette import OCHRE, RUST, SOFT, TEAL


def model_pictures(assessment: Mapping[str, Any], prefix: str) -> dict[str, Markup]:
    """Drawings of an assessment's models, by their names on the page; `prefix` sets them apart from those of others."""
    drawn = {}
    if "modelled" in assessment:
        own = assessment["modelled"]
        inclusion = np.array(own["graph"]["inclusion"])
        drawn["modelled_graph"] = _inline(
            draw_graph(_graph(own["graph"]), inclusion, title="The likeliest decomposable model"),
            f"{prefix}modelled-graph",
        )
        if len(own["trace"]["log_scores"]) and len(own["trace"]["log_scores"][0]) > 1:
            drawn["trace"] = _trace(own["trace"], f"{prefix}trace")
    if "log_linear" in assessment:
        own = assessment["log_linear"]
        graph = _graph(own["graph"])
        drawn["log_linear_graph"] = _inline(
            draw_graph(graph, title="The log-linear model"), f"{prefix}log-linear-graph"
        )
        if own["graph"]["decomposable"]:
            drawn["junction_tree"] = _inline(
                draw_junction_tree(graph, title="Its junction tree"), f"{prefix}junction-tree"
            )
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
    lines = (
        alt.Chart(alt.InlineData(values=rows), width=800, height=160)
        .mark_line(strokeWidth=1)
        .encode(
            x=alt.X("move:Q", title="point of the trace"),
            y=alt.Y("score:Q", title="log marginal likelihood", scale=alt.Scale(zero=False)),
            color=alt.Color("chain:N", legend=None, scale=alt.Scale(range=[TEAL, OCHRE, RUST, SOFT])),
        )
    )
    return draw(lines, name, "Log marginal likelihood along each chain of the search.")


def _path(own: Mapping[str, Any], name: str) -> Markup:
    low, value, high = own["dis"]
    rows = [
        {"model": k + 1, "implied": m["cm_given_um"], "used": "used" if k == own["chosen"] else m["origin"]}
        for k, m in enumerate(own["models"])
    ]
    band = alt.Chart(alt.InlineData(values=[{"low": low, "high": high, "dis": value}]), width=800, height=200)
    x = alt.X("model:Q", title="model, in the order of the table", axis=alt.Axis(tickMinStep=1))
    origins = ["two-way path", "decomposable path", "search", "used"]
    points = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_circle(size=60, opacity=1)
        .encode(
            x=x,
            y=alt.Y("implied:Q", title="Pr(CM | UM)", scale=alt.Scale(zero=False)),
            color=alt.Color("used:N", title=None, scale=alt.Scale(domain=origins, range=[SOFT, TEAL, OCHRE, RUST])),
        )
    )
    chart = alt.layer(
        band.mark_rect(color=TEAL, opacity=0.15).encode(y="low:Q", y2="high:Q"),
        band.mark_rule(color=TEAL).encode(y="dis:Q"),
        points,
    )
    words = f"Pr(CM | UM) that each model implies; DIS is {value:.3g}, from {low:.3g} to {high:.3g}."
    return draw(chart, name, words)
