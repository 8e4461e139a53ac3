"""Files of other programs and languages, drafted and rehearsed: what is found is what services read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import gemel
from gemel.command import app
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH, two_files

N, COMMON = 300, 150
BORN = "date_of_birth"


@pytest.mark.parametrize("through_services", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_date_in_parts_other_encodings_and_other_words(tmp_path: Path, through_services: bool) -> None:
    alice, bob = two_files(N, N, COMMON, 0.2, np.random.default_rng(21))
    parts = [
        pl.col(BORN).str.slice(at, n).alias(name) for name, at, n in (("Jahr", 0, 4), ("Monat", 5, 2), ("Tag", 8, 2))
    ]
    german = alice.with_columns(parts).drop(BORN).with_columns(pl.col("surname") + " (Köln)")
    german = german.rename({"given_name": "Vorname", "surname": "Nachname", IDENTIFIER: "KundenNr", TRUTH: "Mensch"})
    (tmp_path / "a.csv").write_bytes(german.write_csv(separator=";").encode("cp1252"))
    (tmp_path / "b.csv").write_bytes(bob.rename({TRUTH: "human"}).write_csv(separator="\t").encode("utf-16"))
    files = ["--alice", str(tmp_path / "a.csv"), "--bob", str(tmp_path / "b.csv")]
    truth = ["--truth-alice", "Mensch", "--truth-bob", "human"]
    specification, out = tmp_path / "linkage.yaml", tmp_path / "out"

    drafted = CliRunner().invoke(app, ["spec", "draft", *files, *truth, "--out", str(specification)])
    assert drafted.exit_code == 0, drafted.output
    printed = " ".join(drafted.output.split())
    assert 'a.csv is read as cp1252, separated by ";"' in printed
    assert 'b.csv is read as utf-16, separated by "\\t"' in printed
    assert "columns: {alice: [Jahr, Monat, Tag], bob: date_of_birth}" in specification.read_text()
    assert "Mensch" not in specification.read_text().replace("Left out: Mensch", "")

    judged = gemel.link(tmp_path / "a.csv", tmp_path / "b.csv", specification.read_text(), threads=1).evaluate(
        tmp_path / "a.csv", tmp_path / "b.csv", ("Mensch", "human")
    )
    assert judged.at_decision.f1 >= 0.97
    if not through_services:
        return
    rehearsed = CliRunner().invoke(app, ["rehearse", str(specification), *files, *truth, "--out", str(out)])
    assert rehearsed.exit_code == 0, rehearsed.output
    profiles = json.loads((out / "profiles.json").read_text())
    born = next(field for field in profiles["alice"]["fields"] if field["field"] == BORN)
    assert born["column"] == "Jahr + Monat + Tag"
    assert born["unreadable"] < 0.02 * N
    assert json.loads((out / "evaluation.json").read_text())["at_decision"]["f1"] >= 0.97
