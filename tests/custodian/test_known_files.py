"""The files that a specification names by digest: the one with the digest is read, and no other."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.custodian.source.known_file import known_file_stamps, read_known_files
from tests.custodian.cleaning.test_known_records import named

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
        with pytest.raises(GemelError) as raised:
            read_known_files(paths, naming(), Side.ALICE)
        assert raised.value.code is ErrorCode.CONFIGURATION
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
    with pytest.raises(GemelError, match=r"absent\.csv") as raised:
        read_known_files([tmp_path / "absent.csv"], naming(), Side.ALICE)
    assert raised.value.code is ErrorCode.SOURCE


def test_a_file_of_another_project_that_is_gone_does_no_harm(tmp_path: Path):
    paths = [tmp_path / "absent.csv", write(tmp_path / "records.csv")]
    (found,) = read_known_files(paths, naming(), Side.ALICE)
    assert found.n_rows == 20


def test_stamps_change_with_the_files(tmp_path: Path):
    path = tmp_path / "a.csv"
    absent = known_file_stamps([path])
    assert absent == ((0, 0, 0),)
    write(path)
    there = known_file_stamps([path])
    write(path, TEXT + "clerk;good\n")
    assert len({absent, there, known_file_stamps([path])}) == 3
