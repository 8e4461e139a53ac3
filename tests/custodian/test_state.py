"""What a custodian remembers: encrypted where it is secret, whole after a crash, erased when its time is over."""

from __future__ import annotations

import io
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine

from gemel.common.audit import Checkpoint
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.vault import OVERHEAD_BYTES, DataKey, Vault, WrappingKeys
from gemel.common.versions import CUSTODIAN_STATE
from gemel.common.wire.chunks import CHUNK_BYTES, rechunked
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.migrations import STEPS
from gemel.custodian.state.pending_uploads import (
    DAY_SECONDS,
    EncryptedWriter,
    encrypted_file,
    read_encrypted,
)
from gemel.custodian.state.row_map import RowMapWriter, unpack_codes, unpack_decoys, unpack_map
from gemel.custodian.state.state_database import Base
from tests.carole.refusals import refusal
from tests.custodian.conftest import everything, kept_upload

PLANTED = b"Wolfeschlegelsteinhausenbergerdorff"


def packed_map(identifiers: list[str | None], order: list[int], n_records: int, decoys: int = 0, cut: int = 3) -> bytes:
    """A map whose rows come in pieces of `cut`."""
    packed = bytearray()
    writer = RowMapWriter(packed.extend, n_records, decoys)
    for begin in range(0, len(order), cut):
        rows = order[begin : begin + cut]
        names = [identifiers[row] if row < n_records else None for row in rows]
        writer.add(pl.Series(names, dtype=pl.String), np.array(rows, dtype=np.int64))
    return bytes(packed)


def reopened(state: State, vault: Vault) -> closing[State]:
    """The same folder in another service, after this one has ended."""
    state.close()
    return closing(State(state.folder, vault))


def test_no_secret_body_or_identifier_is_in_the_folder(state: State, vault: Vault) -> None:
    state.keep_secret("people", 1, "seed", PLANTED)
    kept_upload(state, "a", payload=PLANTED, row_map=PLANTED)
    assert state.secret("people", 1, "seed") == PLANTED
    kept = state.uploads.of_epoch("people", 1)
    assert kept is not None
    assert state.uploads.payload_chunk(kept, 0) == state.uploads.row_map(kept) == PLANTED
    with reopened(state, Vault(WrappingKeys.create())) as other, refusal(ErrorCode.VAULT):
        other.secret("people", 1, "seed")
    assert PLANTED not in everything(state.folder)
    for path in state.folder.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, f"{path.name} is open to others"


def test_the_noise_key_is_made_once_and_kept_encrypted(state: State, vault: Vault, tmp_path: Path) -> None:
    key = state.noise_key().reveal()
    assert state.noise_key().reveal() == key
    state.erase_secrets("people")
    with reopened(state, vault) as again:
        for form in (key, key.hex().encode()):
            assert form not in everything(state.folder)
        assert again.noise_key().reveal() == key
    with closing(State(state.folder, Vault(WrappingKeys.create()))) as other, refusal(ErrorCode.VAULT):
        other.noise_key()
    with closing(State(tmp_path / "another custodian's", vault)) as other:
        assert other.noise_key().reveal() != key


def test_state_of_a_newer_version_or_a_damaged_one_is_refused_and_left_as_it_is(tmp_path: Path, vault: Vault) -> None:
    State(tmp_path, vault).close()
    file = tmp_path / "custodian.sqlite"
    for version in (CUSTODIAN_STATE + 1, CUSTODIAN_STATE + 9):
        with sqlite3.connect(file) as database:
            database.execute(f"PRAGMA user_version = {version}")
        with refusal(ErrorCode.DATABASE):
            State(tmp_path, vault)
        with sqlite3.connect(file) as database:
            assert database.execute("PRAGMA user_version").fetchone() == (version,)
    file.write_bytes(b"no database" * 1000)
    with refusal(ErrorCode.DATABASE):
        State(tmp_path, vault)


def test_a_checkpoint_that_a_restoration_has_cut_is_kept_apart(state: State) -> None:
    state.see(checkpoint := Checkpoint("ab" * 16, 3, b"r" * 32, 1, b"s" * 64))
    state.set_aside(7, 2)
    assert (state.seen(), state.lost(7), state.lost(8)) == ([], checkpoint, None)


def test_what_is_written_to_a_state_that_was_moved_away_is_not_acknowledged(state: State) -> None:
    file, moved = state.folder / "custodian.sqlite", state.folder / "moved"
    for put_back in (lambda: moved.rename(file), lambda: None):
        file.rename(moved)
        with refusal(ErrorCode.DATABASE, "put the same file back"):
            state.update("meanwhile")
        put_back()
    file.write_bytes(moved.read_bytes())
    with pytest.raises(GemelError):  # a copy is another file
        state.update("meanwhile")
    moved.rename(file)
    state.update("after")
    assert {project.name for project in state.projects()} == {"people", "after"}


