"""The page on key variable mapping, run line by line: what it shows is what the commands print."""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.errors import GemelError
from gemel.common.specification import load_specification
from gemel.risk.keyvars.analysis import Course, Step, min_forms
from gemel.risk.keyvars.pictures import _corners, draw_aggregation, draw_courses, draw_harmonisations, png
from gemel.risk.keyvars.variables import Variable
from research.keyvars import like_the_thesis

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "keyvars.md").read_text(encoding="utf-8")


def run(*words: str) -> str:
    """What a command prints, or its error as the root command prints it."""
    result = CliRunner().invoke(app, ["keyvars", *words])
    if isinstance(result.exception, GemelError):
        return f"Error: {result.exception}\n"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.fsync", lambda handle: None)
    return tmp_path


def test_the_page_end_to_end(here: Path):
    [codings] = re.findall(r"^```csv\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (here / "codings.csv").write_text(codings)
    ran = 0
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            typed, _, printed = part.partition("\n")
            words = shlex.split(typed)
            assert words[:2] == ["gemel", "keyvars"]
            assert run(*words[2:]) == printed, typed
            ran += 1
    assert ran == 30
    assert (here / "size.png").read_bytes().startswith(b"\x89PNG")
    for name in ("categories", "harmonisations"):
        assert (here / f"{name}.svg").read_text() == (DOCS / f"keyvars-{name}.svg").read_text(), name


def test_other_commands(here: Path):
    run("add", "environment")
    run("add", "variable", "Age", "--scale", "whole", "--categories", "0-17 | 18+")
    run("add", "form", "a", "--metadata", "Kind=paper")
    assert run("add", "variable", "Age", "--form", "a", "--categories", "0-15 | 16+") == "a: Age C2.001\n"
    assert "has the variable already" in run("add", "variable", "Age", "--form", "a")
    assert "has scale whole" in run("add", "variable", "Age", "--form", "a", "--scale", "interval")
    run("add", "form", "b", "--like", "a")
    values = ["--value", "1=0-15", "--value", "2=16+"]
    assert run("edit", "coding", "b", "Age", *values, "--categories", "0-15 | 16+") == "b: Age C2.001\n"
    assert "a name, an equals sign" in run("edit", "metadata", "a", "Kind")
    run("edit", "metadata", "a", "Kind=", "Pages=3")
    assert run("show", "forms").splitlines()[1].split() == ["a", "3", "C2.001"]
    run("add", "group", "all", "--form", "a", "--form", "b")
    run("add", "group", "rest", "--form", "all", "--without", "a")
    assert "group rest: b" in run("show", "forms")
    assert "a against 1 forms" in run("analyse", "a", "--against", "rest")
    assert "against 0 forms" in run("analyse", "a", "--where", "Kind=screen")
    run("edit", "delete", "--group", "rest")
    assert "not clear" in run("edit", "delete", "--group", "all", "--form", "a")
    run("export", "codebook", "all.csv")
    run("add", "environment", "other")
    assert run("add", "codebook", "all.csv", "-e", "other") == (
        "added 2 codings of variables by forms; metadata: Pages, Kind\n"
    )
    run("edit", "delete", "--form", "a", "--variable", "Age")
    run("edit", "delete", "--form", "b")
    run("edit", "delete", "--variable", "Age")
    assert run("check") == "1 forms, 0 variables, 1 groups. No issues.\n"
    run("add", "form", "d")
    run("add", "variable", "Sex", "--form", "d", "--categories", "f | m | x")
    forms = (here / "environment" / "variables.json").read_text()
    (here / "environment" / "variables.json").write_text(
        forms.replace('"C3.001": ["f", "m", "x"]', '"C2.001": ["f", "m"]')
    )
    coded = (here / "environment" / "forms.json").read_text()
    (here / "environment" / "forms.json").write_text(coded.replace("C3.001", "C2.001"))
    assert "none contains 'x'" in run("analyse", "d")
    loose = run("analyse", "d", "--loose", "-p", "0")
    assert "Warning: variables.json: Sex > categorisations > C2.001" in loose
    assert "C2.001 (3 categories, 0 forms)" in loose
    run("edit", "restore")
    run("edit", "delete", "--form", "d")
    (here / "environment" / "groups.json").write_text('{"all": ["c"]}')
    assert "groups.json: all: there is no such form" in run("check")
    assert "groups.json: all: there is no such form" in run("add", "form", "d")
    assert "set aside" in run("edit", "restore")
    assert "1 forms" in run("check")


def test_a_specification_is_completed(here: Path):
    example = Path(__file__).parents[2] / "common" / "specification" / "example.yaml"
    text = example.read_text().replace("blocking:\n", "  - name: age\n    kind: category\nblocking:\n", 1)
    (here / "linkage.yaml").write_text(text)
    [codings] = re.findall(r"^```csv\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (here / "codings.csv").write_text(codings)
    run("add", "environment")
    run("add", "codebook", "codings.csv")
    words = ["export", "linkage", "Age", "--alice", "hospital", "--bob", "register", "--into", "linkage.yaml"]
    assert "no variable, nor a field" in run(*words)
    assert "wrote linkage.yaml: age in 3 common categories (H3.001)" in run(*words, "--field", "age")
    assert len(load_specification((here / "linkage.yaml").read_text()).field("age").categorisation) == 3
    before = (here / "linkage.yaml").read_text()
    assert "has categorisation already" in run(*words, "--field", "age")
    assert (here / "linkage.yaml").read_text() == before


# Pictures hold every node and every edge, and the curve the corners that the analysis has.

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
