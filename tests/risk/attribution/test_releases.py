"""Releases as JSON and CSV, the commands that read them, and every validation error with the tables it is in."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from polars import read_csv
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.errors import GemelError
from gemel.risk.attribution.cell_bounds import bounds
from gemel.risk.attribution.documents import release_of
from gemel.risk.attribution.reader import document_of, listed_tables, read_release
from gemel.risk.attribution.release import Release
from gemel.risk.attribution.table_assessment import assess
from gemel.risk.report.attribution import render
from tests.risk.attribution.small_releases import box, hold

FIGURE_18: dict[str, Any] = {
    "name": "figure 18",
    "variables": [{"name": "VAR1", "levels": ["A", "B", "C"]}, {"name": "VAR2", "levels": ["D", "E", "F"]}],
    "truth": [[1, 3, 0], [4, 0, 0], [3, 2, 0]],
    "tables": [
        {"name": name, "variables": variables, "protection": {"kind": "conventional", "base": 3}, "counts": counts}
        for name, variables, counts in (
            ("both", ["VAR1", "VAR2"], [[0, 3, 0], [3, 0, 0], [3, 3, 0]]),
            ("rows", ["VAR1"], [3, 3, 6]),
            ("columns", ["VAR2"], [9, 6, 0]),
            ("total", [], 12),
        )
    ],
}
SE05: dict[str, Any] = {
    "name": "SE05",
    "population": 18,
    "variables": [{"name": f"Var{i}", "levels": ["1", "2"]} for i in (1, 2, 3)],
    "truth": [[[2, 1], [4, 1]], [[5, 2], [1, 2]]],
    "tables": [
        {"name": "a", "variables": ["Var1", "Var2"], "protection": {"kind": "sample"}, "counts": [[2, 1], [3, 0]]},
        {"name": "b", "variables": ["Var2", "Var3"], "protection": {"kind": "sample"}, "counts": [[3, 1], [1, 0]]},
    ],
}


def changed(document: dict[str, Any], table: int | None = None, **changes: Any) -> dict[str, Any]:
    copy = json.loads(json.dumps(document))
    (copy if table is None else copy["tables"][table]).update(changes)
    return dict(copy)


def back(release: Release) -> Release:
    """What comes of its document."""
    return release_of(json.loads(json.dumps(document_of(release))))


def test_a_document_comes_back_as_it_was() -> None:
    for document in (FIGURE_18, SE05):
        release = release_of(document)
        again = back(release)
        assert again.variables == release.variables
        for ours, theirs in zip(release.tables, again.tables, strict=True):
            assert (ours.law, ours.axes, ours.counts.tolist()) == (theirs.law, theirs.axes, theirs.counts.tolist())


def test_ranges_withheld_counts_and_recodings() -> None:
    document = {
        "variables": [{"name": "a", "levels": ["1", "2", "3"]}],
        "tables": [
            {"name": "t", "variables": ["a"], "counts": [2, None, {"low": 1, "high": 4}]},
            {"name": "g", "variables": [{"name": "a", "groups": {"low": ["1", "2"], "high": ["3"]}}], "counts": [5, 3]},
        ],
    }
    release = release_of(document)
    assert box(bounds(release)) == box(bounds(back(release))) == ([2, 3, 3], [2, 3, 3])


def test_tables_are_made_from_the_truth() -> None:
    tables = [
        {"name": "r", "variables": ["VAR1", "VAR2"], "seed": 4, "protection": {"kind": "random", "base": 3}},
        {"name": "c", "variables": ["VAR1", "VAR2"], "protection": [{"kind": "unbiased_controlled", "base": 3}]},
        {"name": "s", "variables": ["VAR1"], "protection": {"kind": "sampling", "size": 4}},
    ]
    document = changed(FIGURE_18, tables=tables)
    release = release_of(document)
    assert [t.name for t in release.tables] == ["r", "c", "c: VAR1", "c: VAR2", "c: total", "s"]
    again = release_of(document)
    assert all((a.counts == b.counts).all() for a, b in zip(release.tables, again.tables, strict=True))
    assert hold(bounds(release), FIGURE_18["truth"])


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (changed(FIGURE_18, 3, counts=30), r"no population satisfies tables .*'total' together"),
        (changed(FIGURE_18, 2, counts=[9, 6, 9]), r"no population satisfies tables .*'columns'"),
        (changed(FIGURE_18, 1, counts=[3, -3, 6]), r"tables\[1\] \(rows\): counts must not be negative"),
        (changed(FIGURE_18, 1, counts=[3, 6]), r"table 'rows'.*shape \(3,\).*got \(2,\)"),
        (changed(FIGURE_18, 1, counts=[3, 4, 6]), r"table 'rows': rounded counts must be multiples of the base 3"),
        (changed(FIGURE_18, 1, counts=[3, 1.5, 6]), r"tables\[1\] \(rows\): needs"),
        (changed(FIGURE_18, 1, variables=["VAR9"]), r"no variable 'VAR9'"),
        (
            changed(FIGURE_18, 1, variables=[{"name": "VAR1", "levels": ["A", "B"]}], counts=[3, 3]),
            r"\(rows\): tables that share variable 'VAR1' must have its 3 levels, got 2: A, B",
        ),
        (
            changed(FIGURE_18, 1, variables=[{"name": "VAR1", "levels": ["A", "B", "C", "G"]}], counts=[3, 3, 6, 0]),
            r"\(rows\): tables that share variable 'VAR1' must have its 3 levels, got 4",
        ),
        (changed(FIGURE_18, 1, name="both"), "two tables are called 'both'"),
        (changed(FIGURE_18, 1, protection={"kind": "magic"}), "no such protection, got 'magic'"),
        (changed(FIGURE_18, 1, protection={"kind": "random", "bass": 3}), "other settings, got bass"),
        (changed(FIGURE_18, tables=[]), "at least one table"),
        (changed(FIGURE_18, truth=[[1, 2], [3, 4]]), "truth.*shape"),
        (changed(FIGURE_18, colour="red"), "colour: is not known here"),
        (changed(SE05, population=4), r"\(a\).*no larger than its population"),
        (changed(SE05, 1, protection={"kind": "sample", "population": 20}), "agree on its size.*18, 20"),
        (changed(SE05, 0, counts=[[2, 1], [30, 0]]), "no larger than its population"),
    ],
)
def test_validation_errors_are_named(document: dict[str, Any], message: str) -> None:
    with pytest.raises(GemelError, match=message):
        bounds(release_of(document))


def test_all_validation_errors_come_at_once() -> None:
    document = changed(FIGURE_18, 0, counts=[[0, 3], [3, 0]])
    document["tables"][1]["counts"] = [3, -3, 6]
    document["tables"][2]["variables"] = ["VAR7"]
    with pytest.raises(GemelError) as error:
        release_of(document)
    assert str(error.value).count("\n  - ") == 3


def test_a_truth_that_is_not_this_release_s_is_refused() -> None:
    with pytest.raises(GemelError, match="does not satisfy"):
        assess(release_of(changed(FIGURE_18, truth=[[9, 3, 0], [4, 0, 0], [3, 2, 0]])))


def test_csv_with_totals_and_withheld_counts() -> None:
    text = "sex,age,count\nf,young,3\nf,old,4\nm,young,1\nm,old,\nTotal,Total,12\nm,Total,5\n"
    variables, tables = listed_tables(read_csv(StringIO(text), infer_schema=False), "people")
    assert [v["levels"] for v in variables] == [["f", "m"], ["young", "old"]]
    assert [(t["name"], t["counts"]) for t in tables] == [
        ("people", [[3, 4], [1, None]]),
        ("people: total", 12),
        ("people: sex", [None, 5]),
    ]
    assert bounds(release_of({"variables": variables, "tables": tables})).lower.tolist() == [[3, 4], [1, 4]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "column `count`"),
        ("a,count\n", "no rows"),
        ("a,count\nx,1\nx,2\n", "line 3: a cell appears twice"),
        ("a,count\nx,one\n", "line 2: a count must be a whole number"),
    ],
)
def test_csv_validation_errors(text: str, message: str) -> None:
    with pytest.raises(GemelError, match=message):
        listed_tables(read_csv(StringIO(text), infer_schema=False), "t.csv")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["risk", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_writes_report_and_json(tmp_path: Path) -> None:
    path, out, found = tmp_path / "release.json", tmp_path / "report.html", tmp_path / "risk.json"
    path.write_text(json.dumps(FIGURE_18))
    printed = run("tables", str(path), "--out", str(out), "--json", str(found))
    assert "3 of 9 cells known exactly" in printed
    risk = json.loads(found.read_text())
    assert risk["bounds"]["tight"]
    assert risk["sap"]["static"][0] == 1, "three cells are known to be empty, and are"
    page = out.read_text()
    for words in ("<svg", "Hellinger", "VAR1=A, VAR2=F", "No one with", "Which cells an intruder recovers"):
        assert words in page, words
    assert "://" not in page.replace("http://www.w3.org/", ""), "the page needs no network"
    assert "<script" not in page


def test_the_report_tells_of_samples_and_escapes_what_it_is_given() -> None:
    document = changed(SE05, name="<b>SE05</b>")
    found = assess(release_of(document))
    assert found["matches"]["matches"][0]["probability"] == pytest.approx(0.3605, abs=1e-3)
    assert found["sap"]["retightened"]["exact"]
    page = render(found)
    assert "Unique matches" in page
    assert "<b>SE05" not in page
    without = assess(release_of({k: v for k, v in document.items() if k != "truth"}))
    assert not without["sap"]["computed"]
    assert "Not computed" in render(without)


def test_protecting_from_the_command_line(tmp_path: Path) -> None:
    table = {"name": "r", "variables": ["VAR1", "VAR2"], "protection": {"kind": "random", "base": 3}}
    document = changed(FIGURE_18, tables=[table])
    (tmp_path / "a.json").write_text(json.dumps(document))
    run("attribution", "protect", str(tmp_path / "a.json"), "--out", str(tmp_path / "b.json"))
    assert "truth" not in json.loads((tmp_path / "b.json").read_text())
    assert read_release(tmp_path / "b.json").tables[0].law == release_of(document).tables[0].law


def test_tables_in_csv_files_beside_the_release(tmp_path: Path) -> None:
    (tmp_path / "ages.csv").write_text("age,count\nyoung,4\nold,2\n")
    (tmp_path / "r.json").write_text(
        json.dumps({"name": "r", "tables": [{"csv": "ages.csv", "name": "ages"}, {"variables": [], "counts": 6}]})
    )
    release = read_release(tmp_path / "r.json")
    assert release.population == 6
    assert bounds(release).recovered.all()


def test_tables_of_any_encoding_and_separator(tmp_path: Path) -> None:
    content = "Größe,count\nÄltere,4\nSäugling,2\n"
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/ages.csv").write_text(content, encoding="utf-8")
    path = tmp_path / "ages.csv"
    path.write_bytes(content.replace(",", "|").encode("cp1252"))
    (tmp_path / "r.json").write_text(json.dumps({"name": "ages", "tables": [{"csv": "ages.csv"}]}))
    expected = repr(read_release(tmp_path / "plain/ages.csv"))
    assert "Säugling" in expected
    assert repr(read_release(path)) == expected
    assert repr(read_release(tmp_path / "r.json")) == expected
    assert "cp1252" in run("tables", str(path))
    assert "2 of 2 cells known" in run("tables", str(path), "--encoding", "cp1252", "--separator", "pipe")
    wrong = CliRunner().invoke(app, ["risk", "tables", str(path), "--separator", ";"])
    assert wrong.exit_code == 1


def test_microdata_command(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("area,age,ill\n" + "1,y,no\n" * 3 + "1,o,yes\n" * 2 + "2,y,no\n2,y,yes\n")
    printed = run("attribution", "microdata", str(tmp_path / "r.csv"), "--keys", "area,age", "--sensitive", "ill")
    assert re.search(r"k anonymity +2\n", printed)
    assert re.search(r"records with certain value +5\n", printed)
    with pytest.raises(GemelError, match=r"no column .place."):
        run("attribution", "microdata", str(tmp_path / "r.csv"), "--keys", "place", "--sensitive", "ill")
