"""A whole linkage with salted names and a list of similar ones, through the real services."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.draft.specification_draft import draft
from gemel.coordinator.rehearsal.narration import Narrator
from gemel.coordinator.rehearsal.output_folder import rehearse_into
from gemel.coordinator.truth_columns import Truth

N, COMMON = 300, 150


@pytest.mark.long
def test_a_rehearsal_with_salted_names(tmp_path: Path) -> None:
    alice, bob = two_files(N, N, COMMON, 0.2, np.random.default_rng(11))
    alice.write_csv(tmp_path / "alice.csv")
    bob.write_csv(tmp_path / "bob.csv")
    drafted, *_ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "salted-study", block=False)
    document = drafted.model_dump(mode="json") | {"mode": "open"}
    listed = [name for name, count in alice["surname"].drop_nulls().value_counts().iter_rows() if count < 3]
    for field in document["fields"]:
        if field["name"] in ("surname", "given_name"):
            field["salt"] = {"field": "date_of_birth", "part": "year"}
        if field["name"] == "surname":
            field["only_similar"] = listed
    spec = Specification.model_validate(document)
    assert spec.field("surname").salt is not None
    out = tmp_path / "out"
    rehearse_into(
        out, spec, tmp_path / "alice.csv", tmp_path / "bob.csv", Truth(TRUTH, TRUTH), Narrator(explain=False), "1GiB", 2
    )
    assert json.loads((out / "evaluation.json").read_text())["at_decision"]["f1"] >= 0.95
    born = pl.col("date_of_birth").is_null()
    for side, frame in (("alice", alice), ("bob", bob)):
        profiles = json.loads((out / "profiles.json").read_text())[side]
        fields = {field["field"]: field for field in profiles["fields"]}
        lacking = frame.filter(born & pl.col("surname").is_not_null()).height
        assert fields["surname"]["unsalted"] >= lacking
        assert 0 < fields["surname"]["coded_values"] < N
        assert fields["postcode"]["unsalted"] == 0
