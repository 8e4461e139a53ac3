"""``gemel risk magnitude``: the recipes of docs/magnitude.md as printed there, files, the report, bad input."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.errors import GemelError

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
        (["--by", "region", "--value", "word"], "column word: the column has no number"),
        (["--by", "region"], "--value: the column that the tables add up is needed"),
        (["--by", "nowhere", "--value", "turnover"], "there is no column .nowhere."),
        (["--by", "region,sector,firm,w", "--value", "turnover"], "one to three different variables"),
        (["--by", "region,region", "--value", "turnover"], "one to three different variables"),
        (["--by", "region", "--value", "turnover", "--dominance", "85"], "write 2,85"),
        (["--by", "region", "--value", "turnover", "--min-frequency", "3", "--coalition", "2"], "give --p-percent"),
        (["--by", "region", "--value", "turnover", "--method", "best"], "must be one of auto"),
        (["--by", "region", "--value", "turnover", "--objective", "best"], "must be `value` or `cells`"),
        (["--by", "region", "--value", "turnover", "--weights", "negative"], "cannot be negative"),
        (["--by", "region", "--value", "turnover", "--unit", "blank"], "1 without a unit"),
        (["--by", "region", "--value", "turnover", "--published", "no-totals.csv"], "the table has no totals"),
        (["--by", "region", "--value", "turnover", "--published", "strange.csv"], "levels of region that the records"),
        (["--by", "region", "--value", "turnover", "--published", "words.csv"], "1 that are neither"),
        (["--by", "region", "--value", "turnover", "--published", "absent.csv"], "there is no such file"),
    ],
)
def test_bad_input(
    records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = RECORDS.splitlines()
    wide = [f"{line},{'negative,blank' if k == 0 else '-1,' if k == 1 else '1,z'}" for k, line in enumerate(lines)]
    records.write_text("\n".join(wide))
    Path("no-totals.csv").write_text("region,value\nn,\ns,163\n")
    Path("strange.csv").write_text("region,value\nn,\nelsewhere,163\nTotal,401\n")
    Path("words.csv").write_text("region,value\nn,many\ns,163\nTotal,401\n")
    with pytest.raises(GemelError, match=words):
        run(records, *arguments)


def test_neither_records_nor_a_published_table() -> None:
    with pytest.raises(GemelError, match="records are needed, or a published table"):
        run("--by", "region")
