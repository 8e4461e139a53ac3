"""Figures of the pages."""

from __future__ import annotations

import altair as alt

from gemel.risk.report.drawing import PAPER, draw


def on_paper(chart: alt.TopLevelMixin, name: str, about: str) -> str:
    """A figure as SVG on the pages' colour, readable on a dark screen too."""
    head, rest = str(draw(chart, name, about)).split("</title>", 1)
    return f'{head}</title><rect width="100%" height="100%" fill="{PAPER}"/>{rest}\n'
