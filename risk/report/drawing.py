"""Charts as inline SVG: drawn by altair and vl-convert, on this machine, without a browser or a network.

The colours of every report, each for paper or a light screen and for a dark one.

Charts are drawn with the light colours. On a dark screen the style sheet overrides them by rules that select on the
colour itself, so a drawing needs no script and no second copy. Teal and ochre are distinct under every common form of
colour blindness, and every text colour has a contrast of at least 4.5 to 1 on its background.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import altair as alt
import vl_convert
from markupsafe import Markup, escape

from gemel.common.language import current, decimals, gettext, marked, ngettext

PAPER = "#fffefb"
INK = "#1b2430"
SOFT = "#5a6573"
LINE = "#d8d9d3"
TEAL = "#0d6a78"
OCHRE = "#c07f1f"
RUST = "#b0482c"
GREY = "#c3c8cc"

#: Name of each colour in the style sheet: on a light ground, on a dark one.
COLOURS = {
    "paper": (PAPER, "#14191f"),
    "ink": (INK, "#e9ebe6"),
    "soft": (SOFT, "#a3adb8"),
    "line": (LINE, "#343d47"),
    "teal": (TEAL, "#58b7c4"),
    "ochre": (OCHRE, "#e0a94f"),
    "rust": (RUST, "#e98a6c"),
    "grey": (GREY, "#56616d"),
    "wash": ("#f4f3ec", "#1c232b"),
    "alarm": ("#fbeee6", "#3a241c"),
}

_DRAWN = ("paper", "ink", "soft", "line", "teal", "ochre", "rust", "grey")


def colour_rules() -> str:
    """The style sheet's colours: the light ones, the dark ones, and the overrides inside charts."""
    light, dark = ("".join(f"--{name}:{pair[i]};" for name, pair in COLOURS.items()) for i in (0, 1))
    drawn = "".join(
        f'.chart [{part}="{COLOURS[name][0]}"]{{{part}:var(--{name})}}\n'
        for name in _DRAWN
        for part in ("fill", "stroke")
    )
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{drawn}"


# The numbers of a chart as a table beside it, for readers who cannot see it and for those who want the figures.

_COLUMNS = frozenset(
    (
        *(marked("name"), marked("value"), marked("kind"), marked("records"), marked("share"), marked("to")),
        *(marked("level"), marked("step"), marked("what"), marked("who"), marked("edge"), marked("field")),
        *(marked("scheme"), marked("file"), marked("right"), marked("weight")),
    )
)
"""What a column is called whose axis has no title."""
_TRUTH = (marked("false"), marked("true"))
_ROWS = 60
"""A curve of more points is given at so many of them, evenly spaced."""
_DRAWN_ONLY = {"y2", "order", "text", "yOffset", "xOffset", "opacity", "size", "shape", "strokeDash", "tooltip"}
"""Channels that place or repeat what another channel shows."""


class Table(NamedTuple):
    """A table of numbers, under the title of the panel; of a curve with how many points are not listed."""

    caption: str
    columns: list[str]
    rows: list[list[str]]
    left_out: int


def tables(spec: Mapping[str, Any]) -> list[Table]:
    """Read the tables off a chart in Vega-Lite's terms whose data are inline.

    One table a panel: of its layers the one that shows most. What a channel is called is the title of its axis or
    legend. Marks of one row, such as the line of a decision, are in the words beside the chart.
    """
    named = spec.get("datasets", {})
    found = []
    for title, layers in _panels(spec, ""):
        read = [table for layer in layers if (table := _table(layer, title, named)) is not None]
        if read:
            found.append(max(read, key=lambda table: (len(table.columns), len(table.rows) + table.left_out)))
    return found


def beside(spec: Mapping[str, Any]) -> Markup:
    """The tables of a chart, folded; nothing where it has none."""
    found = tables(spec)
    if not found:
        return Markup()
    inner = Markup().join(_written(table) for table in found)
    folded = '<details class="numbers"><summary>{}</summary><div class="scroll" tabindex="0">{}</div></details>'
    return Markup(folded).format(gettext("The numbers"), inner)  # noqa: S704 - no text of others


