"""Charts as inline SVG: drawn by altair and vl-convert, on this machine, without a browser or a network."""

from __future__ import annotations

import re

import altair as alt
import vl_convert
from markupsafe import Markup, escape

from gemel.common.language import current
from gemel.risk.report.chart_table import beside
from gemel.risk.report.palette import INK, LINE, SOFT

_STYLE = {
    "font": "sans-serif",
    "background": None,
    "aria": False,
    "padding": 4,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "gridColor": LINE,
        "domainColor": LINE,
        "tickColor": LINE,
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 11.5,
        "titlePadding": 8,
    },
    "title": {"color": INK, "fontSize": 12.5, "fontWeight": 600, "anchor": "start", "offset": 6},
    "legend": {
        "labelColor": SOFT,
        "title": None,
        "orient": "top",
        "labelFontSize": 11.5,
        "symbolSize": 110,
        "symbolType": "square",
        "offset": 10,
        "columnPadding": 22,
    },
    "header": {"title": None, "labelColor": SOFT},
}
_CLIP = re.compile(r'(id="|url\(#)(clip\d+)')


def draw(chart: alt.TopLevelMixin, name: str, alt_text: str) -> Markup:
    """Render a chart.

    Parameters
    ----------
    chart : altair chart
        With its data inline.
    name : str
        Unique in the page; a letter, then letters, digits and hyphens.
    alt_text : str
        What a reader who cannot see the chart reads. It is escaped here.

    Returns
    -------
    markupsafe.Markup
        A scaling ``svg`` element with its text alternative, and its numbers as a folded table.
    """
    spec = chart.to_dict(validate=False)
    svg = vl_convert.vegalite_to_svg(spec | {"config": _STYLE}, format_locale=_numbers())
    # Several drawings share the page, and each numbers its clip paths from 0.
    svg = _CLIP.sub(rf"\g<1>{name}-\g<2>", svg)
    svg = re.sub(r'\srole="graphics[^"]*"|\saria-\w+="[^"]*"|\spointer-events="none"', "", svg)
    opening = re.match(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"[^>]*>', svg)
    if opening is None:
        raise AssertionError("vl-convert returned no svg element")
    width, height = opening.groups()
    head = Markup(
        '<div class="chart" tabindex="0"><svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="{0}-alt" '
        'viewBox="0 0 {1} {2}" width="{1}" height="{2}"><title id="{0}-alt">{3}</title>'
    ).format(name, width, height, escape(alt_text))
    drawn = Markup(svg[opening.end() :])  # noqa: S704 - vl-convert escapes the text it draws
    return head + drawn + Markup("</div>") + beside(spec)


def _numbers() -> dict[str, object]:
    """How axes write numbers, in D3's terms."""
    language = current()
    percent = "%" if language.code == "en" else "\u00a0%"
    return {
        "decimal": language.decimal,
        "thousands": language.thousands,
        "grouping": [3],
        "currency": ["", ""],
        "percent": percent,
    }
