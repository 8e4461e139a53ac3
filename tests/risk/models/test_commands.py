"""``gemel risk models`` on a file whose dependences are known."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.errors import GemelError


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