def _written(table: Table) -> Markup:
    head = Markup().join(Markup('<th scope="col">{}</th>').format(name) for name in table.columns)
    lines = Markup().join(
        Markup("<tr>{}</tr>").format(Markup().join(Markup("<td>{}</td>").format(cell) for cell in row))
        for row in table.rows
    )
    caption = Markup("<caption>{}</caption>").format(table.caption) if table.caption else Markup()
    between = ngettext(
        "{number} point between these is not listed.", "{number} points between these are not listed.", table.left_out
    ).format(number=decimals(f"{table.left_out:,}"))
    more = Markup("<p>{}</p>").format(between) if table.left_out else ""
    return Markup("<table>{}<thead><tr>{}</tr></thead><tbody>{}</tbody></table>{}").format(caption, head, lines, more)


def _panels(spec: Mapping[str, Any], title: str) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Each panel with its layers; a layer has the data and channels of what it is in, unless it has its own."""
    title = _title(spec) or title
    inherited = {key: spec[key] for key in ("data", "encoding") if key in spec}
    for several in ("hconcat", "vconcat", "concat"):
        for part in spec.get(several, ()):
            yield from _panels({**inherited, **part}, title)
    if "layer" in spec:
        yield title, list(_layers(spec))
    elif "mark" in spec:
        yield title, [spec]
    elif isinstance(spec.get("spec"), Mapping):
        yield from _panels({**inherited, **spec["spec"]}, title)


def _layers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for layer in spec["layer"]:
        encoding = {**spec.get("encoding", {}), **layer.get("encoding", {})}
        whole = {**layer, "data": layer.get("data", spec.get("data")), "encoding": encoding}
        if "layer" in layer:
            yield from _layers(whole)
        else:
            yield whole


def _table(unit: Mapping[str, Any], caption: str, datasets: Mapping[str, Any]) -> Table | None:
    data = unit.get("data") or {}
    rows = data.get("values", datasets.get(str(data.get("name"))))
    if not isinstance(rows, list) or len(rows) < 2:
        return None
    named: dict[str, str] = {}
    for channel, shown in unit.get("encoding", {}).items():
        field = shown.get("field") if isinstance(shown, Mapping) else None
        if field is None or channel in _DRAWN_ONLY or field in named:
            continue
        named[field] = _name(shown, field)
    if len(named) < 2:
        return None
    # Words before numbers: what a row is of comes first.
    order = sorted(named, key=lambda field: not any(isinstance(row.get(field), str) for row in rows))
    step = max(1, -(-len(rows) // _ROWS)) if not isinstance(rows[0].get(order[0]), str) else 1
    listed = rows[::step]
    written = [[_cell(row.get(field)) for field in order] for row in listed]
    return Table(caption, [named[field] for field in order], written, len(rows) - len(listed))


def _name(shown: Mapping[str, Any], field: str) -> str:
    for holder in (shown, shown.get("axis"), shown.get("legend")):
        if isinstance(holder, Mapping) and isinstance(holder.get("title"), str) and holder["title"]:
            return str(holder["title"])
    name = field.replace("_", " ")
    return gettext(name) if name in _COLUMNS else name


def _title(spec: Mapping[str, Any]) -> str:
    title = spec.get("title")
    text = title.get("text") if isinstance(title, Mapping) else title
    return text if isinstance(text, str) else ""


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return "" if value is None else gettext(_TRUTH[value])
    if isinstance(value, float):
        return decimals(f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}")
    return decimals(f"{value:,}") if isinstance(value, int) else str(value)


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
    """A chart as a scaling ``svg`` element with its text alternative, and its numbers as a folded table.

    The name is unique in the page: a letter, then letters, digits and hyphens. `alt_text`, what a reader who cannot see
    the chart reads, is escaped here.
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
    marks = {"decimal": language.decimal, "thousands": language.thousands, "grouping": [3], "currency": ["", ""]}
    return {**marks, "percent": "%" if language.code == "en" else "\u00a0%"}
