"""A rehearsal from the command's point of view: what it leaves behind, and what it does not."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import gemel
from gemel.command import app
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.specification import Specification, specification_digest
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH, two_files
from gemel.coordinator.demonstration.people.insured import with_policy, with_traits
from gemel.coordinator.draft.specification_draft import SAME_RECORDS, draft
from gemel.coordinator.draft.specification_text import dump_specification
from gemel.coordinator.rehearsal import rehearse as rehearsal
from gemel.coordinator.rehearsal.narration import Narrator, show_warnings
from gemel.coordinator.rehearsal.output_folder import WRITTEN, _whole, rehearse_into
from gemel.coordinator.rehearsal.processes import Services
from gemel.coordinator.truth_columns import Truth
from tests.typed import printed

N, COMMON = 300, 150


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Specification]:
    """Two files, one CSV and one Parquet, and a specification as the demonstration makes it, with a policy.

    Two stewards must sign what breaches it.
    """
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(11)
    alice, bob = two_files(N, N, COMMON, 0.2, rng)
    spec, _ = with_policy(
        *draft(alice.drop(TRUTH), bob.drop(TRUTH), "rehearsed", mode="block_keyed")[:2], (N, N, COMMON)
    )
    assert spec.assessment is not None
    twice = spec.assessment.model_copy(update={"on_breach": "hold", "signatures": 2})
    grants = [{"to": "alice", "bob": ["postcode"]}, {"to": "institute", "alice": ["phone"], "bob": ["phone"]}]
    plain = spec.model_copy(update={"assessment": twice}).model_dump()
    spec = Specification.model_validate(plain | {"release": {**plain["release"], "variables": grants}})
    alice, bob = with_traits(alice, bob, rng)
    alice.write_csv(folder / "alice.csv")
    bob.write_parquet(folder / "bob.parquet")
    return folder / "alice.csv", folder / "bob.parquet", spec


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of this test alone."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Process ids of the services a rehearsal starts, their children among them as far as they are seen."""
    pids: list[int] = []
    start = Services.start

    def noted(services: Services, service: object) -> object:
        running = start(services, service)  # type: ignore[arg-type]
        pids.append(running.pid)
        return running

    monkeypatch.setattr(rehearsal.Services, "start", noted)
    return pids


def ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.long
def test_what_a_rehearsal_leaves_behind(
    files: tuple[Path, Path, Specification],
    tmp_path: Path,
    temporary: Path,
    started: list[int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    alice, bob, spec = files
    out = tmp_path / "out"
    out.mkdir()
    (out / "links.csv").write_text("of an earlier rehearsal")
    rehearse_into(out, spec, alice, bob, Truth(TRUTH, TRUTH), Narrator(explain=True), "1GiB", 2)
    # One file has one digest, here and where `gemel spec check` prints it.
    assert specification_digest(spec).hex() in capsys.readouterr().out
    linked = {"linked-alice.parquet", "linked-institute.parquet"}
    assert {path.name for path in out.iterdir()} == set(WRITTEN) - {"joint.json"} | linked
    links = pl.read_parquet(out / "links.parquet")
    assert links.columns == ["alice", "bob", "link_probability"]
    assert pl.read_csv(out / "links.csv").columns == links.columns
    assert links["link_probability"].is_sorted(descending=True)
    truth = {
        "alice": pl.read_csv(alice, infer_schema=False).select(alice=IDENTIFIER, person=TRUTH),
        "bob": pl.read_parquet(bob).select(bob=IDENTIFIER, person_bob=TRUTH),
    }
    joined = links.join(truth["alice"], on="alice", validate="1:1").join(truth["bob"], on="bob", validate="1:1")
    assert joined.height == links.height
    received = pl.read_parquet(out / "linked-alice.parquet").join(links, left_on="identifier", right_on="alice")
    theirs = pl.read_parquet(bob).select(bob=IDENTIFIER, held=pl.col("postcode").cast(pl.String))
    fits = received.join(theirs, on="bob")
    assert fits.height == links.height
    assert fits["postcode"].cast(pl.String).eq_missing(fits["held"]).all()
    assert pl.read_parquet(out / "linked-institute.parquet").columns[2:] == ["phone_alice", "phone_bob"]
    right = joined.filter(pl.col("person") == pl.col("person_bob")).height
    evaluation = json.loads((out / "evaluation.json").read_text())
    decision = evaluation["at_decision"]
    assert (decision["precision"], decision["recall"]) == pytest.approx((right / links.height, right / COMMON))
    assert decision["f1"] >= 0.97
    assert json.loads((out / "linkage.json").read_text())["links"] == links.height
    profiles = json.loads((out / "profiles.json").read_text())
    assert {side: profile["rows"] for side, profile in profiles.items()} == {"alice": N, "bob": N}
    timings = json.loads((out / "timings.json").read_text())
    steps = ["provision", "start", "specify", "agree", "contribute", "link", "assess", "release", "evaluate"]
    assert [stage["name"] for stage in timings["stages"]] == steps
    assert timings["peak_memory_bytes"] > 50 << 20
    assert timings["processor_seconds"].keys() == {"carole", "alice", "bob"}
    assert min(timings["processor_seconds"].values()) > 0.1
    assert "http://" not in (out / "report.html").read_text().replace("http://www.w3.org/", "")
    judged = json.loads((out / "assessment.json").read_text())
    assert judged["records"] == links.height
    # Four traits distinguish so few people, which breaches the policy; the rehearsal's player is steward.
    assert judged["verdict"] == "breach"
    assert "The policy is breached" in (out / "risk.html").read_text()
    values = values_of(alice)
    assert len(values) > N
    for path in out.iterdir():
        if path.name not in ("links.csv", "links.parquet", *linked):
            text = path.read_text()
            assert not [value for value in values if value in text], path.name
    assert any(value in (out / "links.csv").read_text() for value in values)
    assert list(temporary.iterdir()) == [], "the folder with all keys is gone"
    assert len(started) == 3
    assert all(map(ended, started))


def values_of(file: Path) -> set[str]:
    """What stands in a file and nowhere else: long values of the columns that distinguish people."""
    frame = pl.read_csv(file, infer_schema=False)
    columns = [frame[name].drop_nulls() for name in (IDENTIFIER, "surname", "street", "date_of_birth", "phone")]
    return {value for column in columns for value in column if len(value) > 6}


def test_an_earlier_evaluation_does_not_stay_beside_new_links(tmp_path: Path) -> None:
    (tmp_path / "evaluation.json").write_text("of an earlier rehearsal, with the truth")
    (tmp_path / "linkage.yaml").write_text("not a rehearsal's to touch")
    with _whole(tmp_path) as folder:
        (folder / "links.csv").write_text("new")
    assert {path.name for path in tmp_path.iterdir()} == {"links.csv", "linkage.yaml"}
    with suppress(RuntimeError), _whole(tmp_path) as folder:
        (folder / "links.csv").write_text("half")
        raise RuntimeError
    assert (tmp_path / "links.csv").read_text() == "new"
    assert {path.name for path in tmp_path.iterdir()} == {"links.csv", "linkage.yaml"}


def test_a_rehearsal_that_fails_leaves_nothing(
    files: tuple[Path, Path, Specification], tmp_path: Path, temporary: Path, started: list[int]
) -> None:
    alice, bob, spec = files
    broken = tmp_path / "broken.csv"
    broken.write_bytes(alice.read_bytes().replace(b"surname", b"sur_name", 1))
    out = tmp_path / "out"
    with pytest.raises(GemelError) as caught:
        rehearse_into(out, spec, broken, bob, None, Narrator(explain=False), "1GiB", 2)
    assert str(caught.value) == (
        f"Alice cannot continue: {broken}: there is no column 'surname'; did you mean 'sur_name'?"
    )
    assert not out.exists()
    assert list(temporary.iterdir()) == []
    assert len(started) == 3
    assert all(map(ended, started))


@pytest.mark.parametrize(
    ("which", "reported"),
    [
        ({"alice": Path("nowhere.csv")}, "nowhere.csv: there is no such file; check --alice"),
        ({"bob": Path("/")}, "/: there is a folder of this name, and no file; check --bob"),
        ({"truth": Truth("absent", TRUTH)}, "there is no column 'absent', got columns record_id, person_id,"),
    ],
    ids=["no-file", "a-folder", "no-truth"],
)
def test_what_can_be_checked_at_once_is_reported_at_once(
    files: tuple[Path, Path, Specification], tmp_path: Path, started: list[int], which: dict[str, Any], reported: str
) -> None:
    alice, bob, spec = files
    given: dict[str, Any] = {"alice": alice, "bob": bob, "truth": None, **which}
    out = tmp_path / "out"
    with pytest.raises(GemelError) as caught:
        rehearse_into(out, spec, *given.values(), Narrator(explain=False), "1GiB", 2)
    assert caught.value.code in (ErrorCode.SOURCE, ErrorCode.FIELD_MISSING)
    assert reported in str(caught.value)
    assert not started
    assert not out.exists()


def test_a_service_that_cannot_start_says_why(
    files: tuple[Path, Path, Specification], tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob, spec = files
    configuration = rehearsal._carole_configuration
    monkeypatch.setattr(
        rehearsal,
        "_carole_configuration",
        lambda resources: configuration(resources).replace("127.0.0.1:0", "192.0.2.1:1"),
    )
    with pytest.raises(GemelError) as caught:
        rehearse_into(tmp_path / "out", spec, alice, bob, None, Narrator(explain=False), "1GiB", 2)
    assert caught.value.where == "carole"
    assert "ended by itself" in str(caught.value)
    assert "192.0.2.1:1" in caught.value.remedy
    assert list(temporary.iterdir()) == []


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
    assert " ".join(SAME_RECORDS.split()) in " ".join(done.output.split())
    assert isinstance(done.exception, GemelError)
    assert "no field takes two levels, so nothing distinguishes matches from other pairs" in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_warnings_that_matter_are_printed_with_their_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    """On the console, not in the report alone; notes stay there."""
    show_warnings(
        [
            result_warning("equal_records", records=70, side="Bob", assignment="one_to_one", other="one_to_many"),
            result_warning("levels_not_observed", levels="sex 1"),
        ]
    )
    shown = " ".join(capsys.readouterr().out.split())
    assert "70 of Bob's records equal another" in shown
    assert "one_to_many links all" in shown
    assert "Set links.assignment" in shown
    assert "sex 1" not in shown


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

    shown = " ".join(printed("spec", "draft", *files, *truth, "--out", specification).split())
    assert 'a.csv is read as cp1252, separated by ";"' in shown
    assert 'b.csv is read as utf-16, separated by "\\t"' in shown
    assert "columns: {alice: [Jahr, Monat, Tag], bob: date_of_birth}" in specification.read_text()
    assert "Mensch" not in specification.read_text().replace("Left out: Mensch", "")

    judged = gemel.link(tmp_path / "a.csv", tmp_path / "b.csv", specification.read_text(), threads=1).evaluate(
        tmp_path / "a.csv", tmp_path / "b.csv", ("Mensch", "human")
    )
    assert judged.at_decision.f1 >= 0.97
    if not through_services:
        return
    printed("rehearse", specification, *files, *truth, "--out", out)
    profiles = json.loads((out / "profiles.json").read_text())
    born = next(field for field in profiles["alice"]["fields"] if field["field"] == BORN)
    assert born["column"] == "Jahr + Monat + Tag"
    assert born["unreadable"] < 0.02 * N
    assert json.loads((out / "evaluation.json").read_text())["at_decision"]["f1"] >= 0.97
