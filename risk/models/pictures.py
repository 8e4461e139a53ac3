"""A model drawn: as a graph whose lines are as thick as their edges are certain, and as a junction tree. SVG text.

The drawing is made here of plain shapes, so that it needs no display and is the same each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats
from gemel.risk.models.graphs import Graph, members
from gemel.risk.models.junction_trees import JunctionTree
from gemel.risk.models.result import SearchResult

if TYPE_CHECKING:
    import networkx as nx

WIDTH, HEIGHT, MARGIN = 720, 540, 70
THINNEST, THICKEST = 0.5, 7.0
LINE = 17
SINGLE_IN_A_ROW, SINGLE_ROW = 5, 50
SMALL = ' class="small"'
_STYLE = (
    "text{font:13px system-ui,sans-serif;text-anchor:middle;dominant-baseline:central;fill:#1b1b1b}"
    "text.small{font-size:11px;fill:#444}.node{fill:#fff;stroke:#28536b;stroke-width:1.5}"
    ".edge{stroke:#28536b;stroke-linecap:round}.separator{fill:#eef3f6;stroke:#9db4c0}"
)


def draw_graph(graph: Graph, inclusion: Floats | None = None, *, minimum: float = 0.01, title: str = "") -> str:
    """A model as a graph.

    `inclusion` (float64, shape (n, n), optional): how probable each edge is: line weight and opacity. Edges that the
    model lacks are drawn dashed. `minimum`: edges less probable than this, and not in the model, are left out.

    Returns str: a complete SVG document.
    """
    import networkx as nx

    n = len(graph)
    if inclusion is None:
        certain = np.array([[float(graph.has_edge(v, w)) for w in range(n)] for v in range(n)])
    else:
        certain = np.asarray(inclusion, dtype=np.float64)
        if certain.shape != (n, n) or not np.isfinite(certain).all() or certain.min() < 0 or certain.max() > 1 + 1e-9:
            raise parameter(
                "inclusion",
                "edge inclusion must be probabilities, one for each pair of variables",
                f"shape {certain.shape} for {n} variables",
            )
    drawn = nx.Graph()
    drawn.add_nodes_from(range(n))
    drawn.add_weighted_edges_from(
        (v, w, float(certain[v, w]))
        for v in range(n)
        for w in range(v)
        if graph.has_edge(v, w) or certain[v, w] >= minimum
    )
    places = _layout(drawn)
    shapes = []
    for v, w, weight in sorted(drawn.edges.data("weight"), key=lambda edge: edge[2]):
        dash = "" if graph.has_edge(v, w) else ' stroke-dasharray="5 6"'
        shapes.append(
            f"{_line(places[v], places[w], f'{THINNEST + (THICKEST - THINNEST) * weight:.2f}')} "
            f'opacity="{0.3 + 0.7 * weight:.2f}"{dash}>'
            f"<title>{escape(f'{graph.names[v]} - {graph.names[w]}')}: {weight:.3f}</title></line>"
        )
    shapes += [_stack(*places[v], _labels(graph, 1 << v), "node") for v in range(n)]
    return _document(shapes, title or "Graph of a decomposable model")


def draw_result(result: SearchResult) -> str:
    """The best model of a search, line weights being the edges' inclusion probabilities over all its models."""
    best = result.best
    return draw_graph(best.graph, result.edge_inclusion, minimum=0.01, title=f"{result.method}: {len(result)} models")


def draw_junction_tree(graph: Graph, *, title: str = "") -> str:
    """A model as a junction tree: cliques in boxes, separators on the lines between them. Empty separators are
    left out."""
    import networkx as nx

    tree = JunctionTree.of(graph)
    drawn = nx.Graph()
    drawn.add_nodes_from(range(len(tree.cliques)))
    joined = [(a, b, s) for (a, b), s in zip(tree.edges, tree.separators, strict=True) if s]
    drawn.add_edges_from((a, b) for a, b, _ in joined)
    grid = _rows_and_columns(drawn)
    tallest = max(clique.bit_count() for clique in tree.cliques)
    across = max(max(len(str(name)) for name in graph.names) * 8 + 60, 140)
    down = LINE * (2 * tallest) + 50
    places = {c: ((column + 0.5) * across, 50 + (row + 0.5) * down) for c, (column, row) in grid.items()}
    shapes, labels = [], []
    for a, b, separator in joined:
        (x1, y1), (x2, y2) = places[a], places[b]
        shapes.append(f"{_line(places[a], places[b], '1.5')}/>")
        near = 0.58 if y2 > y1 else 0.42  # nearer the child, where lines have spread
        labels.append(_stack(x1 + near * (x2 - x1), y1 + near * (y2 - y1), _labels(graph, separator), "separator"))
    labels += [_stack(*places[c], _labels(graph, clique), "node") for c, clique in enumerate(tree.cliques)]
    width = round(across * (1 + max(column for column, _ in grid.values())))
    height = round(60 + down * (1 + max(row for _, row in grid.values())))
    heading = title or "Junction tree of a decomposable model"
    return _document(shapes + labels, heading, max(width, 9 * len(heading)), height)


