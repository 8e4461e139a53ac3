"""Secrets at rest: files for their owner only; encryption bound to subject and place, erased with its key, moved."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.private_files import LIMIT, read_private, write_private
from gemel.common.keys.vault import (
    OVERHEAD_BYTES,
    WRAPPED_BYTES,
    Vault,
    WrappingKeys,
)
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


VAULT = Vault(WrappingKeys.create())


@given(st.binary(max_size=2000), st.integers(0, 2**32 - 1))
def test_a_chunk_comes_back_from_its_wrapped_key(content: bytes, index: int) -> None:
    key, wrapped = VAULT.create("upload-1")
    encrypted = key.encrypt(index, content)
    assert len(encrypted) == len(content) + OVERHEAD_BYTES
    assert len(wrapped) == WRAPPED_BYTES
    assert VAULT.unwrap("upload-1", wrapped).decrypt(index, encrypted) == content


def test_a_chunk_of_another_place_subject_or_key_is_refused() -> None:
    key, wrapped = VAULT.create("upload-1")
    other, _ = VAULT.create("upload-1")
    encrypted = key.encrypt(3, b"content")
    for attempt in (
        lambda: key.decrypt(4, encrypted),
        lambda: other.decrypt(3, encrypted),
        lambda: key.decrypt(3, encrypted[:-1]),
        lambda: key.decrypt(3, encrypted[:5]),
        lambda: key.decrypt(3, b""),
        lambda: key.decrypt(3, encrypted[:-1] + bytes([encrypted[-1] ^ 1])),
        lambda: VAULT.unwrap("upload-2", wrapped),
    ):
        with refusal(ErrorCode.VAULT):
            attempt()


def test_a_subject_is_bound_even_under_one_data_key() -> None:
    key, _ = VAULT.create("upload-1")
    other, _ = VAULT.create("upload-2")
    object.__setattr__(other, "_key", key._key)
    with pytest.raises(GemelError):
        other.decrypt(0, key.encrypt(0, b"content"))


def test_a_chunk_written_twice_does_not_use_a_nonce_twice() -> None:
    key, _ = VAULT.create("upload-1")
    nonces = {key.encrypt(7, b"content")[:12] for _ in range(100)}
    assert len(nonces) == 100
    assert {nonce[:4] for nonce in nonces} == {(7).to_bytes(4, "big")}


@given(st.integers(0, WRAPPED_BYTES - 1), st.integers(0, 7))
def test_a_changed_wrapped_key_is_refused(place: int, bit: int) -> None:
    _, wrapped = VAULT.create("upload-1")
    changed = bytearray(wrapped)
    changed[place] ^= 1 << bit
    with refusal(ErrorCode.VAULT):
        VAULT.unwrap("upload-1", bytes(changed))


@pytest.mark.parametrize("index", [-1, 2**32])
def test_an_index_has_bounds(index: int) -> None:
    key, _ = VAULT.create("upload-1")
    with pytest.raises(GemelError, match="chunk index"):
        key.encrypt(index, b"")


def test_destroying_the_wrapped_key_erases() -> None:
    key, wrapped = VAULT.create("upload-1")
    encrypted = key.encrypt(0, b"content")
    # What is left after erasure: every chunk, the wrapping key, and the wrapped keys of all other subjects.
    _, of_another = VAULT.create("upload-1")
    with pytest.raises(GemelError):
        VAULT.unwrap("upload-1", of_another).decrypt(0, encrypted)
    assert key._key not in wrapped


def test_rotation_moves_wrapped_keys_and_leaves_chunks(tmp_path: Path) -> None:
    path = tmp_path / "wrapping.key"
    WrappingKeys.create().save(path)
    vault = Vault(WrappingKeys.load(path))
    key, wrapped = vault.create("upload-1")
    encrypted = key.encrypt(0, b"content")

    WrappingKeys.load(path).rotated().save(path, replace=True)
    rotated = Vault(WrappingKeys.load(path))
    assert vault.is_current(wrapped)
    assert not rotated.is_current(wrapped)
    moved = rotated.rewrap("upload-1", wrapped)
    assert rotated.is_current(moved)
    assert rotated.unwrap("upload-1", wrapped).decrypt(0, encrypted) == b"content"

    WrappingKeys.load(path).retired().save(path, replace=True)
    retired = Vault(WrappingKeys.load(path))
    assert retired.unwrap("upload-1", moved).decrypt(0, encrypted) == b"content"
    with pytest.raises(GemelError, match="the wrapping key of this data key is not here"):
        retired.unwrap("upload-1", wrapped)
    with pytest.raises(GemelError):
        vault.unwrap("upload-1", moved)


@given(st.binary(max_size=300))
def test_a_small_secret_is_protected_as_a_whole(content: bytes) -> None:
    protected = VAULT.protect("seed of febrl4", content)
    assert VAULT.reveal("seed of febrl4", protected) == content
    with pytest.raises(GemelError):
        VAULT.reveal("seed of febrl5", protected)
    with pytest.raises(GemelError):
        VAULT.reveal("seed of febrl4", protected[:-1])


def test_wrapping_keys_are_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "wrapping.key"
    WrappingKeys.create().save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with refusal(ErrorCode.EXISTS):
        WrappingKeys.create().save(path)
    path.chmod(0o604)
    with pytest.raises(GemelError, match="mode 0604"):
        WrappingKeys.load(path)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda lines: [], 0),
        (lambda lines: lines[:1], 1),
        (lambda lines: ["other", *lines[1:]], 1),
        (lambda lines: [*lines, "nonsense"], 3),
        (lambda lines: [*lines, lines[1]], 3),
        (lambda lines: [lines[0], ("1" if lines[1][0] == "0" else "0") + lines[1][1:]], 2),
        (lambda lines: [lines[0], lines[1][:-1]], 2),
    ],
    ids=["empty", "no key", "another header", "nonsense", "twice", "wrong identifier", "cut off"],
)
def test_a_malformed_file_of_wrapping_keys_is_refused_by_line(tmp_path: Path, change, line: int) -> None:
    path = tmp_path / "wrapping.key"
    WrappingKeys.create().save(path)
    lines = path.read_text().splitlines()
    path.write_text("".join(f"{one}\n" for one in change(lines)))
    with pytest.raises(GemelError, match=f"line {line}: expected") as caught:
        WrappingKeys.load(path)
    # No message may hold a key, nor a part of a line that may be one.
    assert lines[1].split()[1][:16] not in str(caught.value)


def test_no_secret_in_a_repr() -> None:
    keys = WrappingKeys.create()
    key, _ = VAULT.create("upload-1")
    assert keys._keys[-1].hex() not in repr(keys)
    assert repr(keys) == "WrappingKeys()"
    assert repr(key) == "DataKey(subject='upload-1')"
