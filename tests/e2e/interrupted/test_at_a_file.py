"""Commands that are stopped in the middle of a file: what they had begun to write is not there."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from gemel.carole.configuration import load_carole, template
from gemel.carole.store.backup import back_up, restore
from gemel.carole.store.clock_guard import milliseconds
from gemel.carole.store.provision import StorePlace
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Side
from gemel.common.specification import load_specification
from gemel.custodian.steps.share import run_provenance
from tests.e2e.deployment import Deployment, specification
from tests.e2e.interrupted.terminal import (
    INT,
    NOTHING,
    TERM,
    Signal,
    Start,
    assert_ended,
    assert_leaves_nothing,
    command_of,
    held,
    interrupts,
)

RECORDS = {"id": range(3), "sex": ["f", "m", "f"], "area": ["a", "b", "b"], "income": [1, 2, 3]}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A custodian's share, and a file of records."""
    folder = tmp_path_factory.mktemp("files")
    pl.DataFrame(RECORDS).write_csv(folder / "records.csv")
    (folder / "run").mkdir()
    links = {"identifier": ["0", "2"], "link_id": ["a", "b"], "link_probability": [0.9, 0.8]}
    provenance = run_provenance(
        load_specification(specification("ended"), "test"), "a run", "links", [Side.ALICE], exact=True
    )
    pl.DataFrame(links).write_parquet(folder / "run/links.parquet", metadata=provenance.metadata())
    return folder


READING = [
    ("join --alice {0}/run --alice-file {0}/records.csv --out o.parquet", TERM),
    ("draws slope {0}/records.csv --x id --y income --json o.json", INT),
    ("risk attribution microdata {0}/records.csv --keys sex --sensitive area --json o.json", INT),
]


@interrupts(*[arguments for arguments, _ in READING])
@pytest.mark.parametrize(("arguments", "number"), READING, ids=[command_of(arguments) for arguments, _ in READING])
def test_nothing_is_written_of_a_file_that_is_not_read(
    start: Start, files: Path, arguments: str, number: Signal
) -> None:
    with held(files / "records.csv") as at_work:
        assert_leaves_nothing(start(arguments.format(files)), at_work, number)


@interrupts("alice attach", "alice check")
@pytest.mark.parametrize(
    ("arguments", "number"),
    [("attach {0}/run --columns sex --identifier record_id --out o.csv", INT), ("check", TERM)],
    ids=["attach", "check"],
)
def test_a_custodian_reads_its_records(
    start: Start, deployment: Deployment, files: Path, arguments: str, number: Signal
) -> None:
    with held(deployment.files[Side.ALICE]) as at_work:
        assert_leaves_nothing(
            start(f"alice {arguments.format(files)} --config {deployment.configs[Side.ALICE]}"), at_work, number
        )


@interrupts("carole backup")
@pytest.mark.parametrize("number", [pytest.param(INT, id="int"), pytest.param(TERM, id="term", marks=pytest.mark.long)])
def test_a_backup_that_is_stopped_is_not_there(start: Start, deployment: Deployment, number: Signal) -> None:
    blobs = load_carole(deployment.carole_yaml).store.place
    assert isinstance(blobs, Path)
    with held(blob_files(blobs)[-1]) as at_work:
        command = start(f"carole backup saved --config {deployment.carole_yaml}")
        command.wait_until(at_work)
        assert (command.folder / "saved" / "blobs").is_dir()
        assert_ended(command, number)
    assert command.left() == NOTHING


@interrupts("carole restore")
@pytest.mark.parametrize("number", [pytest.param(TERM, id="term"), pytest.param(INT, id="int", marks=pytest.mark.long)])
def test_a_restoration_that_is_stopped_has_no_database_and_goes_on_when_repeated(
    start: Start, deployment: Deployment, tmp_path: Path, number: Signal
) -> None:
    """Files of blobs stay, whole; without the database, which names them, they are no store."""
    configured = load_carole(deployment.carole_yaml)
    back_up(configured.store.database, configured.store.place, tmp_path / "saved", milliseconds)
    saved = blob_files(tmp_path / "saved" / "blobs")
    config, place = tmp_path / "restored.yaml", tmp_path / "place"
    config.write_text(template(deployment.address, keys=str(configured.keys), store=str(place)))
    with held(saved[-1]) as at_work:
        assert_leaves_nothing(start(f"carole restore {tmp_path / 'saved'} --config {config}"), at_work, number)
    there = {path.relative_to(place) for path in place.rglob("*") if path.is_file()}
    assert there == {Path("blobs/lock"), *(path.relative_to(tmp_path / "saved") for path in saved[:-1])}
    restored = load_carole(config).store
    identity = open_identity(configured.identity, deployment.made.parties["carole"].identity)
    restore(tmp_path / "saved", StorePlace(restored.database, restored.place, identity))
    assert len(blob_files(place / "blobs")) == len(saved)


def blob_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*/*") if path.is_file())
