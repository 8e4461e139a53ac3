"""Duplicates inside one file, from the file to persons.csv and the report."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from benchmarks.duplicates import copied
from gemel.carole.engine import Resources
from gemel.command import app
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.coordinator.commands.duplicates import command
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.demonstration.people.population import IDENTIFIER
from gemel.coordinator.draft.specification_draft import draft
from gemel.coordinator.draft.specification_text import dump_specification
from gemel.coordinator.rehearsal.own_file import at_home, own_duplicates
from gemel.records.registry import file_source
from tests.carole.refusals import refused
from tests.specifications import heading
from tests.typed import error_of

ENOUGH = Resources(memory_bytes=2**28, threads=1)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame, Specification]:
    """A file of 400 people, a third of them twice, and a specification drafted for it."""
    rng = np.random.default_rng(2)
    table = copied(two_files(400, 1, 0, 0.2, rng, sampled=0.01)[0], 0.3, 0.3, rng)
    path = tmp_path_factory.mktemp("own") / "people.csv"
    table.write_csv(path)
    spec, *_ = draft(table.drop(TRUTH), table.drop(TRUTH), "own", block=True)
    return path, table, spec


def test_persons_are_named_by_the_files_own_identifiers(own: tuple[Path, pl.DataFrame, Specification]) -> None:
    path, table, spec = own
    found = own_duplicates(file_source(path), spec, Side.ALICE, ENOUGH, lambda stage, done: None)
    assert found.records == table.height
    assert found.persons.columns == ["person", "identifier", "probability"]
    assert found.persons["person"].to_list() == sorted(found.persons["person"].to_list())
    assert found.persons["probability"].min() > 0.5
    assert found.persons.group_by("person").len()["len"].min() == 2
    named = found.persons.join(table.select(identifier=IDENTIFIER, truth=TRUTH), on="identifier")
    assert named.height == found.persons.height
    right = named.group_by("person").agg(pl.col("truth").n_unique() == 1)["truth"].mean()
    assert right > 0.95
    twice = table.group_by(TRUTH).len().filter(pl.col("len") > 1).height
    assert found.persons["person"].n_unique() == pytest.approx(twice, abs=0.05 * twice)
    counted = found.statistics.linkage
    assert counted.unlinked.alice == counted.unlinked.bob == table.height - found.persons.height
    assert counted.pairs == 521 * 520 // 2
    assert not any("no blocking key" in warning.text for warning in found.statistics.warnings)


def test_the_command_writes_persons_and_a_report(
    own: tuple[Path, pl.DataFrame, Specification], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _, spec = own
    written = tmp_path / "linkage.yaml"
    written.write_text(dump_specification(spec), encoding="utf-8")
    command(path, written, tmp_path / "out", threads=1)
    printed = " ".join(capsys.readouterr().out.split())
    assert "people are in people.csv more than once" in printed
    assert re.search(r"By the model [\d.]+ % \([\d.]+ to [\d.]+ %\) of the links are right", printed)
    persons = pl.read_csv(tmp_path / "out" / "persons.csv")
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert f"{persons.height} of the " in report
    assert "What left this machine" in report
    assert "<caption>The file</caption>" in report
    with pytest.raises(GemelError, match="alice or bob"):
        command(path, written, tmp_path / "out", side="carole")


def test_what_is_for_the_eyes_of_others_is_left_out(own: tuple[Path, pl.DataFrame, Specification]) -> None:
    _, _, spec = own
    noisy = spec.model_dump()
    noisy["mode"], noisy["padding"] = "block_keyed", "powers_of_two"
    noisy["links"]["assignment"] = "one_to_one"
    noisy["fields"][0]["randomised_response"] = 0.05
    kept = at_home(Specification.model_validate(noisy))
    assert (kept.mode, kept.padding, kept.fields[0].randomised_response) == ("open", None, 0.0)
    assert kept.blocking == spec.blocking


def test_a_file_without_the_specifications_identifier_is_refused(
    own: tuple[Path, pl.DataFrame, Specification], tmp_path: Path
) -> None:
    _, table, spec = own
    path = tmp_path / "other.csv"
    table.drop(IDENTIFIER).write_csv(path)
    refused(ErrorCode.FIELD_MISSING, own_duplicates, file_source(path), spec, Side.ALICE, ENOUGH, lambda *_: None)


FIELDS = ", ".join(f"{{name: {name}, kind: name}}" for name in ("surname", "given", "town"))


def test_the_form_is_stated_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "linkage.yaml").write_text(
        f"{heading('own')}fields: [{FIELDS}]\nretention: {{uploads_days: 1, results_days: 1, maps_days: 1}}\n"
    )
    (tmp_path / "people.csv").write_bytes("id;surname;given;place\n1;Müller;Ann;Köln\n".encode("cp1252"))
    arguments = ["duplicates", str(tmp_path / "people.csv"), "--spec", str(tmp_path / "linkage.yaml"), "--out", "out"]
    found = CliRunner().invoke(app, arguments)
    assert 'people.csv is read as cp1252, separated by ";"' in " ".join(found.output.split())
    assert isinstance(found.exception, GemelError)
    assert "there is no column 'town'" in str(found.exception), "the other columns were found"
    assert error_of(*arguments, "--encoding", "utf-8").code is ErrorCode.TEXT_ENCODING
