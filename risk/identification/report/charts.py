"""The report's charts, drawn as inline SVG on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
from markupsafe import Markup

from gemel.risk.report import draw
from gemel.risk.report.palette import GREY, INK, OCHRE, RUST, SOFT, TEAL

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
    bars = (
        alt.Chart(alt.InlineData(values=rows), width=785, height=110)
        .transform_calculate(minimum=f"{_MINIMUM}")
        .mark_bar()
        .encode(
            x=alt.X("from:Q", title="chance of a correct match", scale=alt.Scale(domain=[0, 1])),
            x2="to:Q",
            y=alt.Y(
                "share:Q",
                title="share of records",
                scale=alt.Scale(type="log", domainMin=_MINIMUM, domainMax=1),
                axis=alt.Axis(values=[1e-4, 1e-3, 1e-2, 0.1, 1], format="~%"),
            ),
            y2="minimum:Q",
            color=alt.Color("way:N", scale=_scale(series), legend=None),
            row=alt.Row("way:N", sort=list(series)),
        )
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
    lines = (
        alt.Chart(alt.InlineData(values=rows), width=800, height=240)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("chance:Q", title="chance of a correct match", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y(
                "share:Q",
                title="share of records at or above",
                scale=alt.Scale(type="log", domainMax=1),
                axis=alt.Axis(format="~%"),
            ),
            color=alt.Color("way:N", scale=_scale(series), legend=alt.Legend(symbolType="stroke")),
        )
    )
    return draw(lines, name, "Share of the records whose chance of a correct match is at least so much.")


def share_chart(rows: list[tuple[str, float]], name: str, title: str, alt_text: str) -> Markup:
    """A bar for each named share."""
    values = [{"name": label, "share": share, "text": f"{share:.0%}"} for label, share in rows]
    base = alt.Chart(alt.InlineData(values=values), width=680, height={"step": 24}).encode(
        y=alt.Y("name:N", title=None, sort=None),
        x=alt.X("share:Q", title=title, axis=alt.Axis(format="%"), scale=alt.Scale(domainMin=0)),
    )
    return draw(
        alt.layer(base.mark_bar(color=TEAL), base.mark_text(align="left", dx=4, color=SOFT).encode(text="text:N")),
        name,
        alt_text,
    )


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
    lines = (
        alt.Chart(alt.InlineData(values=rows), width=800, height=260)
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("t:Q", title="logit of the record's rank by the score"),
            y=alt.Y("logit:Q", title="logit of the share that is population unique"),
            color=alt.Color(
                "score:N", scale=colours, legend=alt.Legend(symbolType="stroke", columns=3, labelLimit=240)
            ),
        )
    )
    words = "Logit rank plot of each score; area under the ROC curve: "
    return draw(lines, name, words + ", ".join(f"{each['score']} {each['auc']:.3f}" for each in scores))


def _scale(series: Mapping[str, Any]) -> alt.Scale:
    return alt.Scale(domain=list(series), range=[_COLOURS[way] for way in series])
