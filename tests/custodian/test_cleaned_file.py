"""A source read into an encrypted working table: its values, its counts and its errors are those of the whole file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.specification import Specification, load_specification
from gemel.custodian.cleaning.own_copies import kept_fields, own_copies
from gemel.custodian.source import cleaned_file
from gemel.custodian.source.cleaned_file import CleanedFile, read_cleaned, read_into
from gemel.custodian.source.known_file import read_known_files
from gemel.custodian.state.working_tables import EncryptedTable, WorkingFolder
from gemel.records.registry import file_stamps
from gemel.records.sources import CsvSource, Source
from tests.carole.refusals import refusal
from tests.custodian.cleaning.test_known_records import named
from tests.specifications import heading

SPEC = load_specification(
    heading("people", mode="block_keyed")
    + """
fields:
  - {name: surname, kind: name}
  - {name: born, kind: date, date: {order: ymd}}
  - {name: town, kind: text}
blocking: [{name: born, keys: [{field: born}]}]
variables: [{name: home, holder: both, categories: [city, sea]}]
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
PLANTED = "Wraxhollow"


@pytest.fixture
def folder(tmp_path: Path) -> WorkingFolder:
    (tmp_path / "working").mkdir()
    return WorkingFolder(tmp_path / "working")


@pytest.fixture
def table(folder: WorkingFolder) -> Iterator[EncryptedTable]:
    made = folder.table(by_column=True)
    yield made
    made.erase()


def written(tmp_path: Path, n: int, identifiers: list[str] | None = None) -> Source:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "id": identifiers or [f"r{number}" for number in range(n)],
            "surname": rng.choice([PLANTED, "Smith", "Li", ""], n),
            "born": rng.choice(["1960-01-02", "1961", "x"], n),
            "town": rng.choice(["York", "Bath"], n),
            "home": rng.choice(["city", "sea"], n),
        }
    )
    path = tmp_path / "people.csv"
    frame.write_csv(path)
    return Source(csv=CsvSource(path=path))


def read(table: EncryptedTable, source: Source, rows: int) -> CleanedFile:
    return read_into(table, source, SPEC, Side.ALICE, lambda name: nullcontext(), rows=rows)


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_what_is_kept_is_what_the_whole_file_gives(rows: int, table: EncryptedTable, tmp_path: Path) -> None:
    source = written(tmp_path, 40)
    file, whole = read(table, source, rows), read_cleaned(source, SPEC, Side.ALICE)
    assert file.profile == whole.cleaned.profile
    assert file.copies == own_copies(whole.cleaned.columns, kept_fields(SPEC))
    assert file.identifiers().equals(whole.identifiers)
    assert all(file.columns(SPEC)[name].equals(column) for name, column in whole.cleaned.columns.items())
    assert all(file.variables()[name].equals(places) for name, places in whole.cleaned.variables.items())
    kept = b"".join(path.read_bytes() for path in (tmp_path / "working").iterdir())
    assert len(kept) > 1000
    assert PLANTED.lower().encode() not in kept
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "working").iterdir())


