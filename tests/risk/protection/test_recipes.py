"""The recipes of docs/protection.md, run in their order; and what the command refuses."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from gemel.common.errors import GemelError
from gemel.risk.identification.key_file import KeyFile
from tests.risk.protection.small_files import TOWNS, people, typed

DOCUMENT = Path(__file__).parents[3] / "docs" / "protection.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people().write_csv("people.csv")
    people().write_parquet("people.parquet")
    pl.concat([people(), people(2600, seed=7)]).write_csv("population.csv")
    Path("towns.csv").write_text("value,level1\n" + "".join(f"{a},{b}\n" for a, b in TOWNS))
    Path("policy.yaml").write_text("policy:\n  k: 3\n  max_correct_matches: 0.02\n")
    return tmp_path


def recipes() -> list[str]:
    text = DOCUMENT.read_text(encoding="utf-8").split("## Recipes")[1].split("\n## ")[0]
    return [line.strip() for line in text.splitlines() if line.startswith("    gemel")]


def test_every_recipe_runs(folder: Path) -> None:
    lines = recipes()
    assert len(lines) == 8
    outputs = [typed(line) for line in lines]
    assert "is the file that" in outputs[-1]
    a = pl.read_csv("a.csv", infer_schema=False)
    keys = [k for k in ("age", "sex", "town") if k in a.columns]
    assert KeyFile.from_columns({k: a[k] for k in keys}, 0.1, missing="any").frequency.min() >= 3
    page = Path("a.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert page.count("<section>") == 4
    assert "not for publication" in outputs[0]
    report = json.loads(Path("a.json").read_text(encoding="utf-8"))
    assert report["log"] == json.loads(Path("a.log.json").read_text(encoding="utf-8"))
    for person in people()["id"]:
        assert person not in page
    assert "policy is judged by this" in outputs[5]
    f = json.loads(Path("f.json").read_text(encoding="utf-8"))
    assert f["after"]["exact"]["correct_matches"] <= 0.02 < f["before"]["exact"]["correct_matches"]
    assert "by the population, exactly" in Path("f.html").read_text(encoding="utf-8")
    assert "sex, age changed in 5 %" in Path("g.html").read_text(encoding="utf-8")
    e = json.loads(Path("e.log.json").read_text(encoding="utf-8"))
    assert {"microaggregation", "rounding"} <= {c["method"] for c in e["changes"]}


def test_parquet_keeps_its_types(folder: Path) -> None:
    output = typed(
        "gemel risk protect people.parquet --keys age,sex,town --fraction 0.1 --k 2 --levels age=0 --out p.parquet"
    )
    made = pl.read_parquet("p.parquet")
    assert made.schema["age"] == people().schema["age"]
    assert made["wage"].equals(people()["wage"])
    assert "a value of its own in id" in output
    assert "is the file that" in typed("gemel risk protect p.parquet --verify p.log.json")


def test_a_changed_file_is_noticed(folder: Path) -> None:
    typed(
        "gemel risk protect people.csv --keys age,sex --fraction 0.1 --k 2 --intervals age=5 --levels age=1 --out p.csv"
    )
    with pytest.raises(GemelError, match="not in its codebook") as refused:
        typed("gemel risk protect people.csv --verify p.log.json")
    assert "is not what p.log.json describes" in str(refused.value)


def test_the_log_of_random_changes_has_no_seed(folder: Path) -> None:
    options = "--keys age,sex --fraction 0.1 --levels age=0,sex=0 --pram sex=0.2 --seed 3 --out p.csv"
    output = typed(f"gemel risk protect people.csv {options}")
    assert "can undo" in output
    assert "seed" not in Path("p.log.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--keys age --fraction 0.1", "--out: is needed"),
        ("--keys age --out p.csv", "--fraction or --population: is needed"),
        ("--keys age --fraction 0.1 --population population.csv --out p.csv", "give one of the two"),
        ("--keys age --population towns.csv --out p.csv", "no column age|age"),
        ("--keys age --fraction 0.1 --pram age=much --out p.csv", "--pram: a name, an equals sign and a value"),
        ("--fraction 0.1 --out p.csv", "--keys: is needed"),
        ("--keys age --fraction 0.1 --out p.parquet", "format of the records"),
        ("--keys age --fraction 0.1 --out people.csv", "overwritten"),
        ("--keys age --fraction 0.1 --out p.csv --missing none", "`level` or `any`"),
        ("--keys age,town --fraction 0.1 --out p.csv --hierarchy town=absent.csv", "cannot be read"),
        ("--keys age,town --fraction 0.1 --out p.csv --hierarchy town=people.csv", "first column is `value`"),
        ("--keys age --fraction 0.1 --out p.csv --top age", "a name, an equals sign and a value"),
        ("--keys age --fraction 0.1 --out p.csv --model wage", "no regression"),
        ("--keys age --fraction 0.1 --out p.csv --k 500", "500 of 400 records"),
        ("--keys age --fraction 0.1 --out p.csv --policy towns.csv", "a policy is names and limits"),
        ("--verify towns.csv", "no JSON"),
    ],
)
def test_what_the_command_refuses(folder: Path, options: str, words: str) -> None:
    with pytest.raises(GemelError, match=words):
        typed(f"gemel risk protect people.csv {options}")
    assert not Path("p.csv").exists()


def test_a_file_of_stata_is_protected_as_csv(folder: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_dta(people().select("age", "sex"), "people.dta")
    options = "--keys age,sex --fraction 0.1 --k 3"
    with pytest.raises(GemelError, match="CSV or Parquet"):
        typed(f"gemel risk protect people.dta {options} --out p.dta")
    typed(f"gemel risk protect people.dta {options} --out p.csv")
    made = pl.read_csv("p.csv", infer_schema=False)
    assert KeyFile.from_columns(made.to_dict(), 0.1, missing="any").frequency.min() >= 3
