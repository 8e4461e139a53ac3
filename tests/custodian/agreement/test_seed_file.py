"""Seed files: private, of one project, and safe against copying errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Seed
from gemel.custodian.agreement.seed_file import load_seed_file, new_seed_file, seed_file_check
from tests.carole.refusals import refusal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "seed"


@pytest.fixture
def seed(path: Path) -> Seed:
    """In a file of a project."""
    return new_seed_file(path, "febrl4")


def test_a_new_file_holds_a_random_seed_of_its_project_and_is_never_overwritten(path: Path, seed: Seed) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    assert new_seed_file(path.with_name("other"), "febrl4") != seed
    with refusal(ErrorCode.EXISTS):
        new_seed_file(path, "febrl4")
    assert load_seed_file(path, "febrl4") == seed


@pytest.mark.parametrize("project", ["", "Febrl4", "febrl4\n", "a" * 65, "a/b"])
def test_a_project_has_a_projects_name(path: Path, project: str) -> None:
    with refusal(ErrorCode.PARAMETER):
        new_seed_file(path, project)
    assert list(path.parent.iterdir()) == []


@pytest.mark.usefixtures("seed")
def test_another_projects_seed_and_a_file_open_to_others_are_refused(path: Path) -> None:
    with pytest.raises(GemelError, match="expected the seed of project 'other', got the seed of project 'febrl4'"):
        load_seed_file(path, "other")
    path.chmod(0o644)
    with pytest.raises(GemelError, match="mode 0644"):
        load_seed_file(path, "febrl4")


def test_every_changed_digit_is_found_and_never_shown(path: Path, seed: Seed) -> None:
    text, digits = path.read_text(), seed.reveal().hex()
    start = text.index(digits)
    for place in range(start, start + len(digits)):
        path.write_text(text[:place] + ("1" if text[place] == "0" else "0") + text[place + 1 :])
        with pytest.raises(GemelError, match="does not have the check digits") as caught:
            load_seed_file(path, "febrl4")
        assert digits[:8] not in str(caught.value)


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
@pytest.mark.usefixtures("seed")
def test_a_malformed_file_is_refused(path: Path, change) -> None:
    path.write_text(change(path.read_text()), encoding="utf-8")
    with pytest.raises(GemelError, match="this is not a seed file"):
        load_seed_file(path, "febrl4")


def test_a_mail_programs_line_ends_do_not_matter(path: Path, seed: Seed) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert load_seed_file(path, "febrl4") == seed


def test_the_check_digits_are_frozen() -> None:
    assert seed_file_check(Seed(bytes(range(32))), "febrl4") == "8a10596a9f272152"
