"""`tryst intrude` on files."""

from __future__ import annotations

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from tests.carole.intruder.releases import NAMES, attacked
from tryst.common.command import app
from tryst.common.errors import TrystError


@pytest.fixture
def written(tmp_path):
    files = attacked(200, 4)
    people = pl.DataFrame({name: files.known[:, q] for q, name in enumerate(NAMES[:4])})
    records = pl.DataFrame({name: files.released[:, q] for q, name in enumerate(NAMES) if q != 3})
    place = {int(row): k for k, row in enumerate(files.record_of) if row >= 0}
    people = people.with_columns(id=pl.Series([f"k{k}" for k in range(len(people))]))
    ids = [f"k{place[row]}" if row in place else f"r{row}" for row in range(len(records))]
    people.write_csv(tmp_path / "known.csv")
    records.with_columns(id=pl.Series(ids)).write_csv(tmp_path / "release.csv")
    return tmp_path


def run(*arguments):
    found = CliRunner().invoke(app, ["intrude", *map(str, arguments)], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.output


def test_attack_with_the_truth(written):
    out = run(
        written / "known.csv", written / "release.csv", "--id", "id", "--dummies", ".5", "--json", written / "risk.json"
    )
    assert (
        "100 people known by name, birthday, town, beside job; 120 records released that also contain income, car"
        in out
    )
    assert "With 50% dummy records (twins)" in out
    found = json.loads((written / "risk.json").read_text())
    assert found["intruders"]["extended latent"]["claims"]["best_of_each_person"]["true"] > 0.2


def test_attack_without_the_truth(written):
    out = run(written / "known.csv", written / "release.csv", "--keys", "birthday,town")
    assert "it is not known which claims are right" in out


def test_invalid_input_is_reported(written):
    for arguments, words in (
        (["--id", "absent"], "no column absent"),
        (["--keys", "height"], "key variable height"),
        (["--dummies", "many"], "shares from 0 to 10"),
        (["--minimum", "7"], "minimum in 0 to 1"),
    ):
        with pytest.raises(TrystError, match=words):
            run(written / "known.csv", written / "release.csv", *arguments)
