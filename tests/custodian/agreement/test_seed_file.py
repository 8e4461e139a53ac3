"""Seed files: private, of one project, and safe against copying errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Seed
from gemel.custodian.agreement.seed_file import load_seed_file, new_seed_file, seed_file_check
from tests.carole.refusals import refusal


def test_a_new_file_holds_a_random_seed_of_its_project(tmp_path: Path) -> None:
    seed = new_seed_file(tmp_path / "seed", "febrl4")
    assert (tmp_path / "seed").stat().st_mode & 0o777 == 0o600
    assert load_seed_file(tmp_path / "seed", "febrl4") == seed
    assert new_seed_file(tmp_path / "other", "febrl4") != seed


def test_it_is_never_overwritten(tmp_path: Path) -> None:
    seed = new_seed_file(tmp_path / "seed", "febrl4")
    with refusal(ErrorCode.EXISTS):
        new_seed_file(tmp_path / "seed", "febrl4")
    assert load_seed_file(tmp_path / "seed", "febrl4") == seed


@pytest.mark.parametrize("project", ["", "Febrl4", "febrl4\n", "a" * 65, "a/b"])
def test_a_project_has_a_projects_name(tmp_path: Path, project: str) -> None:
    with refusal(ErrorCode.PARAMETER):
        new_seed_file(tmp_path / "seed", project)
    assert list(tmp_path.iterdir()) == []


def test_another_projects_seed_is_refused(tmp_path: Path) -> None:
    new_seed_file(tmp_path / "seed", "febrl4")
    with pytest.raises(GemelError, match="expected the seed of project 'other', got the seed of project 'febrl4'"):
        load_seed_file(tmp_path / "seed", "other")


def test_a_file_open_to_others_is_refused(tmp_path: Path) -> None:
    new_seed_file(tmp_path / "seed", "febrl4")
    (tmp_path / "seed").chmod(0o644)
    with pytest.raises(GemelError, match="mode 0644"):
        load_seed_file(tmp_path / "seed", "febrl4")


def test_every_changed_digit_is_found_and_never_shown(tmp_path: Path) -> None:
    path = tmp_path / "seed"
    seed = new_seed_file(path, "febrl4").reveal().hex()
    text = path.read_text()
    start = text.index(seed)
    for place in range(start, start + len(seed)):
        path.write_text(text[:place] + ("1" if text[place] == "0" else "0") + text[place + 1 :])
        with pytest.raises(GemelError, match="does not have the check digits") as caught:
            load_seed_file(path, "febrl4")
        assert seed[:8] not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: text[:-5],
        lambda text: text + "more\n",
        lambda text: text.replace("gemel seed 1", "gemel seed 2"),
        lambda text: text.replace("seed ", "seed  "),
        lambda text: text.upper(),
        lambda text: "\ufeff" + text,
    ],
    ids=["empty", "cut", "lengthened", "version", "spaces", "capitals", "byte order mark"],
)
def test_a_malformed_file_is_refused(tmp_path: Path, change) -> None:
    path = tmp_path / "seed"
    new_seed_file(path, "febrl4")
    path.write_text(change(path.read_text()), encoding="utf-8")
    with pytest.raises(GemelError, match="this is not a seed file"):
        load_seed_file(path, "febrl4")


def test_a_mail_programs_line_ends_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "seed"
    seed = new_seed_file(path, "febrl4")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert load_seed_file(path, "febrl4") == seed


def test_the_check_digits_are_frozen() -> None:
    assert seed_file_check(Seed(bytes(range(32))), "febrl4") == GOLDEN


GOLDEN = "8a10596a9f272152"
