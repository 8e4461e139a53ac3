"""Pictures hold every node and every edge, and the curve the corners that the analysis has."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from gemel.risk.keyvars.analysis import Course, Step, min_forms
from gemel.risk.keyvars.pictures import _corners, draw_aggregation, draw_courses, draw_harmonisations, png
from gemel.risk.keyvars.variables import Variable
from research.keyvars import like_the_thesis

SVG = "{http://www.w3.org/2000/svg}"
AGE = like_the_thesis(20).variables["Age"]


def _drawn(svg: str) -> tuple[set[str | None], int]:
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own text
    names = {title.text for title in root.findall(f"{SVG}g/{SVG}g/{SVG}title")}
    return names, len(root.findall(f"{SVG}g/{SVG}path"))


def test_every_node_and_edge_is_drawn():
    names, edges = _drawn(draw_aggregation(AGE, "C9.001"))
    assert names == set(AGE.graph.children)
    assert edges == sum(map(len, AGE.graph.children.values()))
    assert draw_aggregation(AGE, "C9.001").count('"node chosen"') == 9
    names, edges = _drawn(draw_harmonisations(AGE))
    assert names == set(AGE.codes)
    assert edges == len(list(AGE.harmonisations.edges()))


def test_names_are_text_and_nothing_else():
    made = Variable("<b>").with_categorisation(["<script>", "&", "x" * 60])[0]
    names, edges = _drawn(draw_aggregation(made))
    assert names == {"<script>", "&", "x" * 60}
    assert edges == 0
    assert png(draw_aggregation(made)).startswith(b"\x89PNG")
    assert _drawn(draw_harmonisations(Variable("empty"))) == (set(), 0)


def test_the_curve_falls_where_one_more_form_is_asked_for():
    course = Course(4, (Step(2, 4.0, (0,)), Step(3, 2.0, (1,)), Step(4, 1.0, (2,))))
    assert _corners(course) == [(0, 4), (0.75, 4), (0.75, 2), (1, 2), (1, 1), (1, 1)]
    assert all(
        course.at(min_forms(4, p)).size == size
        for p, size in ((0, 4), (0.5, 4), (0.74, 4), (0.75, 2), (0.99, 2), (1, 1))
    )
    assert "<svg" in draw_courses({"Age": course, "Sex": Course(0, ())}, "a form")
