"""Aggregation graphs, harmonisation graphs and the course of an analysis, drawn. SVG text; `png` makes a PNG of one.

Graphs are drawn in layers, what is finer below or to the right, ordered so that few lines cross.
The drawing is made here of plain shapes, so that it needs no display and is the same each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import networkx as nx

from gemel.risk.keyvars.analysis import Course
from gemel.risk.keyvars.variables import Variable

_CHARACTER = 7.4
_ROW, _GAP, _MARGIN = 30, 26, 24
_ACROSS = 70
_LONGEST = 40
Place = tuple[float, float]
_COLOURS = ("#0d6a78", "#c07f1f", "#7a3b69", "#4b7f3a", "#8a4b2a", "#39589b")
_STYLE = (
    "text{font:13px system-ui,sans-serif;text-anchor:middle;dominant-baseline:central;fill:#1b2430}"
    "text.heading{font-size:14px;font-weight:600}"
    ".node{stroke:#28536b;stroke-width:1.3}.category{fill:#fff}.chosen{fill:#f6c27a}"
    ".observed{fill:#cfe3f1}.harmonisation{fill:#fbf0b2}.edge{stroke:#7b8a97;stroke-width:1.1;fill:none}"
)


def draw_aggregation(variable: Variable, code: str | None = None) -> str:
    """A variable's categories, parts to the right of what they make up; those of a categorisation are filled."""
    graph = nx.DiGraph()
    graph.add_nodes_from(variable.graph.children)
    graph.add_edges_from((name, part) for name, parts in variable.graph.children.items() for part in parts)
    chosen = set(variable.categories(code)) if code else set()
    kinds = {name: "chosen" if name in chosen else "category" for name in graph}
    title = f"Categories of {variable.name}" + (f", those of {code} filled" if code else "")
    return _drawn(graph, kinds, title, across=True)


def draw_harmonisations(variable: Variable) -> str:
    """What a variable's categorisations harmonise to: those seen as ellipses, harmonisations as boxes, coarse above."""
    made = variable.harmonisations
    graph = nx.DiGraph()
    graph.add_nodes_from(variable.codes)
    graph.add_edges_from((variable.codes[v], variable.codes[w]) for v, w in made.edges())
    kinds = {code: "observed" if code in variable.categorisations else "harmonisation" for code in graph}
    return _drawn(graph, kinds, f"Harmonisations of {variable.name}", across=False)