def _rows_and_columns(forest: nx.Graph) -> dict[int, tuple[float, int]]:
    """For each node of a forest its column (leaves take one each, a parent the middle of its children's) and
    its depth."""
    import networkx as nx

    found: dict[int, tuple[float, int]] = {}
    taken = 0

    def place(node: int, parent: int, depth: int) -> float:
        nonlocal taken
        children = [child for child in sorted(forest[node]) if child != parent]
        if children:
            columns = [place(child, node, depth + 1) for child in children]
            column = (columns[0] + columns[-1]) / 2
        else:
            column = float(taken)
            taken += 1
        found[node] = (column, depth)
        return column

    for component in sorted(nx.connected_components(forest), key=lambda nodes: (-len(nodes), min(nodes))):
        place(min(nx.center(forest.subgraph(component))), -1, 0)
    return found


def _layout(graph: nx.Graph) -> dict[int, tuple[float, float]]:
    """Positions on the page: by springs within a component, components side by side, single nodes in rows below."""
    import networkx as nx

    unweighted = nx.Graph(graph.edges)
    unweighted.add_nodes_from(graph.nodes)
    components = sorted((sorted(found) for found in nx.connected_components(unweighted)), key=lambda c: (-len(c), c))
    joined = [component for component in components if len(component) > 1]
    single = [component[0] for component in components if len(component) == 1]
    rows_below = -(-len(single) // SINGLE_IN_A_ROW)
    above = HEIGHT - 2 * MARGIN - rows_below * SINGLE_ROW if joined else 0
    found: dict[int, tuple[float, float]] = {}
    wide = max(1, round(float(np.sqrt(len(joined)))))
    rows = -(-len(joined) // wide)
    for i, component in enumerate(joined):
        start = nx.circular_layout(component)
        local = nx.kamada_kawai_layout(unweighted.subgraph(component), pos=start) if len(component) > 2 else start
        places = np.array([local[v] for v in component])
        # Each axis fills its room, so that boxes of long names do not lie on each other.
        low, span = places.min(axis=0), np.ptp(places, axis=0)
        filled = np.where(span > 1e-3, (places - low) / np.maximum(span, 1e-3), 0.5)
        column, row = i % wide, i // wide
        for v, (x, y) in zip(component, filled.tolist(), strict=True):
            across, down = (column + 0.5 + 0.85 * (x - 0.5)) / wide, (row + 0.5 + 0.85 * (y - 0.5)) / rows
            found[v] = MARGIN + across * (WIDTH - 2 * MARGIN), MARGIN + down * above
    height = SINGLE_ROW if joined else (HEIGHT - 2 * MARGIN) / max(1, rows_below)
    for i, v in enumerate(single):
        row, column = divmod(i, SINGLE_IN_A_ROW)
        in_row = min(SINGLE_IN_A_ROW, len(single) - row * SINGLE_IN_A_ROW)
        found[v] = MARGIN + (column + 0.5) / in_row * (WIDTH - 2 * MARGIN), MARGIN + above + (row + 0.5) * height
    return found


def _labels(graph: Graph, nodes: int) -> list[str]:
    return [escape(str(graph.names[v])) for v in members(nodes)]


def _line(start: tuple[float, float], end: tuple[float, float], thickness: str) -> str:
    (x1, y1), (x2, y2) = start, end
    return f'<line class="edge" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke-width="{thickness}"'


def _stack(x: float, y: float, labels: Sequence[str], kind: str) -> str:
    """A box with one label to a line."""
    small = kind == "separator"
    width = (6.6 if small else 7.8) * max(len(label) for label in labels) + 16
    height = LINE * len(labels) + (4 if small else 10)
    lines = "".join(
        f'<text{SMALL if small else ""} x="{x:.1f}" y="{y + LINE * (i - (len(labels) - 1) / 2):.1f}">{label}</text>'
        for i, label in enumerate(labels)
    )
    return (
        f'<rect class="{kind}" x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height}" '
        f'rx="{3 if small else 12}"/>{lines}'
    )


def _document(shapes: Sequence[str], title: str, width: int = WIDTH, height: int = HEIGHT) -> str:
    heading = escape(title)
    contents = "\n".join(shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{heading}">\n'
        f"<title>{heading}</title><style>{_STYLE}</style>\n"
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n<text x="{width / 2}" y="24">{heading}</text>\n'
        f"{contents}\n</svg>\n"
    )