def test_a_secret_belongs_to_its_project_epoch_and_kind(state: State) -> None:
    for name in ("one", "two"):
        state.update(name)
        for epoch in (1, 2):
            state.keep_secret(name, epoch, "seed", f"{name}{epoch}".encode())
    assert state.secret("one", 3, "seed") is None
    state.erase_secrets("one", before_epoch=2)
    assert state.secret("one", 1, "seed") is None
    assert state.secret("one", 2, "seed") == b"one2"
    state.erase_secrets("one")
    assert state.secret("one", 2, "seed") is None
    assert state.secret("two", 1, "seed") == b"two1"


def test_one_service_at_a_time(state: State, vault: Vault) -> None:
    with refusal(ErrorCode.BUSY):
        State(state.folder, vault)
    with reopened(state, vault):
        pass


def files_of(state: State) -> list[str]:
    """First letter and kind of each file of an upload."""
    return sorted(path.name[0] + path.suffix for path in (state.folder / "uploads").iterdir())


def test_a_new_upload_erases_the_unfinished_one_and_keeps_the_committed(state: State) -> None:
    for name in "abc":
        kept_upload(state, name, row_map=f"map {name}".encode(), committed=name == "a")
    assert files_of(state) == ["a.map", "c.map", "c.payload"]
    newest = state.uploads.newest("people")
    assert newest is not None
    assert state.uploads.row_map(newest) == b"map c"


def test_leftovers_of_a_crash_are_removed_at_the_next_start(state: State, vault: Vault) -> None:
    kept_upload(state, "a")
    for stray in ("stray.payload", ".half.map.12"):
        (state.folder / "uploads" / stray).write_bytes(b"x")
    with reopened(state, vault) as again:
        assert files_of(again) == ["a.map", "a.payload"]
        kept = again.uploads.of_epoch("people", 1)
        assert kept is not None
        assert again.uploads.payload_chunk(kept, 0) == b"body"


def test_a_map_is_erased_when_its_days_are_over(state: State) -> None:
    upload = kept_upload(state, "a", map_days=2)
    assert state.uploads.erase_expired_maps(upload.created_at + 1.9 * DAY_SECONDS) == []
    assert state.uploads.erase_expired_maps(upload.created_at + 2.1 * DAY_SECONDS) == ["people"]
    assert files_of(state) == []
    erased = state.uploads.newest("people")
    assert erased is not None
    with refusal(ErrorCode.NOT_FOUND):
        state.uploads.row_map(erased)
    assert state.uploads.of_epoch("people", 1) is None


def test_a_damaged_payload_is_reported(state: State) -> None:
    kept = kept_upload(state, "a")
    path = next((state.folder / "uploads").glob("*.payload"))
    *rest, last = path.read_bytes()
    path.write_bytes(bytes([*rest, last ^ 1]))
    with refusal(ErrorCode.VAULT):
        state.uploads.payload_chunk(kept, 0)
    path.unlink()
    with pytest.raises(GemelError, match="cannot be read"):
        state.uploads.payload_chunk(kept, 0)


