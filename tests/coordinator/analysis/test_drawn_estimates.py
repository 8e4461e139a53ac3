"""Estimates from drawn linkages: Rubin's rules, the corrected slope, and the page's example run as it is written."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from gemel.common.errors import GemelError
from gemel.common.specification import load_specification
from gemel.coordinator.analysis.drawn_estimates import combined, combined_slope, linked_slope
from research.linked_analysis import ANALYSES, study
from tests.typed import printed


def test_rubins_rules_by_hand():
    found = combined([1.0, 2.0, 3.0, 2.0], [0.5, 0.7, 0.5, 0.7])
    assert found.estimate == 2.0
    assert found.within == pytest.approx(0.6)
    assert found.between == pytest.approx(2 / 3)
    assert found.variance == pytest.approx(0.6 + 1.25 * 2 / 3)
    assert found.degrees == pytest.approx(3 * (1 + 0.6 / (1.25 * 2 / 3)) ** 2)
    low, high = found.interval()
    assert (low + high) / 2 == pytest.approx(2.0)


def test_degrees_of_freedom_stay_below_those_of_the_analysis():
    """Barnard and Rubin: without differences between draws, nearly those of the complete analysis."""
    without = combined([1.0, 1.0], [0.1, 0.1], complete_degrees=20)
    assert without.degrees == pytest.approx(21 / 23 * 20)
    assert without.share_of_linkage == 0
    assert combined([1.0, 1.5, 0.7], [0.1, 0.1, 0.1], complete_degrees=20).degrees < 20
    assert combined([1.0, 1.0], [0.1, 0.1]).degrees == math.inf


@pytest.mark.parametrize(
    ("estimates", "variances"), [([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([1.0, math.nan], [1, 1]), ([1, 2], [1, -1])]
)
def test_what_cannot_be_combined_is_refused(estimates, variances):
    with pytest.raises(GemelError, match="expected"):
        combined(estimates, variances)


def test_all_links_sure_is_least_squares():
    rng = np.random.default_rng(1)
    x = rng.normal(size=50)
    y = 2 * x + rng.normal(size=50)
    found = linked_slope(x, y, np.ones(50))
    centred = x - x.mean()
    slope = centred @ y / (centred @ centred)
    residual = y - y.mean() - slope * centred
    assert found.estimate == pytest.approx(slope)
    assert found.variance == pytest.approx(residual @ residual / 48 / (centred @ centred))
    assert found.degrees == 48


def test_false_links_no_longer_make_the_slope_smaller():
    """A fifth of 100,000 links is false, as their probabilities state: slope 1.5 and residual variance 1 are found."""
    rng = np.random.default_rng(2)
    n = 100_000
    p = rng.choice([0.6, 1.0], n)
    true = rng.random(n) < p
    x = rng.normal(size=n)
    y = np.where(true, 1.5 * x + rng.normal(size=n), rng.normal(size=n) * math.sqrt(1 + 1.5**2))
    found = linked_slope(x, y, p)
    assert found.estimate == pytest.approx(1.5, abs=0.03)
    assert found.variance * n == pytest.approx(1.0, abs=0.06)
    assert linked_slope(x, y, np.ones(n)).estimate == pytest.approx(1.2, abs=0.03)


@pytest.mark.parametrize(
    ("x", "p", "what"),
    [([1, 2, 3], [1, 1, 1], "four pairs"), ([1, 2, 3, 4], [1, 1, 1, 2], "0 to 1"), ([1, 1, 1, 1], [1] * 4, "varies"),
     ([1, 2, math.inf, 4], [1] * 4, "finite")],
)  # fmt: skip
def test_bad_input_of_a_slope_is_refused(x, p, what):
    with pytest.raises(GemelError, match=what):
        linked_slope(np.array(x, dtype=float), np.arange(len(x), dtype=float), np.array(p, dtype=float))


def test_draws_are_kept_apart():
    rng = np.random.default_rng(3)
    draw = np.repeat([0, 1, 2], 30)
    x, y = rng.normal(size=90), rng.normal(size=90)
    found = combined_slope(draw, x, y, np.ones(90))
    slopes = [linked_slope(x[draw == k], y[draw == k], np.ones(30)).estimate for k in range(3)]
    assert found.estimate == pytest.approx(np.mean(slopes))
    assert found.between == pytest.approx(np.var(slopes, ddof=1))


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
    printed(*command.split()[2:])
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
    shown = capsys.readouterr().out
    assert len(shares) == len(ANALYSES)
    assert all(name in shown for name in ANALYSES)
    assert "of the links wrong" in shown
