"""Own values beside own links: the right ones, nothing else, and nothing overwritten."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.custodian.agent import condition_of
from gemel.custodian.leakage_report import Finding, LeakageReport
from gemel.custodian.operator.own_check import attach
from gemel.protos.linkage.v1 import project_pb2
from gemel.records.sources import CsvSource, Source
from tests.carole.refusals import refusal
from tests.custodian.conftest import SPECIFICATION, World
from tests.custodian.test_flow import CONTRIBUTED, eventually, running, shown


@pytest.fixture
def source(tmp_path: Path) -> Source:
    path = tmp_path / "people.csv"
    path.write_text("rec_id,name,age,town\n7,Ann,young,north\n8,Bo,,south\n9,Cy,old,north\n")
    return Source(csv=CsvSource(path=path))


@pytest.fixture
def links(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    pl.DataFrame(
        {"identifier": ["9", "8"], "link_id": ["b" * 16, "a" * 16], "link_probability": [0.95, 0.85]}
    ).write_parquet(folder / "links.parquet")
    return folder


def test_values_of_the_linked_records_in_the_order_of_link_ids(source: Source, links: Path, tmp_path: Path) -> None:
    out = tmp_path / "attached.csv"
    assert attach(links, source, "rec_id", ["town", "age", "town"], out) == 2
    text = out.read_text().splitlines()
    assert text == ["link_id,link_probability,town,age", f"{'a' * 16},0.85,south,", f"{'b' * 16},0.95,north,old"]
    assert out.stat().st_mode & 0o777 == 0o600
    with_own = tmp_path / "attached.parquet"
    attach(links / "links.parquet", source, "rec_id", ["age"], with_own, keep_identifier=True)
    assert pl.read_parquet(with_own).columns == ["identifier", "link_id", "link_probability", "age"]


def test_a_source_that_has_lost_a_linked_record(source: Source, links: Path, tmp_path: Path) -> None:
    path = source.csv.path  # type: ignore[union-attr]
    path.write_text("rec_id,name,age,town\n7,Ann,young,north\n8,Bo,,south\n")
    with refusal(ErrorCode.NOT_FOUND) as caught:
        attach(links, source, "rec_id", ["age"], tmp_path / "attached.csv")
    assert caught.value.got == "1 of 2 links"
    assert not (tmp_path / "attached.csv").exists()


@pytest.mark.parametrize(
    ("columns", "code"), [(["income"], ErrorCode.FIELD_MISSING), (["link_id"], ErrorCode.PARAMETER)]
)
def test_columns_that_cannot_be(source: Source, links: Path, tmp_path: Path, columns, code) -> None:
    with refusal(code):
        attach(links, source, "rec_id", columns, tmp_path / "attached.csv")


def test_nothing_is_overwritten_and_what_is_no_result_is_refused(source: Source, links: Path, tmp_path: Path) -> None:
    out = tmp_path / "attached.csv"
    out.write_text("mine")
    with refusal(ErrorCode.EXISTS):
        attach(links, source, "rec_id", ["age"], out)
    assert out.read_text() == "mine"
    with pytest.raises(GemelError, match="does not hold the links of a result"):
        attach(tmp_path, source, "rec_id", ["age"], tmp_path / "other.csv")


# An incomplete installation is found when the service starts or is checked, not in the middle of a project.

LONG = pytest.mark.long
ROOT = Path(__file__).resolve().parents[2]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        # Without `site`, which would find this checkout, installed for its developers.
        [sys.executable, "-S", *arguments],
        env={**os.environ, "PYTHONPATH": f"{folder}:{sysconfig.get_path('purelib')}"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("command", ["serve", pytest.param("check", marks=LONG)])
def test_a_driver_that_is_missing_is_named_with_what_installs_it(make_world, command: str) -> None:
    world = make_world()
    source = 'source:\n  database:\n    url: "mysql+pymysql://host/name"\n    query: SELECT 1\n'
    lines = world.alice.config.read_text().splitlines(keepends=True)
    start = next(number for number, line in enumerate(lines) if line.startswith("source:"))
    end = next(number for number in range(start + 1, len(lines)) if not lines[number].startswith((" ", "#", "\n")))
    world.alice.config.write_text("".join(lines[:start]) + source + "".join(lines[end:]))
    ended = run(ROOT, "-m", "gemel", "alice", command, "--config", str(world.alice.config))
    assert ended.returncode == 1
    assert "pymysql is not installed; pip install pymysql" in " ".join((ended.stdout + ended.stderr).split())
    assert world.carole.calls == []


@LONG  # in process: tests/e2e/test_own_check.py
def test_a_whole_installation_is_valid(make_world) -> None:
    world = make_world()
    ended = run(ROOT, "-m", "gemel", "alice", "check", "--config", str(world.alice.config))
    assert ended.returncode == 0, ended.stderr
    assert "valid" in ended.stdout
    assert world.carole.calls == []


# What keeps a project from going on at a custodian is reported to Carole as a kind, and withdrawn once mended.


@pytest.mark.parametrize("code", ErrorCode)
def test_every_error_has_a_kind(code: ErrorCode) -> None:
    assert condition_of(code) in set(project_pb2.CustodianCondition.values()) - {0}


def reports(world: World, conditions: dict[str, int]) -> None:
    """Carole is told these of Alice's projects, in the end."""
    eventually(lambda: world.carole.conditions.get(Side.ALICE) == conditions)


