"""docs/analysing.md as it is written: its example runs, and its estimates are what the page says of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from benchmarks.linked_analysis import ANALYSES, study
from gemel.command import app
from gemel.common.specification import load_specification

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "analysing.md").read_text(encoding="utf-8")
SLOPE = 0.5


def blocks(kind: str) -> list[str]:
    """The code blocks of the worked example; those of drawn linkages are `test_draws`'."""
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE.partition("\n## A worked example\n")[2], re.M | re.S)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 by 200 people, 150 in both, of few names: some links are wrong. One sample: coverage is the benchmark's."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    n, common = 200, 150
    given = np.array([f"{a}{b}n{c}" for a in "ABCDEF" for b in "aeiou" for c in "ay"])
    family = np.array([f"{a}{b}{c}son" for a in "BDFGHKLM" for b in "aeio" for c in "lr"])
    towns = np.array(["Bath", "Derby", "Ely", "Leeds", "Ryde", "Wells"])
    people = [rng.choice(values, 2 * n - common) for values in (given, family, towns)]
    income = rng.normal(30, 8, 2 * n - common).round(2)
    age = rng.integers(20, 90, 2 * n - common)
    score = (SLOPE * income + rng.normal(0, 2, 2 * n - common)).round(2)
    own: dict[str, Any] = {"given_name": people[0][:n], "surname": people[1][:n], "town": people[2][:n]}
    pl.DataFrame({"id": [f"a{k}" for k in range(n)], **own, "income": income[:n], "age": age[:n]}).write_csv(
        "alice.csv"
    )
    rows = np.arange(n - common, 2 * n - common)
    theirs = [part[rows].copy() for part in people]
    for part, values in zip(theirs, (given, family, towns), strict=True):
        wrong = rng.random(n) < 0.08
        part[wrong] = rng.choice(values, wrong.sum())
    pl.DataFrame(
        {"id": [f"b{k}" for k in range(n)], "given_name": theirs[0], "surname": theirs[1], "town": theirs[2]}
        | {"score": score[rows]}
    ).write_csv("bob.csv")


def test_the_example_runs_as_written(files: None) -> None:
    (text,) = blocks("yaml linkage.yaml")
    assert load_specification(text).release.drawn == 20
    Path("linkage.yaml").write_text(text)
    found: dict[str, Any] = {}
    first, second, third, last = blocks("python")
    for block in (first, second, third):
        exec(block, found)  # noqa: S102 - the page's own
    (command,) = blocks("console")
    done = CliRunner().invoke(app, command.split()[2:])
    assert done.exit_code == 0, done.output
    exec(last, found)  # noqa: S102
    wrong = 1 - found["links"]["link_probability"].mean()
    assert 0.01 < wrong < 0.15
    # A naive slope is too small, and the two that weight are larger by about the share of wrong links.
    assert found["naive"] < found["weighted"]
    assert found["weighted"] == pytest.approx(found["naive"] / (1 - wrong), rel=0.05)
    combined = json.loads(Path("slope.json").read_text())
    low, high = combined["interval"]
    assert low < SLOPE < high
    assert combined["draws"] == 20
    assert found["sure"] == pytest.approx(SLOPE, abs=0.1)
    # Reweighted by groups, the linked stand for all of Alice's records: of each group its share.
    weights = 1 / found["of_linked"]["share"]
    assert weights.sum() == pytest.approx(200)
    assert found["plain"] != found["reweighted"]


def test_the_benchmarks_table(capsys: pytest.CaptureFixture[str]) -> None:
    shares = study(2, 4, 60, 45, 1.0)
    printed = capsys.readouterr().out
    assert len(shares) == len(ANALYSES)
    assert all(name in printed for name in ANALYSES)
    assert "of the links wrong" in printed