@given(st.lists(st.integers(0, 5), max_size=30), st.sampled_from([1, 2, 7, 100]))
def test_equal_numbers_are_counted_some_at_a_time(values: list[int], at_once: int) -> None:
    counts = [values.count(value) for value in set(values)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cleaned_file, "_AT_ONCE", at_once)
        found = cleaned_file.distinct_and_pairs(np.array(values, dtype=np.uint64))
    assert found == (len(counts), sum(count * (count - 1) // 2 for count in counts))


@pytest.mark.parametrize("believed", [True, False])
def test_identifiers_that_are_missing_or_repeated(
    believed: bool, table: EncryptedTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"r{number}" for number in range(20)]
    names[3] = names[9] = names[12]
    names[15], names[18], names[19] = names[0], "", " "
    source = written(tmp_path, 20, names)
    with pytest.raises(GemelError) as whole:
        read_cleaned(source, SPEC, Side.ALICE)
    if believed:
        monkeypatch.setattr(cleaned_file, "_FEW", 0)
    with refusal(ErrorCode.DUPLICATE_IDENTIFIER) as parts:
        read(table, source, 4)
    assert "2 rows without one (lines 20, 21) and 2 identifiers on 5 rows (lines 2, 5, 11, 14, 17)" in str(whole.value)
    assert str(parts.value) == str(whole.value)


def test_what_a_killed_process_leaves_cannot_be_read_and_is_removed(folder: WorkingFolder, tmp_path: Path) -> None:
    left = folder.table()
    left.append(pl.DataFrame({"surname": [PLANTED]}), part=2)
    assert [batch["surname"].to_list() for batch in left.batches(part=2)] == [[PLANTED]]
    assert not list(left.batches(part=1))
    assert len(list((tmp_path / "working").iterdir())) == 1
    WorkingFolder(tmp_path / "working")
    assert not list((tmp_path / "working").iterdir())
    left.erase()


def test_a_changed_batch_and_a_full_disk(
    folder: WorkingFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = folder.table(by_column=True)
    table.append(pl.DataFrame({"a": ["x"], "b": ["y"]}))
    assert next(table.batches(["b"])).rows() == [("y",)]
    (path,) = (tmp_path / "working").iterdir()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert next(table.batches(["a"])).rows() == [("x",)]
    with refusal(ErrorCode.VAULT):
        next(table.batches(["b"]))

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with refusal(ErrorCode.STORAGE_FULL, "no space left"):
        table.append(pl.DataFrame({"a": ["x"], "b": ["y"]}))
    table.erase()


# The files that a specification names by digest: the one with the digest is read, and no other.

TEXT = "job;driving\n" + "clerk;good\nCook;\n" * 10


def write(path: Path, text: str = TEXT) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def naming(text: str = TEXT, **changed: Any) -> Specification:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return named(training={"by": "alice", "sha256": digest, "records": 20, **changed})


def test_the_file_with_the_digest_is_read_whatever_its_name_and_separator(tmp_path: Path):
    paths = [write(tmp_path / "other.csv", "job\nclerk\n"), write(tmp_path / "records.txt")]
    (found,) = read_known_files(paths, naming(), Side.ALICE)
    assert found.places["job"].to_list() == [0, 1] * 10
    assert found.places["driving"].to_list() == [0, None] * 10
    assert read_known_files([], naming(), Side.BOB) == ()


def test_a_file_of_another_digest_is_not_read(tmp_path: Path):
    """Also one that differs in a blank: it is not what all parties have approved."""
    for paths, got in (([write(tmp_path / "a.csv", TEXT + " ")], "1 files, none with this digest"), ([], "no files")):
        with refusal(ErrorCode.CONFIGURATION) as raised:
            read_known_files(paths, naming(), Side.ALICE)
        assert f"got {got}" in str(raised.value)
        assert naming().latent.training.sha256 in str(raised.value)


def test_errors_have_the_line_and_never_the_value(tmp_path: Path):
    text = TEXT.replace("Cook", "Wizard", 1)
    with pytest.raises(GemelError) as raised:
        read_known_files([write(tmp_path / "a.csv", text)], naming(text), Side.ALICE)
    assert "line 3" in str(raised.value)
    assert "Wizard" not in str(raised.value)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path):
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate((256 << 20) + 1)  # sparse: it has no bytes on the disk
    with pytest.raises(GemelError, match=r"large\.csv: .* at most 256 MiB, got 268,435,457 bytes"):
        read_known_files([path], naming(), Side.ALICE)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    with refusal(ErrorCode.SOURCE, r"absent\.csv"):
        read_known_files([tmp_path / "absent.csv"], naming(), Side.ALICE)


def test_a_file_of_another_project_that_is_gone_does_no_harm(tmp_path: Path):
    paths = [tmp_path / "absent.csv", write(tmp_path / "records.csv")]
    (found,) = read_known_files(paths, naming(), Side.ALICE)
    assert found.n_rows == 20


def test_stamps_change_with_the_files(tmp_path: Path):
    path = tmp_path / "a.csv"
    absent = file_stamps([path])
    assert absent == (0, 0, 0)
    write(path)
    there = file_stamps([path])
    write(path, TEXT + "clerk;good\n")
    assert len({absent, there, file_stamps([path])}) == 3