REFUSING = SPECIFICATION + "leakage: {limit: 0.05, above: refuse}\n"


def leaky(columns: Mapping[str, pl.Series], spec: Specification, *_: object) -> LeakageReport:
    return LeakageReport(spec.mode, 120, spec.leakage.limit, True, (Finding("surname", "", "counts", 0.5, 0.0),))


def test_nothing_above_the_limit_is_uploaded_until_the_operator_overrides(make_world) -> None:
    world = make_world(text=REFUSING)
    with running(world.alice, gate=leaky), running(world.bob):
        reports(world, {"people": project_pb2.CUSTODIAN_CONDITION_LEAKAGE})
        assert "field surname" in shown(world.alice).blocking_error
        assert ("BeginUpload", Side.ALICE) not in world.carole.calls
        with world.alice.control() as control:
            with pytest.raises(GemelError, match="needs a reason"):
                control.override("people", " ")
            control.override("people", "a public register")
        world.carole.wait_for(lambda: world.carole.state == CONTRIBUTED)
        reports(world, {})


def test_a_source_that_does_not_fit_until_it_is_mended(make_world) -> None:
    world = make_world()
    whole = world.alice.source.read_text()
    world.alice.source.write_text(whole.replace("surname", "nom", 1))
    with running(world.alice):
        reports(world, {"people": project_pb2.CUSTODIAN_CONDITION_SOURCE})
        world.alice.source.write_text(whole)
        reports(world, {})


def test_caroles_own_failure_is_shown_to_the_operator_and_not_reported_to_her(make_world) -> None:
    world = make_world()
    failing = True

    def before(method: str, side: Side) -> None:
        if failing and method == "Approve":
            raise GemelError(ErrorCode.STORAGE_FULL, "a chunk cannot be stored", where="/var/lib/gemel/carole/blobs")

    world.carole.before = before
    with running(world.alice):
        eventually(lambda: "storage is full" in shown(world.alice).blocking_error)
        assert "/var/lib" not in shown(world.alice).blocking_error
        polls = len(world.carole.calls)
        eventually(lambda: len(world.carole.calls) > polls + 3)
        assert world.carole.conditions[Side.ALICE] == {}
        failing = False
        world.carole.wait_for(lambda: Side.ALICE in world.carole.approved)
        eventually(lambda: shown(world.alice).blocking_error == "")
