"""``gemel risk magnitude``: the recipes of docs/magnitude.md as printed there, files, the report, bad input."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.errors import GemelError
from gemel.risk.arrays import Floats, Mask
from gemel.risk.magnitude.assessment import Choice, assess
from gemel.risk.magnitude.attacks import Attack, Intruder, Limits, Suppressed
from gemel.risk.magnitude.audit import PublishedValues, assess_published, breaches, exact_bounds, feasible_table
from gemel.risk.magnitude.rules import MinimumFrequency, PriorPosterior, contributions
from gemel.risk.magnitude.tables import Classification, LinkedTables
from tests.risk.magnitude import definition
from tests.risk.magnitude.small_tables import levels_of, made, named

REPOSITORY = Path(__file__).resolve().parents[3]
PAGE = REPOSITORY / "docs" / "magnitude.md"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["risk", "magnitude", *map(str, arguments)], catch_exceptions=False)


def withhold_primary_alone(folder: Path) -> None:
    """Write primary.csv: the table of risk.json and protected.csv with nothing withheld but what is risky."""
    shown = {
        tuple(sorted(entry["cell"].items())): entry["value"]
        for entry in json.loads((folder / "risk.json").read_text())["suppressed"]
        if not entry["rules"]
    }
    with (folder / "protected.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        cell = tuple(sorted((k, v) for k, v in row.items() if k != "value" and v != "Total"))
        row["value"] = row["value"] or shown.get(cell, "")
    with (folder / "primary.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows(rows)


def test_the_page_shows_what_the_commands_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "benchmarks").symlink_to(REPOSITORY / "benchmarks")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```console\n\$ gemel risk magnitude (.*?)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 5
    for command, output in blocks:
        if "primary.csv" in command:
            withhold_primary_alone(tmp_path)
        assert run(*shlex.split(command)).stdout == output, command
    report = (tmp_path / "report.html").read_text()
    assert "no attack that was tried comes closer" in report
    assert report.count("complementary") == 6
    assert "<script" not in report


RECORDS = """region,sector,firm,turnover,w,word
n,x,a,100,1,k
n,x,b,3,1,k
n,y,c,40,1,k
n,y,d,45,1,k
n,y,e,50,2,k
s,x,f,30,1,k
s,x,g,35,1,k
s,x,h,31,1,k
s,y,i,20,1,k
s,y,j,22,1,k
s,y,k,25,1,k
"""


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "records.csv"
    path.write_text(RECORDS)
    return path


def test_an_attack_that_succeeds_is_an_exit_status_and_no_table_is_written(records: Path, tmp_path: Path) -> None:
    given = ["--by", "region,sector", "--value", "turnover", "--unit", "firm"]
    published, table, report = tmp_path / "published.csv", tmp_path / "table.csv", tmp_path / "report.html"
    rows = [("Total", "Total", 401), ("n", "Total", 238), ("s", "Total", 163), ("Total", "x", 199), ("Total", "y", 202)]
    rows += [("n", "x", ""), ("n", "y", 135), ("s", "x", 96), ("s", "y", 67)]
    published.write_text("region,sector,value\n" + "".join(f"{a},{b},{v}\n" for a, b, v in rows))
    result = run(records, *given, "--published", published, "--table", table, "--out", report)
    assert result.exit_code == 1
    assert "audit: 1 withheld cells, 1 of them known exactly" in result.stdout
    assert not table.exists()
    assert "Not safe to publish" in report.read_text()
    assert run("--published", published, "--by", "region,sector", "--out", report).exit_code == 0
    assert "known within ten per cent" in report.read_text()
    done = run(records, *given, "--table", table, "--min-frequency", 3, "--dominance", "1,90", "--objective", "cells")
    assert done.exit_code == 0
    assert sum(row["value"] == "" for row in csv.DictReader(table.open())) == 4


def test_what_nothing_can_protect_is_reported_and_not_written(tmp_path: Path) -> None:
    """Two cells with a total that is kept: what is withheld is the total less the other."""
    records, table = tmp_path / "records.csv", tmp_path / "table.csv"
    records.write_text("sector,turnover\nx,100\n" + "y,45\n" * 40 + "z,0\n")
    arguments = ["--by", "sector", "--value", "turnover", "--table", table]
    kept = run(records, *arguments, "--no-totals", "--no-insiders")
    assert kept.exit_code == 0
    assert table.read_text() == "sector,value\nTotal,1900\nx,\ny,\nz,0\n"
    table.unlink()
    records.write_text("sector,turnover\nx,100\nz,0\n" + "z,0\n" * 40)
    alone = run(records, *arguments, "--dominance", "1,95", "--no-totals", "--min-frequency", 1)
    assert (alone.exit_code, table.exists()) == (0, True)  # cell and total are risky, and withheld, alike
    records.write_text("sector,turnover\n" + "x,100\n" * 2 + "y,45\n" * 2)
    lost = run(records, *arguments, "--no-totals", "--min-frequency", 3, "--frequency-margin", 200)
    assert lost.exit_code == 1
    assert "attacks cannot be withstood, whatever else is withheld" in lost.stdout


def test_hierarchies_and_weights_are_read(records: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree.csv"
    tree.write_text("sector,parent\nx,A\ny,A\n")
    result = run(records, "--by", "sector", "--value", "turnover", "--weights", "w", "--hierarchy", tree)
    assert "11 records in 4 cells" in result.stdout
    tree.write_text("sector,parent\nx,A\nA,B\nB,A\n")
    with pytest.raises(GemelError, match="cycle"):
        run(records, "--by", "sector", "--value", "turnover", "--hierarchy", tree)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--value word", "column word: the column has no number"),
        ("", "--value: the column that the tables add up is needed"),
        ("--value turnover --by nowhere", "there is no column .nowhere."),
        ("--value turnover --by region,sector,firm,w", "one to three different variables"),
        ("--value turnover --by region,region", "one to three different variables"),
        ("--value turnover --dominance 85", "write 2,85"),
        ("--value turnover --min-frequency 3 --coalition 2", "give --p-percent"),
        ("--value turnover --method best", "must be one of auto"),
        ("--value turnover --objective best", "must be `value` or `cells`"),
        ("--value turnover --weights negative", "cannot be negative"),
        ("--value turnover --unit blank", "1 without a unit"),
        ("--value turnover --published no-totals.csv", "the table has no totals"),
        ("--value turnover --published strange.csv", "levels of region that the records"),
        ("--value turnover --published words.csv", "1 that are neither"),
        ("--value turnover --published absent.csv", "there is no such file"),
    ],
)
def test_bad_input(records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, words: str) -> None:
    monkeypatch.chdir(tmp_path)
    lines = RECORDS.splitlines()
    wide = [f"{line},{'negative,blank' if k == 0 else '-1,' if k == 1 else '1,z'}" for k, line in enumerate(lines)]
    records.write_text("\n".join(wide))
    Path("no-totals.csv").write_text("region,value\nn,\ns,163\n")
    Path("strange.csv").write_text("region,value\nn,\nelsewhere,163\nTotal,401\n")
    Path("words.csv").write_text("region,value\nn,many\ns,163\nTotal,401\n")
    with pytest.raises(GemelError, match=words):
        run(records, "--by", "region", *arguments.split())


def test_neither_records_nor_a_published_table() -> None:
    with pytest.raises(GemelError, match="records are needed, or a published table"):
        run("--by", "region")


# Bounds of withheld cells against enumeration; linked tables, hierarchies, rounding and contributors' knowledge.


@settings(max_examples=8)
@given(st.lists(st.integers(0, 1), min_size=6, max_size=6), st.sets(st.integers(1, 11), min_size=1))
def test_bounds_are_those_of_all_tables(values: list[int], hidden: set[int]) -> None:
    """Two-way tables with their total: their extremes are whole, so that enumeration finds them."""
    shape = (2, 3)
    inner = [c for c in definition.cells_of(levels_of(shape)) if "Total" not in c]
    records = [(c, float(v), f"u{k}", 1.0) for k, (c, v) in enumerate(zip(inner, values, strict=True))]
    tables, found = made(shape, records)
    suppressed = np.isin(np.arange(12), list(hidden))
    names = [named(tables, c) for c in range(12)]
    published = {names[c]: int(found.values[c]) for c in np.flatnonzero(~suppressed)}
    possible = definition.whole_tables(inner, published, sum(values))
    sums = [possible[:, [definition.within(i, names[c]) for i in inner]].sum(axis=1) for c in sorted(hidden)]
    limits = Limits.of(found.values, suppressed, signed=False)
    for table in (found.values, feasible_table(tables, limits)):  # the truth known, or not
        lower, upper = exact_bounds(Suppressed(tables, limits.rooms(table)), table, np.flatnonzero(suppressed))
        assert lower == pytest.approx([s.min() for s in sums], abs=1e-6)
        assert upper == pytest.approx([s.max() for s in sums], abs=1e-6)


def outsiders_bounds(tables: LinkedTables, values: Floats, suppressed: Mask) -> tuple[list[float], list[float]]:
    """Of the suppressed cells, by whoever knows no more than what is published."""
    pattern = Suppressed(tables, Limits.of(values, suppressed, signed=False).rooms(values))
    lower, upper = exact_bounds(pattern, values, np.flatnonzero(suppressed))
    return lower.tolist(), upper.tolist()


@pytest.mark.parametrize(
    ("sets", "ends"),
    [([["region", "sector"]], (0.0, 10.0)), ([["region", "sector"], ["sector", "size"]], (4.0, 4.0))],
    ids=["alone", "with sectors by size, which has only one"],
)
def test_linked_tables_are_attacked_together(sets: list[list[str]], ends: tuple[float, float]) -> None:
    """Regions by sector, and sectors by size: what the first withholds, the second may tell."""
    levels = {"region": ["n", "s"], "sector": ["x", "y"], "size": ["1"]}
    own = [Classification.of(name, levels[name]) for name in dict.fromkeys(name for names in sets for name in names)]
    tables = LinkedTables.of(own, sets)
    nodes = np.asarray([[1, 1, 1], [1, 2, 1], [2, 1, 1], [2, 2, 1]])[:, : len(own)]
    values = contributions(tables, nodes, np.asarray([1.0, 2.0, 3.0, 4.0])).values
    described = [tables.described(c) for c in range(tables.n_cells)]
    hidden = np.asarray([d.keys() in ({"region", "sector"}, {"sector"}) for d in described])
    lower, upper = outsiders_bounds(tables, values, hidden)
    at = np.flatnonzero(hidden).tolist().index(described.index({"sector": "x"}))
    assert (lower[at], upper[at]) == ends


def test_a_hierarchy_adds_its_sums() -> None:
    tree = Classification.of("nace", ["01", "02", "10", "11"], {"01": "A", "02": "A", "10": "C", "11": "C"})
    tables = LinkedTables.of([tree], [["nace"]])
    values = contributions(tables, np.asarray([[1], [2], [3], [4]]), np.asarray([5.0, 7.0, 11.0, 13.0])).values
    assert dict(zip(tree.nodes, values, strict=True)) == {
        "Total": 36, "01": 5, "02": 7, "10": 11, "11": 13, "A": 12, "C": 24,
    }  # fmt: skip
    # Each is its division's sum less the other.
    assert outsiders_bounds(tables, values, np.isin(tree.nodes, ["01", "10"])) == ([5, 11], [5, 11])
    with pytest.raises(GemelError, match="cycle"):
        Classification.of("nace", ["01"], {"01": "A", "A": "B", "B": "A"})
    with pytest.raises(GemelError, match="other levels add up to"):
        Classification.of("nace", ["01", "A"], {"01": "A"})


def test_contributors_subtract_their_own() -> None:
    """Of two withheld cells that sum to 30, whoever has 12 in the second knows that the first is at most 18."""
    tables, found = made((2,), [(("a0",), 10.0, "u", 1.0), (("a1",), 12.0, "s", 1.0), (("a1",), 8.0, "t", 1.0)])
    limits = Limits.of(found.values, np.asarray([False, True, True]), signed=False)
    pattern = Suppressed(tables, limits.rooms(found.values))
    outsider, insider = Attack(1, 1, 15.0), Attack(1, 1, 15.0, Intruder((1,), {2: 12.0}))
    assert breaches(pattern, [outsider]) == []
    assert [reach for _, reach in breaches(pattern, [outsider, insider])] == pytest.approx([8.0])
    alone = Attack(1, -1, 1.0, Intruder((1,), {}, frozenset({2})))
    assert [reach for _, reach in breaches(pattern, [alone])] == [0.0]


def test_rounding_widens_what_is_known_by_what_it_hides() -> None:
    tables, found = made((2,), [(("a0",), 10.0, "u", 1.0), (("a1",), 13.0, "s", 1.0)])
    values = np.asarray([20.0, np.nan, 10.0])  # published to tens
    result = assess_published(tables, PublishedValues(values, 10.0))
    (entry,) = result["suppressed"]
    assert (entry["lower"], entry["upper"]) == pytest.approx((0.0, 20.0))  # 25 - 5 at most
    with pytest.raises(GemelError, match="no table agrees"):
        assess_published(tables, PublishedValues(np.asarray([20.0, 8.0, 10.0])))
    audited = assess(tables, found, (MinimumFrequency(2),), published=PublishedValues(values, 10.0))
    assert audited["breaches"] == []
    assert audited["published_primary"] == [{"a": "a1"}]
    with pytest.raises(GemelError, match="not those of the records, got 2 of 2"):
        assess(tables, found, (MinimumFrequency(2),), published=PublishedValues(values))


def test_a_naive_suppression_is_recovered() -> None:
    """Only the risky cell withheld: its row gives it away, to the last digit."""
    records = [((a, b), 10.0 + k, f"{a}{b}{k}", 1.0) for a in ("a0", "a1") for b in ("b0", "b1") for k in range(5)]
    tables, found = made((2, 2), [*records[5:], records[0]])
    values = found.values.copy()
    values[[c for c in range(9) if named(tables, c) == ("a0", "b0")]] = np.nan
    naive = assess(tables, found, (PriorPosterior(10),), published=PublishedValues(values))
    assert naive["recovered"] == 1
    succeeded = {(b["by"], b["bound"], b["reached"]) for b in naive["breaches"]}
    assert succeeded == {("an outsider", bound, 0.0) for bound in ("upper", "lower")}
    done = assess(tables, found, (PriorPosterior(10),), Choice(objective="cells"))
    assert (done["recovered"], done["breaches"], done["cells"]["secondary"]) == (0, [], 3)


def test_negative_values_leave_more_doubt() -> None:
    records = [(("a0",), -10.0, "u", 1.0), (("a1",), 12.0, "s", 1.0), *((("a2",), 5.0, f"v{k}", 1.0) for k in range(9))]
    tables, found = made((3,), records)
    assert found.sizes[0] == 67
    result = assess(tables, found, (PriorPosterior(10),))
    assert result["signed"]
    assert [result["cells"][name] for name in ("primary", "suppressed", "secondary")] == [2, 3, 1]  # s would find u
    assert [result["cells"][name] for name in ("all", "inner", "empty")] == [4, 3, 0]
    assert {entry["lower"] for entry in result["suppressed"]} == {None}


def test_what_is_known_beforehand_narrows_the_bounds_and_the_choice() -> None:
    """Three cells of one sum: without prior knowledge one neighbour does, at 20 per cent it cannot move far enough."""
    records = [(("a0",), 100.0, "u", 1.0), *((("a1",), 4.0, f"v{k}", 1.0) for k in range(5))]
    records += [(("a2",), 10.0, f"w{k}", 1.0) for k in range(5)]
    tables, found = made((3,), records)
    rules = (MinimumFrequency(2, 10),)
    free = assess(tables, found, rules)
    known = assess(tables, found, rules, Choice(known_within=0.2))
    assert [tuple(e["cell"].values()) for e in free["suppressed"]] == [("a0",), ("a1",)]
    assert free["known_within"] is None
    # 100 must reach 110 and 90: a1 may move by 4, a2 by 10.
    assert [tuple(e["cell"].values()) for e in known["suppressed"]] == [("a0",), ("a2",)]
    assert [e["lower"] for e in known["suppressed"]] == pytest.approx([90.0, 40.0])
    assert [e["upper"] for e in known["suppressed"]] == pytest.approx([110.0, 60.0])
    values = found.values.copy()
    values[[c for c in range(4) if named(tables, c) in {("a0",), ("a1",)}]] = np.nan
    audited = assess(tables, found, rules, Choice(known_within=0.2), PublishedValues(values))
    assert [b["reached"] for b in audited["breaches"]] == pytest.approx([4.0, 4.0])
    assert assess(tables, found, rules, published=PublishedValues(values))["breaches"] == []
    hopeless = assess(tables, found, rules, Choice(known_within=0.05))
    assert hopeless["suppression"]["not_withstood"] == 2
    with pytest.raises(GemelError, match="share above 0"):
        Choice(known_within=0.0)
