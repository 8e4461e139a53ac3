"""Drawings of models: complete SVG, every node and line there, names escaped, line weight from edge inclusion."""

from __future__ import annotations

import json
import re
from itertools import pairwise, product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.errors import GemelError
from gemel.risk.models.enumeration import enumerate_models
from gemel.risk.models.graphs import Graph, complete_graph, empty_graph
from gemel.risk.models.junction_trees import JunctionTree
from gemel.risk.models.pictures import HEIGHT, THICKEST, THINNEST, WIDTH, draw_graph, draw_junction_tree, draw_result
from gemel.risk.models.scores import HyperDirichlet
from tests.risk.models.examples import random_counts, random_decomposable

SVG = "{http://www.w3.org/2000/svg}"


def parts(svg: str, tag: str, kind: str | None = None) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg)  # noqa: S314  # our own text
    return [x for x in root.iter(SVG + tag) if kind is None or x.get("class") == kind]


def test_a_graph_with_edge_inclusion() -> None:
    graph = Graph.from_edges(["<age>", "sex", "town", "car"], [("<age>", "sex"), ("sex", "town")])
    inclusion = np.zeros((4, 4))
    for (v, w), p in {(0, 1): 1.0, (1, 2): 0.6, (2, 3): 0.2, (0, 3): 0.001}.items():
        inclusion[v, w] = inclusion[w, v] = p
    svg = draw_graph(graph, inclusion)
    lines = parts(svg, "line", "edge")
    assert sorted(float(x.get("stroke-width", 0)) for x in lines) == pytest.approx(
        [THINNEST + (THICKEST - THINNEST) * p for p in (0.2, 0.6, 1.0)]
    )
    assert sum(x.get("stroke-dasharray") is not None for x in lines) == 1  # town - car is not in the model
    assert len(parts(svg, "rect", "node")) == 4
    assert "&lt;age&gt;" in svg
    assert "<age>" not in svg
    assert svg == draw_graph(graph, inclusion)


@pytest.mark.parametrize("seed", range(5))
def test_junction_trees(seed: int) -> None:
    graph = random_decomposable(9, np.random.default_rng(seed))
    tree = JunctionTree.of(graph)
    svg = draw_junction_tree(graph)
    assert len(parts(svg, "rect", "node")) == len(tree.cliques)
    assert len(parts(svg, "rect", "separator")) == sum(1 for s in tree.separators if s) == len(parts(svg, "line"))
    boxes = [tuple(float(x.get(k, 0)) for k in ("x", "y", "width", "height")) for x in parts(svg, "rect", "node")]
    for i, (x, y, w, h) in enumerate(boxes):  # no clique's box covers another's
        for x2, y2, w2, h2 in boxes[:i]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y
    width, height = map(float, re.findall(r'viewBox="0 0 (\d+) (\d+)"', svg)[0])
    assert all(x >= 0 and x + w <= width and y >= 0 and y + h <= height for x, y, w, h in boxes)


def test_results_and_extremes() -> None:
    result = enumerate_models(HyperDirichlet(random_counts((2, 3, 2, 2), 100, np.random.default_rng(1))))
    svg = draw_result(result)
    assert "exact enumeration: 61 models" in svg
    assert len(parts(svg, "line", "edge")) == (result.edge_inclusion[np.triu_indices(4, 1)] >= 0.01).sum()
    for graph in (empty_graph(1), empty_graph(5), complete_graph(2), complete_graph(7)):
        assert len(parts(draw_graph(graph), "rect", "node")) == len(graph)
        assert len(parts(draw_junction_tree(graph), "rect", "node")) == len(graph.cliques)
    with pytest.raises(GemelError, match="edge inclusion must be probabilities"):
        draw_graph(empty_graph(3), np.full((3, 3), 1.5))


def test_single_variables_stand_in_rows_below_and_the_rest_has_the_page() -> None:
    names = [f"variable {k}" for k in range(13)]
    drawn = draw_graph(Graph.from_edges(names, pairwise(names[:6])))
    places = {
        name: (float(x), float(y))
        for x, y, name in re.findall(r'<text x="([-\d.]+)" y="([-\d.]+)">(variable \d+)</text>', drawn)
    }
    assert len(set(places.values())) == 13
    joined, single = ([places[name][1] for name in group] for group in (names[:6], names[6:]))
    assert max(joined) < min(single)
    assert max(joined) - min(joined) > HEIGHT / 3
    assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in places.values())


# `gemel risk models` on a file whose dependences are known.


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["risk", "models", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Illness goes with the area, 9 in 10 of the south and no one of the north; sex with nothing."""
    rows = [
        f"{area},{sex},{ill}"
        for area, sex, i in product("NS", "fm", range(10))
        for ill in ("yes" if area == "S" and i else "no",)
    ]
    path = tmp_path / "records.csv"
    path.write_text("area,sex,ill\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_the_model_and_what_it_tells(records: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    result = run(records, "--variables", "area, sex, ill", "--sensitive", "ill", "--json", out)
    figures = json.loads(out.read_text())
    assert [edge["variables"] for edge in figures["edges"]] == [["area", "ill"]]
    assert figures["edges"][0]["probability"] > 0.99
    assert (figures["records"], figures["models"], figures["acceptance"]) == (40, 8, None)
    assert (figures["records_with_likely_value"], figures["likely_values_that_are_true"]) == (40, 0.95)
    assert figures["records_with_value_ruled_out"] == 20
    assert figures["greatest_confidence"] == 1
    # Odds of illness: 9 to 1 in the south, 18 to 22 in the file.
    assert figures["greatest_factor_of_the_odds"] == pytest.approx(9 * 22 / 18, abs=1e-4)
    assert "area - ill" in result.stdout
    assert "acceptance" not in result.stdout


def test_more_variables_are_searched_by_a_chain_and_drawn(records: Path, tmp_path: Path) -> None:
    wide = tmp_path / "wide.csv"
    lines = records.read_text().splitlines()
    more = ",".join(f"v{i}" for i in range(5))
    rows = [f"{line},{i % 2},{i % 3},{i % 5},{i % 4},{i % 7}" for i, line in enumerate(lines[1:])]
    wide.write_text("\n".join([f"{lines[0]},{more}", *rows]) + "\n")
    graph, tree = tmp_path / "graph.svg", tmp_path / "tree.svg"
    names = f"area,sex,ill,{more}"
    result = run(wide, "--variables", names, "--moves", 2_000, "--graph", graph, "--tree", tree)
    assert "acceptance" in result.stdout
    for picture in (graph, tree):
        texts = set(re.findall(r">([^<>]+)</t", picture.read_text()))
        assert set(names.split(",")) <= texts


def test_the_sensitive_variable_is_one_of_the_models(records: Path) -> None:
    with pytest.raises(GemelError, match="must be one of the model's, got ill"):
        run(records, "--variables", "area,sex", "--sensitive", "ill")


def test_a_prior_on_the_precision(records: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    run(records, "--variables", "area,sex,ill", "--precision-prior", "1,1", "--json", out)
    figures = json.loads(out.read_text())
    assert figures["precision_from"] < figures["precision"] < figures["precision_to"]
    assert [edge["variables"] for edge in figures["edges"]] == [["area", "ill"]]
    strong = run(records, "--variables", "area,sex,ill", "--precision-prior", "90000,1")
    assert "end of its grid" in strong.stderr
    with pytest.raises(GemelError, match="shape and rate") as raised:
        run(records, "--variables", "area,sex,ill", "--precision-prior", "1")
    assert raised.value.where == "--precision-prior"