def draw_courses(courses: Mapping[str, Course], target: str) -> str:
    """For each variable the size of the maximal harmonisation against the prevalence p.

    Where a form takes whatever is written in the size has no end; the line begins below that.
    """
    import altair as alt
    import vl_convert

    rows = [
        {"p": p, "size": size, "variable": name, "row": row}
        for name, course in courses.items()
        for row, (p, size) in enumerate(_corners(course))
        if size != float("inf")
    ]
    colours = [_COLOURS[i % len(_COLOURS)] for i in range(len(courses))]
    chart = alt.Chart(alt.InlineData(values=rows), width=620, height=300, title=f"What {target} can be matched on")
    lines = chart.mark_line(strokeWidth=2.2).encode(
        x=alt.X("p:Q", title="prevalence p: share of the forms", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("size:Q", title="categories of the maximal harmonisation", axis=alt.Axis(tickMinStep=1)),
        color=alt.Color("variable:N", title=None, scale=alt.Scale(domain=list(courses), range=colours)),
        order=alt.Order("row:Q"),
    )
    config = {"font": "sans-serif", "background": "#fff", "view": {"stroke": None}, "title": {"anchor": "start"}}
    svg: str = vl_convert.vegalite_to_svg(lines.to_dict(validate=False) | {"config": config})
    return svg


def png(svg: str) -> bytes:
    """An SVG as PNG, at twice its size."""
    import vl_convert

    made: bytes = vl_convert.svg_to_png(svg, scale=2)
    return made


def _corners(course: Course) -> list[tuple[float, float]]:
    """The corners of the curve. N = floor(|E| p) is F from p = F/|E| up to (F+1)/|E|."""
    corners, start = [], 0.0
    for step in course.steps:
        end = min(1.0, (step.forms + 1) / max(course.environment, 1))
        corners += [(start, step.size), (end, step.size)]
        start = end
    return corners


def _drawn(graph: nx.DiGraph, kinds: Mapping[str, str], title: str, *, across: bool) -> str:
    labels = {name: name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…" for name in graph}
    widths = {name: _CHARACTER * len(labels[name]) + 22 for name in graph}
    if across:
        places = _across(graph, widths)
        ways = [[places[a], places[b]] for a, b in graph.edges]
    else:
        places, ways = _down(graph, widths)
    needed = max((x + widths[name] / 2 for name, (x, _) in places.items()), default=0) + _MARGIN
    width = max(needed, 9.0 * len(title) + 2 * _MARGIN)
    shift = (width - needed) / 2
    height = max((y for _, y in places.values()), default=0) + _ROW / 2 + _MARGIN
    ends = [(widths[a] / 2, widths[b] / 2) for a, b in graph.edges]
    shapes = [_line(way, *half, across=across) for way, half in zip(ways, ends, strict=True)]
    shapes += [_node(labels[name], name, kinds[name], *places[name], widths[name]) for name in graph]
    heading = escape(title)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="{heading}">\n<title>{heading}</title><style>{_STYLE}</style>\n'
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>\n'
        f'<text class="heading" x="{width / 2:.0f}" y="18">{heading}</text>\n'
        f'<g transform="translate({shift:.1f} 0)">\n' + "\n".join(shapes) + "\n</g></svg>\n"
    )


def _across(graph: nx.DiGraph, widths: Mapping[str, float]) -> dict[str, Place]:
    """Leaves in the rightmost layer in their order; every other node left of its parts, level with their middle."""
    order = list(nx.topological_sort(graph))
    before = {leaf: i for i, leaf in enumerate(name for name in graph if not graph.out_degree(name))}
    height: dict[str, int] = {}
    middle: dict[str, float] = {}
    for name in reversed(order):
        parts = list(graph.successors(name))
        height[name] = max((height[part] + 1 for part in parts), default=0)
        middle[name] = _mean([middle[part] for part in parts]) if parts else float(before[name])
    places: dict[str, Place] = {}
    x = float(_MARGIN)
    for level in range(max(height.values(), default=0), -1, -1):
        layer = sorted((name for name in graph if height[name] == level), key=middle.__getitem__)
        widest = max(widths[name] for name in layer)
        free = -1.0
        for name in layer:
            # As near to the middle of its parts as those above leave room.
            row = max(middle[name], free + 1)
            free = row
            places[name] = (x + widest / 2, 56 + row * _ROW * 1.15)
        x += widest + _ACROSS
    return places


def _down(graph: nx.DiGraph, widths: Mapping[str, float]) -> tuple[dict[str, Place], list[list[Place]]]:
    """Layers by the longest way from a root; lines that pass a layer keep a place of their own in it."""
    depth: dict[str, int] = {}
    for name in nx.topological_sort(graph):
        depth[name] = max((depth[parent] + 1 for parent in graph.predecessors(name)), default=0)
    bent = nx.DiGraph()
    bent.add_nodes_from(graph)
    ways: list[list[str]] = []
    for a, b in graph.edges:
        way = [a, *(f"{a}\0{b}\0{level}" for level in range(depth[a] + 1, depth[b])), b]
        depth.update({bend: depth[a] + i for i, bend in enumerate(way[1:-1], start=1)})
        nx.add_path(bent, way)
        ways.append(way)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for name in bent:
        layers[depth[name]].append(name)
    _untangle(bent, layers)
    wide = {name: widths.get(name, 0.0) + _GAP for name in bent}
    rows = [sum(wide[name] for name in layer) for layer in layers]
    places: dict[str, Place] = {}
    for i, layer in enumerate(layers):
        x = _MARGIN + (max(rows) - rows[i]) / 2
        for name in layer:
            places[name] = (x + wide[name] / 2, 60.0 + i * _ROW * 2.4)
            x += wide[name]
    return {name: places[name] for name in graph}, [[places[name] for name in way] for way in ways]


def _untangle(graph: nx.DiGraph, layers: Sequence[list[str]]) -> None:
    """Order each layer by the middle of what its nodes are joined to, down and up, until few lines cross."""
    order = {name: float(i) for layer in layers for i, name in enumerate(layer)}
    for _ in range(6):
        for moving, neighbours in ((layers[1:], graph.predecessors), (layers[-2::-1], graph.successors)):
            for layer in moving:
                near = {name: [order[other] for other in neighbours(name)] or [order[name]] for name in layer}
                layer.sort(key=lambda name: _mean(near[name]))
                order.update({name: float(i) for i, name in enumerate(layer)})


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _line(way: Sequence[Place], half: float, half_end: float, *, across: bool) -> str:
    (x1, y1), *bends, (x2, y2) = way
    if across:
        x1, x2 = x1 + half, x2 - half_end
        middle = (x1 + x2) / 2
        bend = f"C{middle:.1f},{y1:.1f} {middle:.1f},{y2:.1f}"
        return f'<path class="edge" d="M{x1:.1f},{y1:.1f} {bend} {x2:.1f},{y2:.1f}"/>'
    points = [(x1, y1 + _ROW / 2 - 2), *bends, (x2, y2 - _ROW / 2 + 2)]
    return f'<path class="edge" d="M{" L".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def _node(label: str, name: str, kind: str, x: float, y: float, width: float) -> str:
    shown = f'<text x="{x:.1f}" y="{y:.1f}">{escape(label)}</text>'
    if kind == "observed":
        shape = f'<ellipse class="node observed" cx="{x:.1f}" cy="{y:.1f}" rx="{width / 2:.1f}" ry="{_ROW / 2}"/>'
    else:
        round_ = 2 if kind == "harmonisation" else 9
        shape = (
            f'<rect class="node {kind}" x="{x - width / 2:.1f}" y="{y - _ROW / 2 + 2:.1f}" width="{width:.1f}" '
            f'height="{_ROW - 4}" rx="{round_}"/>'
        )
    return f"<g><title>{escape(name)}</title>{shape}{shown}</g>"
