"""The figures of the thesis's chapters 7 and 8."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import altair as alt
import numpy as np
from numpy.typing import NDArray

from gemel.risk.identification.assessment.beside_keys import logit_rank_plot
from gemel.risk.report.drawing import GREY, INK, OCHRE, RUST, SOFT, TEAL
from research._intervals import interval
from research._paper import on_paper
from research._smith2011_study import METHODS, SERIES, Scored

_LAYERS = 10  # paths that a panel's dots are drawn as
# A dot as vl-convert draws it.
_DOT = re.compile(
    r'<path transform="translate\((?P<x>[-\d.]+),(?P<y>[-\d.]+)\)" d="M(?P<r>[\d.]+),0A[-\d.,A]*" '
    r'fill="(?P<fill>#\w+)"(?: stroke-width="[\d.]+")? opacity="(?P<opacity>[\d.]+)"/>'
)
_DOTS = re.compile("(?:" + re.sub(r"[?]P<[a-z]+>", "?:", _DOT.pattern) + ")+")
Eight = Mapping[tuple[int, float], Scored]


def _colours(names: Sequence[str], colours: Sequence[str]) -> alt.Color:
    return alt.Color("series:N", sort=list(names), scale=alt.Scale(domain=list(names), range=list(colours)))


def _curves(
    fractions: Sequence[float], found: NDArray[np.float64], selected: Mapping[str, str], title: str
) -> alt.LayerChart:
    rows = []
    for name in selected:
        for i, fraction in enumerate(fractions):
            mean, low, high = interval(found[i, :, SERIES.index(name)])
            rows.append(
                {
                    "series": name,
                    "fraction": fraction,
                    "mean": round(mean, 4),
                    "low": round(low, 4),
                    "high": round(high, 4),
                }
            )
    base = alt.Chart(alt.InlineData(values=rows), title=title).encode(
        x=alt.X("fraction:Q", title="sampling fraction", axis=alt.Axis(format=".0%")),
        color=_colours(list(selected), list(selected.values())).legend(columns=4),
    )
    y = alt.Y("mean:Q", title="Pr(correct match)", scale=alt.Scale(domain=[0, 1]))
    return alt.layer(
        base.mark_rule(size=1.5, opacity=0.6).encode(y=alt.Y("low:Q", scale=alt.Scale(domain=[0, 1])), y2="high:Q"),
        base.mark_line(size=1.8).encode(y=y),
    ).properties(width=700, height=300)


def matching_figure(fractions: Sequence[float], found: NDArray[np.float64]) -> str:
    """Figure 43."""
    selected = {
        "ten best, claimed": OCHRE,
        "ten best, true": RUST,
        "CM | SU": TEAL,
        "PU | SU": SOFT,
        "CM | UM": INK,
        "DIS": GREY,
    }
    chart = _curves(fractions, found, selected, "means and 95 % intervals over samples")
    return on_paper(chart, "matching", "Chance of a correct match of six measures against the sampling fraction.")


def costs_figure(fractions: Sequence[float], found: NDArray[np.float64]) -> str:
    """Figure 44."""
    selected = {
        "CM | SU": TEAL,
        "CM | UM": INK,
        "cost matched by true counts": RUST,
        "cost matched by expected counts": OCHRE,
    }
    chart = _curves(fractions, found, selected, "at the cost of CM | UM")
    return on_paper(chart, "costs", "Attacks matched in cost to CM given UM against the sampling fraction.")


def prediction_figure(samples: Sequence[Scored], seed: int) -> str:
    """Figures 46 to 48 and 52 to 54: 500 sample uniques each, and the mean claim at each population count."""
    rng = np.random.default_rng(seed)
    columns = []
    methods = ("DIS-IS", "MC3", "annealing")
    scale = alt.Scale(domain=[-2.6, 0.1], clamp=True)
    for sample in samples:
        shown = rng.permutation(len(sample.F))[:500]
        panels = []
        for method in methods:
            claimed = np.log10(sample.scores[method])
            true = -np.log10(sample.F)
            points = [
                {"true": round(float(true[i]), 3), "claimed": round(float(claimed[i]), 3)} for i in shown.tolist()
            ]
            middle = _middle(sample.F, claimed)
            base = alt.Chart(alt.InlineData(values=points), title=f"{method}, {sample.file.fraction:.0%} sample")
            x = alt.X("true:Q", title="log10 of 1/F", scale=scale)
            panels.append(
                alt.layer(
                    base.mark_point(filled=True, size=9, opacity=0.35, color=TEAL).encode(
                        x=x, y=alt.Y("claimed:Q", title="log10 of Pr(cm), claimed", scale=scale)
                    ),
                    alt.Chart(alt.InlineData(values=[{"true": -2.6, "claimed": -2.6}, {"true": 0.1, "claimed": 0.1}]))
                    .mark_line(color=GREY, size=1.4)
                    .encode(x=x, y="claimed:Q"),
                    alt.Chart(alt.InlineData(values=middle)).mark_line(color=RUST, size=2).encode(x=x, y="claimed:Q"),
                ).properties(width=230, height=200)
            )
        columns.append(alt.hconcat(*panels))
    words = "Claimed against true chance of a correct match, by three methods."
    return with_joined_dots(on_paper(alt.vconcat(*columns), "prediction", words))


def with_joined_dots(svg: str) -> str:
    """The same drawing with the dots of a panel as few paths instead of one each, which takes a tenth of the bytes.

    A path is painted once however often it crosses itself; so each takes every `_LAYERS`-th dot only, and where dots
    lie on each other they still darken.
    """

    def joined(run: re.Match[str]) -> str:
        dots = list(_DOT.finditer(run[0]))
        paths = []
        for first in range(min(_LAYERS, len(dots))):
            ends = "".join(f"M{float(dot['x']):.1f} {float(dot['y']):.1f}h0" for dot in dots[first::_LAYERS])
            look = f'stroke="{dots[0]["fill"]}" stroke-width="{2 * float(dots[0]["r"]):g}" stroke-linecap="round"'
            paths.append(f'<path d="{ends}" {look} opacity="{dots[0]["opacity"]}"/>')
        return "".join(paths)

    return _DOTS.sub(joined, svg)


def _middle(F: NDArray[np.int64], claimed: NDArray[np.float64]) -> list[dict[str, float]]:
    """The mean log claim in bands of the population count."""
    edges = np.unique(np.round(np.geomspace(1, F.max() + 1, 14)).astype(int))
    rows = []
    for low, high in pairwise(edges.tolist()):
        inside = (low <= F) & (high > F)
        if inside.sum() >= 5:
            rows.append(
                {
                    "true": round(float(-np.log10(F[inside]).mean()), 3),
                    "claimed": round(float(claimed[inside].mean()), 3),
                }
            )
    return rows


def logit_rank_figure(eight: Eight) -> str:
    """Figures 49, 55, 59 and 62."""
    panels = []
    largest = max(variables for variables, _ in eight)
    for variables, fraction in ((12, 0.01), (12, 0.05), (largest, 0.01), (8, 0.05)):
        sample = eight[variables, fraction]
        rows = []
        for method in METHODS:
            plot = logit_rank_plot(sample.scores[method], sample.F == 1, h=0.2)
            rows += [
                {"series": method, "t": round(float(t), 3), "logit": round(float(y), 3)}
                for t, y in zip(plot.t, plot.logit, strict=True)
            ]
        panels.append(
            alt.Chart(alt.InlineData(values=rows), title=f"{variables} variables, {fraction:.0%} sample")
            .mark_line(size=1.8)
            .encode(
                x=alt.X("t:Q", title="logit of rank"),
                y=alt.Y("logit:Q", title="logit of Pr(population unique)", scale=alt.Scale(domain=[-7, 6], clamp=True)),
                color=_colours(METHODS, (GREY, INK, TEAL, RUST)),
            )
            .properties(width=330, height=220)
        )
    grid = alt.vconcat(alt.hconcat(*panels[:2]), alt.hconcat(*panels[2:]))
    return on_paper(grid, "logit-rank", "Logit rank plots of SUDA, IS, MC3 and simulated annealing.")