@given(st.lists(st.integers(0, 3 * CHUNK_BYTES // 2), max_size=5))
def test_chunks_do_not_depend_on_how_the_content_was_cut(sizes: list[int]) -> None:
    parts = [bytes([index]) * size for index, size in enumerate(sizes)]
    chunks = list(rechunked(parts))
    assert b"".join(chunks) == b"".join(parts)
    assert all(len(chunk) == CHUNK_BYTES for chunk in chunks[:-1])
    assert all(0 < len(chunk) <= CHUNK_BYTES for chunk in chunks[-1:])
    written = io.BytesIO()
    writer = EncryptedWriter(written, DataKey.unkept("test"))
    for part in parts:
        writer.write(part)
    writer.end()
    assert writer.digests == [sha256(chunk).digest() for chunk in chunks]
    assert len(written.getvalue()) == sum(map(len, parts)) + len(chunks) * OVERHEAD_BYTES


def test_each_chunk_of_an_encrypted_file_can_be_read_alone(tmp_path: Path, vault: Vault) -> None:
    key, _ = vault.create("test")
    content = np.random.default_rng(1).bytes(2 * CHUNK_BYTES + 17)
    with encrypted_file(tmp_path / "x", key) as file:
        file.write(memoryview(content))
    assert len(file.digests) == 3
    assert read_encrypted(tmp_path / "x", key, 2) == content[2 * CHUNK_BYTES :]
    assert read_encrypted(tmp_path / "x", key) == content
    with pytest.raises(GemelError):
        read_encrypted(tmp_path / "x", key, 3)


def test_a_file_that_cannot_be_finished_leaves_nothing(tmp_path: Path, vault: Vault) -> None:
    key, _ = vault.create("test")

    def broken() -> None:
        with encrypted_file(tmp_path / "x", key) as file:
            file.write(b"x" * CHUNK_BYTES)
            raise OSError(28, "No space left on device")

    with pytest.raises(GemelError, match="no space left"):
        broken()
    assert list(tmp_path.iterdir()) == []


@given(st.permutations(list(range(20))), st.lists(st.text(min_size=1), min_size=20, max_size=20))
def test_the_map_gives_each_row_its_identifier(order: list[int], names: list[str]) -> None:
    packed = packed_map(names, order, len(names))
    assert unpack_map(packed).to_list() == [names[row] for row in order]
    assert unpack_decoys(packed).to_list() == [None] * len(order)


def test_the_map_distinguishes_records_decoys_and_dummies() -> None:
    """Two records, three decoys, and dummies after them; a decoy under two rules is one decoy."""
    packed = packed_map(["a", "b"], [4, 1, 2, 7, 0, 5, 2], 2, 3)
    assert unpack_map(packed).to_list() == [None, "b", None, None, "a", None, None]
    assert unpack_decoys(packed).to_list() == [2, None, 0, None, None, None, 0]


def test_a_map_keeps_codes_of_the_rows_of_codes_only() -> None:
    packed = bytearray()
    writer = RowMapWriter(packed.extend, 2)
    writer.add(pl.Series(["a", "b", "b"]), np.array([0, 1, 1]))
    assert unpack_codes(bytes(packed)) == {}
    writer.add(pl.Series(["b", "a"]), np.array([1, 0]), {"job": np.array([3, -1], dtype=np.int16)})
    codes = unpack_codes(bytes(packed))
    assert {name: of_rows.tolist() for name, of_rows in codes.items()} == {"job": [-1, -1, -1, 3, -1]}
    assert unpack_map(bytes(packed)).to_list() == ["a", "b", "b", "b", "a"]


def test_a_map_without_rows_and_one_cut_short_or_of_another_format() -> None:
    assert unpack_map(packed_map([], [], 0)).to_list() == []
    whole = packed_map(["a"], [0, 0], 1)
    for packed in (whole[:-1], whole[1:], b""):
        with refusal(ErrorCode.VAULT):
            unpack_map(packed)


# A custodian's state under the schema of a later release: whole after a kill, and left alone by this release.

NEXT = '''
"""A step that keeps a table's rows, and ends the program in its middle where the test wants it."""
import os, signal
from alembic import op
from sqlalchemy import Column, String

revision, down_revision = "{version}", "{before}"


def upgrade() -> None:
    op.add_column("project", Column("owner", String, nullable=False, server_default="nobody"))
    op.execute("UPDATE project SET stage = 'upgraded'")
    if os.environ.get("KILLED"):
        os.kill(os.getpid(), signal.SIGKILL)
'''
OPEN = """
import sys
from pathlib import Path
from gemel.custodian.state import migrations, state_database
steps, version = Path(sys.argv[2]), int(sys.argv[3])
state_database.CUSTODIAN_STATE = version
state_database.migrate = lambda connection: migrations.migrate(connection, version, steps)
state_database.Database(Path(sys.argv[1])).close()
"""


@pytest.fixture
def former(state: State) -> Path:
    """The state folder of a custodian of this version, who knows two projects; no service has it."""
    for name in ("people", "waiting"):
        state.update(name, stage="uploading")
    state.close()
    return state.folder


def content(folder: Path) -> tuple[int, list[str]]:
    """Version and whole content of a state's database."""
    database = sqlite3.connect(folder / "custodian.sqlite")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    lines = list(database.iterdump())
    database.close()
    return version, lines


def test_the_schema_is_that_of_the_tables(former: Path) -> None:
    engine = create_engine(f"sqlite:///{former / 'custodian.sqlite'}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    engine.dispose()
    assert content(former)[0] == CUSTODIAN_STATE


def test_an_upgrade_that_is_killed_has_changed_nothing_and_is_done_at_the_next_start(
    former: Path, vault: Vault, tmp_path: Path
) -> None:
    before, target = content(former), CUSTODIAN_STATE + 1
    steps = tmp_path / "steps"
    shutil.copytree(STEPS, steps, ignore=shutil.ignore_patterns("__pycache__"))
    (steps / "versions" / "next.py").write_text(NEXT.format(version=target, before=CUSTODIAN_STATE))
    command = [sys.executable, "-c", OPEN, str(former / "custodian.sqlite"), str(steps), str(target)]
    assert subprocess.run(command, env={"KILLED": "1"}, timeout=120, check=False).returncode == -9
    assert content(former) == before
    subprocess.run(command, env={}, timeout=120, check=True)
    version, lines = content(former)
    assert version == target
    assert sum("upgraded" in line and "nobody" in line for line in lines) == 2
    # This release refuses it from now on, and leaves it as it is.
    with refusal(ErrorCode.DATABASE, "by a newer version of Gemel"):
        State(former, vault)
    assert content(former) == (version, lines)
