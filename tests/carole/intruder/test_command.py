"""`gemel intrude` on files."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.errors import GemelError
from tests.carole.intruder.releases import NAMES, attacked, population


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


def intrude(folder, *options):
    arguments = [str(option) for option in (folder / "known.csv", folder / "release.csv", *options)]
    found = CliRunner().invoke(app, ["intrude", *arguments], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.output


def right_of(risk):
    """Share of the extended intruder's best claims that is true."""
    return risk["intruders"]["extended latent"]["claims"]["best_of_each_person"]["true"]


def test_attack_with_the_truth(written):
    out = intrude(written, "--id", "id", "--dummies", ".5", "--json", written / "risk.json")
    known = "100 people known by name, birthday, town, beside job; "
    assert f"{known}120 records released that also contain income, car" in out
    assert "With 50% dummy records (twins)" in out
    assert right_of(json.loads((written / "risk.json").read_text())) > 0.2


def test_attack_without_the_truth(written):
    out = intrude(written, "--keys", "birthday,town")
    assert "it is not known which claims are right" in out


def test_invalid_input_is_reported(written):
    for arguments, words in (
        (["--id", "absent"], "no column absent"),
        (["--keys", "height"], "key variable height"),
        (["--dummies", "many"], "shares from 0 to 10"),
        (["--minimum", "7"], "minimum in 0 to 1"),
    ):
        with pytest.raises(GemelError, match=words):
            intrude(written, *arguments)


def test_training_records_show_the_intruder_what_goes_with_what(written):
    """Of other people, with a job and an income in one record, which neither file has."""
    people = population(3_000, np.random.default_rng(9))
    others = pl.DataFrame({name: people[:, q] for q, name in enumerate(NAMES)}).with_columns(height=pl.lit("tall"))
    others.write_csv(written / "training.csv")
    found = []
    for more in ([], ["--training", written / "training.csv"]):
        out = intrude(written, "--id", "id", *more, "--json", written / "risk.json")
        found.append(json.loads((written / "risk.json").read_text()))
        assert ("3,000 training records." in out) == bool(more)
    without, trained = found
    assert (without["training"], trained["training"]) == (0, 3_000)
    assert right_of(trained) > right_of(without)
    assert without["intruders"]["Fellegi-Sunter"] == trained["intruders"]["Fellegi-Sunter"]


def test_training_records_that_are_coded_otherwise_are_refused(written):
    for frame, words in (
        (pl.DataFrame({"height": ["tall"] * 30}), "no variable of the files"),
        (pl.DataFrame({"job": ["cook", "clerk"] * 15}), "no value of job in the training records is in either file"),
    ):
        frame.write_csv(written / "training.csv")
        with pytest.raises(GemelError, match=words) as raised:
            intrude(written, "--training", written / "training.csv")
        assert "cook" not in str(raised.value)


def test_a_category_that_only_training_records_have_is_one_like_any_other(written):
    people = population(200, np.random.default_rng(9))
    frame = pl.DataFrame({name: people[:, q].astype(str) for q, name in enumerate(NAMES)})
    frame.with_columns(job=pl.when(pl.int_range(pl.len()) < 5).then(pl.lit("astronaut")).otherwise("job")).write_csv(
        written / "training.csv"
    )
    out = intrude(written, "--training", written / "training.csv")
    assert "200 training records" in out
    assert "astronaut" not in out
