"""Files that cannot be linked, or prove nothing: what a rehearsal makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import gemel
from gemel.command import app
from gemel.common.errors import GemelError
from gemel.common.specification import dump_specification
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH, two_files
from gemel.coordinator.draft.specification_draft import SAME_RECORDS, draft


@pytest.fixture
def people(tmp_path: Path) -> pl.DataFrame:
    """Some people, and the specification drafted for them as ``linkage.yaml``."""
    alice, bob = (frame.drop(TRUTH) for frame in two_files(150, 150, 75, 0.2, np.random.default_rng(3)))
    (tmp_path / "linkage.yaml").write_text(dump_specification(draft(alice, bob, "bad")[0]), encoding="utf-8")
    return alice


def test_a_file_without_a_value_linked_in_process(people: pl.DataFrame, tmp_path: Path) -> None:
    empty = people.with_columns(pl.lit("?").alias(name) for name in people.columns if name != IDENTIFIER)
    with pytest.raises(GemelError, match="no field takes two levels, so nothing distinguishes matches"):
        gemel.link(empty, empty, (tmp_path / "linkage.yaml").read_text())


@pytest.mark.long
def test_a_file_without_a_value_against_itself(people: pl.DataFrame, tmp_path: Path) -> None:
    empty = people.with_columns(pl.lit("?").alias(name) for name in people.columns if name != IDENTIFIER)
    empty.write_csv(tmp_path / "empty.csv")
    files = [option for side in ("--alice", "--bob") for option in (side, str(tmp_path / "empty.csv"))]
    done = CliRunner().invoke(app, ["rehearse", str(tmp_path / "linkage.yaml"), *files, "--out", str(tmp_path / "out")])
    printed = " ".join(done.output.split())
    assert " ".join(SAME_RECORDS.split()) in printed
    assert isinstance(done.exception, GemelError)
    assert "no field takes two levels, so nothing distinguishes matches from other pairs" in str(done.exception)
    assert not (tmp_path / "out").exists()
