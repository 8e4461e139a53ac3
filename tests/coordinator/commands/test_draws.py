"""docs/analysing.md on drawn linkages as it is written: its example is run, and what it prints is compared."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.typed import error_of, printed

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "analysing.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## Drawn linkages\n")[2].partition("\n## ")[0]


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", SECTION, re.M | re.S)


def test_the_combination_prints_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (table,) = blocks("text estimates.csv")
    Path("estimates.csv").write_text(table)
    command, *expected = next(block for block in blocks("console") if "combine" in block).splitlines()
    assert printed("draws", *command.split()[3:]).splitlines() == expected


@pytest.fixture
def shares(tmp_path):
    """Draws as two services write them: 400 people in both files, of whom every fourth has a rival as probable."""
    rng = np.random.default_rng(1)
    n, draws = 400, 10
    income = rng.normal(30, 10, n).round(3)
    score = (2 * income + rng.normal(0, 8, n)).round(3)
    rows = []
    for draw in range(draws):
        partner = np.arange(n)
        exchanged = rng.random(n // 8) < 0.5
        first = 8 * np.flatnonzero(exchanged)
        partner[first], partner[first + 1] = first + 1, first
        rows += [(draw, i, int(j), 0.5 if i % 8 < 2 else 1.0) for i, j in enumerate(partner)]
    table = pl.DataFrame(rows, schema=["draw", "a", "b", "link_probability"], orient="row").with_columns(
        pl.format("{}-{}", "a", "b").alias("pair_id")
    )
    for name, column, values in (("alice", "a", income), ("bob", "b", score)):
        (tmp_path / name).mkdir()
        own = table.select(pl.format(f"{name}-{{}}", column).alias("identifier"), "pair_id", "draw", "link_probability")
        own.write_parquet(tmp_path / name / "draws.parquet")
        people = pl.DataFrame({"identifier": [f"{name}-{i}" for i in range(n)]})
        variable = "income" if name == "alice" else "score"
        people.with_columns(pl.Series(variable, values)).write_csv(tmp_path / f"{name}.csv")
    return tmp_path


def test_the_worked_example_runs_as_it_is_written(shares, monkeypatch):
    monkeypatch.chdir(shares)
    (program,) = blocks("python")
    subprocess.run([sys.executable, "-c", program], check=True)
    (command,) = next(block for block in blocks("console") if "slope" in block).splitlines()
    shown = printed("draws", *command.split()[3:], "--json", "slope.json")
    found = json.loads(Path("slope.json").read_text())
    assert found["draws"] == 10
    low, high = found["interval"]
    assert low < 2 < high
    assert found["estimate"] == pytest.approx(2, abs=0.2)
    assert f"{found['estimate']:.4g}" in shown


def test_a_file_that_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "estimates.csv"
    path.write_text("draw,estimate\n0,1\n1,2\n")
    assert "no column variance" in str(error_of("draws", "combine", path))
    path.write_text("draw,estimate,variance\n0,1,1\n1,,2\n")
    assert "1 rows without" in str(error_of("draws", "combine", path))
