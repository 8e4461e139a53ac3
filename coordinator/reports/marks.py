"""What the charts of both reports are made of: rows as inline data, series of colours, figures beside bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import altair as alt

from gemel.common.language import clauses
from gemel.risk.report.drawing import SOFT

FULL_WIDTH = 860

LINES = "split(datum.label, '\\n')"
"""Expression of an axis whose labels have several lines."""


@dataclass(frozen=True)
class Chart:
    """A chart and its text alternative."""

    drawing: alt.TopLevelMixin
    alt_text: str


def wrapped(label: str, width: int) -> str:
    """A label in lines of so many characters at most."""
    return "\n".join(wrap(label, width, break_long_words=False, break_on_hyphens=False))


def of_rows(rows: Sequence[Mapping[str, Any]], **size: Any) -> alt.Chart:
    """A chart of rows that are in it; `size`: its width and height."""
    return alt.Chart(alt.InlineData(values=list(rows)), **size)


def series(field: str, names: Sequence[str], colours: Sequence[str], **more: Any) -> alt.Color:
    """A colour for each name, in their order."""
    return alt.Color(field, sort=list(names), title=None, scale=alt.Scale(domain=list(names), range=colours), **more)


def dashed_rule(rows: Sequence[Mapping[str, Any]], colour: str, dash: Sequence[int], **mark: Any) -> alt.Chart:
    """A line across a chart, for what is compared with it."""
    ruled: alt.Chart = of_rows(rows).mark_rule(color=colour, strokeDash=list(dash), **mark)
    return ruled


def named_bars(
    rows: Sequence[Mapping[str, Any]],
    x: alt.X,
    *,
    width: int,
    step: int,
    band: float,
    axis: alt.Axis,
    title: str | None = None,
    dx: int = 4,
    figures: Mapping[str, Any] | None = None,
    **bar: Any,
) -> tuple[alt.Chart, alt.Chart]:
    """A bar for each row by its ``name``, and its ``text`` behind the bar's end.

    Parameters
    ----------
    width, step
        Pixels of the chart, and of each row.
    band
        Share of a row that its bar fills.
    axis, title
        Of the names.
    dx, figures
        Pixels between bar and text, and properties of the text.
    bar
        Properties of the bars.
    """
    y = alt.Y("name:N", sort=[row["name"] for row in rows], title=title, axis=axis)
    base = of_rows(rows, width=width, height={"step": step}).encode(y=y, x=x)
    text = base.mark_text(align="left", dx=dx, color=SOFT, **(figures or {})).encode(text="text:N")
    return base.mark_bar(height={"band": band}, **bar), text


def reported(rows: Sequence[Mapping[str, Any]]) -> str:
    """Names and figures of rows as clauses, for a text alternative."""
    return clauses(f"{row['name']} {row['text']}" for row in rows)
