"""Files with a secret: whole or absent, for their owner only."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.private_files import LIMIT, read_private, write_private
from tests.carole.refusals import refusal


def test_written_for_the_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    former = os.umask(0)
    try:
        write_private(tmp_path / "key", b"secret")
    finally:
        os.umask(former)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert read_private(tmp_path / "key", "the key") == b"secret"
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_an_existing_file_stays(tmp_path: Path) -> None:
    write_private(tmp_path / "key", b"first")
    with refusal(ErrorCode.EXISTS):
        write_private(tmp_path / "key", b"second")
    assert read_private(tmp_path / "key", "the key") == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_link_to_nowhere_is_not_followed_when_writing(tmp_path: Path) -> None:
    (tmp_path / "key").symlink_to(tmp_path / "elsewhere")
    with refusal(ErrorCode.EXISTS):
        write_private(tmp_path / "key", b"secret")
    assert not (tmp_path / "elsewhere").exists()


def test_replaced_only_when_requested(tmp_path: Path) -> None:
    write_private(tmp_path / "key", b"first")
    write_private(tmp_path / "key", b"second", replace=True)
    assert read_private(tmp_path / "key", "the key") == b"second"
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with refusal(ErrorCode.CONFIGURATION, "nowhere/key: cannot write this file"):
        write_private(tmp_path / "nowhere" / "key", b"secret")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o660])
def test_a_file_open_to_others_is_refused_with_its_mode(tmp_path: Path, mode: int) -> None:
    write_private(tmp_path / "key", b"secret")
    (tmp_path / "key").chmod(mode)
    with refusal(ErrorCode.CONFIGURATION, f"the key is open to other users.*mode {mode:04o}.*chmod 600"):
        read_private(tmp_path / "key", "the key")


def test_a_file_its_owner_may_only_read_is_fine(tmp_path: Path) -> None:
    write_private(tmp_path / "key", b"secret")
    (tmp_path / "key").chmod(0o400)
    assert read_private(tmp_path / "key", "the key") == b"secret"


def test_missing_folder_pipe_and_long_file_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(0o700)
    write_private(tmp_path / "long", bytes(LIMIT + 1))
    for name, message in [
        ("missing", "No such file"),
        ("pipe", "no plain file"),
        ("folder", "no plain file"),
        ("long", f"more than {LIMIT} bytes"),
    ]:
        with pytest.raises(GemelError, match=message):
            read_private(tmp_path / name, "the key")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_another_users_file_is_refused(tmp_path: Path) -> None:
    write_private(tmp_path / "key", b"secret")
    os.chown(tmp_path / "key", 12345, 12345)
    with pytest.raises(GemelError, match="belongs to another user"):
        read_private(tmp_path / "key", "the key")
