"""--encoding and --separator: each command reads a file of another program as the same file in UTF-8 with commas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from gemel.command import app
from gemel.common.errors import ErrorCode, GemelError

FORM = ("--encoding", "cp850", "--separator", "semicolon")
"""An encoding that is not found by itself: its letters are others in latin-1."""
CODEBOOK = "form,variable,category\ncensus,town,Zürich\ncensus,town,Bern\n"

COMMANDS = {
    "identify": ("risk identify {file} --keys sex,town --fraction 0.1 --population {whole} --json {out}", "out"),
    "protect": ("risk protect {file} --keys sex,town --population {whole} --k 2 --out {records}", "records"),
    "microdata": ("risk attribution microdata {file} --keys sex,town --sensitive illness --json {out}", "out"),
    "magnitude": ("risk magnitude {file} --by sex,town --value income --json {out}", "out"),
    "models": ("risk models {file} --variables sex,town,illness --sensitive illness --json {out}", "out"),
    "intrude": ("intrude {whole} {file} --json {out}", "out"),
}


@pytest.fixture(scope="module")
def tables() -> dict[str, pl.DataFrame]:
    rng = np.random.default_rng(3)
    n = 60
    whole = pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "town": rng.choice(["Zürich", "Genève", "Bern"], n),
            "illness": rng.choice(["keine", "Fièvre"], n),
            "income": rng.integers(1, 90, n),
        }
    )
    return {"file": whole.head(30), "whole": whole}


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def written(folder: Path, name: str, text: str, *, here: bool) -> Path:
    path = folder / f"{name}.csv"
    path.write_bytes(text.encode() if here else text.replace(",", ";").encode("cp850"))
    return path


def files(folder: Path, tables: dict[str, pl.DataFrame], *, here: bool) -> dict[str, Path]:
    folder.mkdir()
    paths = {name: written(folder, name, table.write_csv(), here=here) for name, table in tables.items()}
    return paths | {"out": folder / "out.json", "records": folder / "records.csv"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_of_another_form_gives_the_same(tmp_path: Path, tables: dict[str, pl.DataFrame], name: str) -> None:
    typed, result = COMMANDS[name]
    here, there = files(tmp_path / "here", tables, here=True), files(tmp_path / "there", tables, here=False)
    plain = run(*typed.format(**here).split())
    assert plain.exit_code in (0, 1), plain.output
    other = run(*typed.format(**there).split(), *FORM)
    assert other.exit_code == plain.exit_code, other.output
    assert there[result].read_text() == here[result].read_text()
    assert 'file.csv is read as cp850, separated by ";"; --encoding and --separator override' in other.stderr
    assert "is read as" not in plain.stderr


def test_a_codebook_of_another_form(tmp_path: Path) -> None:
    shown = []
    for here in (True, False):
        folder = tmp_path / str(here)
        folder.mkdir()
        book, environment = written(folder, "book", CODEBOOK, here=here), folder / "environment"
        assert run("keyvars", "add", "environment", environment).exit_code == 0
        form = () if here else FORM
        done = run("keyvars", "add", "codebook", book, "--environment", environment, *form)
        assert done.exit_code == 0, done.output
        shown.append(run("keyvars", "show", "variable", "town", "--environment", environment).output)
    assert shown[0] == shown[1]
    assert "Zürich" in shown[0]


def test_what_is_no_encoding_is_named(tmp_path: Path, tables: dict[str, pl.DataFrame]) -> None:
    path = written(tmp_path, "r", tables["file"].write_csv(), here=True)
    error = run("risk", "identify", path, "--keys", "sex", "--fraction", "0.1", "--encoding", "cp0").exception
    assert isinstance(error, GemelError)
    assert (error.code, error.where) == (ErrorCode.PARAMETER, "--encoding")
