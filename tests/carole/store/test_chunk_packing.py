"""Small files joined to large ones: nothing lost and nothing left, wherever it is killed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.projects.project import State
from gemel.carole.store import Store
from gemel.carole.store.payloads import stored_sets as chunk_packing
from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.payloads.encrypted_payloads import StoredChunk
from gemel.carole.store.payloads.stored_sets import groups
from gemel.common.errors import ErrorCode
from gemel.common.keys.vault import OVERHEAD_BYTES
from gemel.common.parties import Role, Side
from gemel.common.wire.chunks import CHUNK_BYTES
from tests.carole.refusals import refusal
from tests.carole.trial import PROJECT, UPLOADS, Contribution, keyed, send

UPLOAD = UPLOADS[Side.ALICE]


@pytest.fixture
def given_alice(contributions: dict[Side, Contribution]) -> Contribution:
    return contributions[Side.ALICE]


def files(tmp_path: Path) -> list[int]:
    """Sizes of the files of payloads."""
    return sorted(path.stat().st_size for path in (tmp_path / "blobs").glob("*/*"))


def sent(store: Store, contribution: Contribution) -> None:
    keyed(store)
    send(store, Side.ALICE, contribution)


def test_a_committed_upload_is_a_few_files(
    open_store: Callable[[], Store], given_alice: Contribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    sent(store, given_alice)
    whole = len(given_alice.payload) + len(given_alice.chunks) * OVERHEAD_BYTES
    assert len(files(tmp_path)) == len(given_alice.chunks)
    monkeypatch.setattr(chunk_packing, "PACK_BYTES", 4 * (CHUNK_BYTES + OVERHEAD_BYTES))
    for _ in range(2):
        given_alice.commit(store, Side.ALICE, UPLOAD)
        found = files(tmp_path)
        assert (len(found), sum(found)) == (-(-len(given_alice.chunks) // 4), whole)
    assert store.sweep().files == 0
    store = open_store()
    assert store.uploads.open(PROJECT, Side.ALICE).payload.read(0, len(given_alice.payload)) == given_alice.payload
    # A chunk that is sent once more is known, and leaves nothing.
    given_alice.put(store, Side.ALICE, UPLOAD, 1)
    assert files(tmp_path) == found


class _KilledError(BaseException):
    """Ends a call where a kill would."""


@pytest.mark.parametrize("after", ["the pack is written", "the pack is named"])
def test_a_kill_while_it_packs_leaves_nothing_that_a_sweep_does_not_find(
    open_store: Callable[[], Store],
    given_alice: Contribution,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    after: str,
) -> None:
    store = open_store()
    sent(store, given_alice)
    write = Blobs.write

    def killed(*_: object) -> None:
        raise _KilledError

    def write_and_die(blobs: Blobs, payload: str, content: bytes) -> str:
        write(blobs, payload, content)
        raise _KilledError

    with monkeypatch.context() as patched:
        patched.setattr(Blobs, "remove", killed)
        if after == "the pack is written":
            patched.setattr(Blobs, "write", write_and_die)
        with pytest.raises(_KilledError):
            given_alice.commit(store, Side.ALICE, UPLOAD)
    count = len(given_alice.chunks)
    assert len(files(tmp_path)) == count + 1
    store = open_store()
    assert len(files(tmp_path)) == (count if after == "the pack is written" else 1)
    given_alice.commit(store, Side.ALICE, UPLOAD)
    assert len(files(tmp_path)) == 1
    assert store.uploads.read(PROJECT, Side.ALICE)


def test_a_chunk_that_is_missing_on_the_disk_ends_the_commit_and_not_in_a_contribution(
    store: Store, given_alice: Contribution, tmp_path: Path
) -> None:
    sent(store, given_alice)
    next((tmp_path / "blobs").glob("*/*")).unlink()
    with refusal(ErrorCode.VAULT):
        given_alice.commit(store, Side.ALICE, UPLOAD)
    assert store.projects.get(PROJECT).state is State.KEYED


def test_an_erased_upload_is_gone_with_its_packs(store: Store, given_alice: Contribution, tmp_path: Path) -> None:
    sent(store, given_alice)
    given_alice.commit(store, Side.ALICE, UPLOAD)
    assert files(tmp_path)
    store.projects.erase(PROJECT, Role.COORDINATOR, "coordinator")
    assert not files(tmp_path)


@given(
    st.lists(st.tuples(st.integers(1, 20), st.sampled_from(["alone", "alone", "alone", "packed"]))), st.integers(1, 90)
)
def test_groups_follow_each_other_and_take_every_small_file_once(made: list[tuple[int, str]], longest: int) -> None:
    stored: list[StoredChunk] = []
    for position, (size, how) in enumerate(made):
        start = 1000 if how == "packed" else 0
        stored.append(StoredChunk(position, b"", size, str(position), start))
    longest += 2 * OVERHEAD_BYTES
    found = list(groups(stored, longest))
    taken = [chunk.position for group in found for chunk in group]
    assert taken == sorted(set(taken))
    for group in found:
        assert len(group) > 1
        assert [chunk.position for chunk in group] == list(range(group[0].position, group[-1].position + 1))
        assert all(chunk.start == 0 for chunk in group)
        assert sum(chunk.encrypted_bytes for chunk in group) <= longest
    # What was left alone could not have been joined to its neighbour.
    for one, other in pairwise(stored):
        if one.start == other.start == 0 and not {one.position, other.position} & set(taken):
            assert one.encrypted_bytes + other.encrypted_bytes > longest


def test_what_is_packed_is_not_packed_again() -> None:
    packed = [StoredChunk(i, b"", 10, "pack", i * (10 + OVERHEAD_BYTES)) for i in range(3)]
    assert list(groups(packed, 10**6)) == []
