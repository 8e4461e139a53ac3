"""Ranges of a stored contribution: the bytes that were sent, or an error that names the project and the side."""

from __future__ import annotations

import pickle
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import text

from gemel.carole.store.payloads import payload_reader as payload_source
from gemel.carole.store.payloads import stored_sets as chunk_packing
from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.payloads.encrypted_payloads import StoredChunk
from gemel.carole.store.payloads.payload_reader import PayloadReference, PayloadSource, provide
from gemel.carole.store.payloads.stored_sets import groups
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.vault import OVERHEAD_BYTES, DataKey, Vault, WrappingKeys
from gemel.common.parties import Side
from gemel.common.wire.chunks import CHUNK_BYTES
from tests.carole.refusals import refusal
from tests.carole.store.test_migrations import transaction
from tests.carole.trial import PROJECT, UPLOADS, Contribution, contribute, contributed, erase, keyed, send

COUNT = 6


@pytest.fixture(
    params=[chunk_packing.PACK_BYTES, 2 * CHUNK_BYTES + 100, pytest.param(1, marks=pytest.mark.long)],
    ids=["one file", "two chunks a file", "alone"],
)
def packed(request, monkeypatch):
    monkeypatch.setattr(chunk_packing, "PACK_BYTES", request.param)
    return int(request.param)


@pytest.fixture
def ready(packed, store, contributions):
    contributed(store, contributions)
    return store


def rows(url):
    """By place of a chunk of Alice's contribution, its payload, its file and where it begins in that."""
    query = "SELECT position, chunks.payload, file, start FROM chunks JOIN uploads USING (payload) WHERE side = 'alice'"
    with transaction(url) as connection:
        return {row.position: (row.payload, row.file, row.start) for row in connection.execute(text(query))}


def encrypted(blobs, url, position):
    """The file of a chunk of Alice's, and the bytes of it that are the chunk's."""
    payload, file, start = rows(url)[position]
    return blobs / payload / file, slice(start, start + CHUNK_BYTES + OVERHEAD_BYTES)


def change(url, statement, **values):
    with transaction(url) as connection:
        connection.execute(text(statement), values)


def test_any_range_is_what_was_sent(ready, contributions):
    sent = contributions[Side.BOB]
    there = ready.uploads.open(PROJECT, Side.BOB)
    total = len(sent.payload)
    assert (there.layout, there.payload.total_bytes, len(sent.chunks)) == (sent.layout, total, COUNT)
    places = st.one_of(
        st.integers(0, total),
        st.builds(lambda i, d: min(total, max(0, i * CHUNK_BYTES + d)), st.integers(0, COUNT), st.integers(-2, 2)),
    )

    @given(places, places)
    @example(0, 0)
    @example(total, total)
    @example(0, total)
    def ranges(one, other):
        start, stop = sorted((one, other))
        assert there.payload.read(start, stop) == sent.payload[start:stop]

    ranges()
    for start, stop in ((-1, 5), (5, 4), (0, total + 1), (total + 1, total + 1)):
        with refusal(ErrorCode.UPLOAD_CORRUPT, f"the payload has {total} bytes"):
            there.payload.read(start, stop)


def test_a_range_reads_only_its_chunks_and_holds_one_of_them(ready, packed, monkeypatch):
    there = ready.uploads.open(PROJECT, Side.ALICE)
    read: list[tuple[int, int]] = []
    before = Blobs.read

    def noted(blobs, payload, file, start, length):
        read.append((start, length))
        return before(blobs, payload, file, start, length)

    monkeypatch.setattr(Blobs, "read", noted)
    content = there.payload.read(2 * CHUNK_BYTES - 3, 3 * CHUNK_BYTES + 3)
    each = CHUNK_BYTES + OVERHEAD_BYTES
    if packed > 3 * CHUNK_BYTES:
        expected = [(each, 3 * each)]
    else:
        expected = [(each, each), (0, 2 * each)] if packed > 1 else [(0, each)] * 3
    assert (len(content), read) == (CHUNK_BYTES + 6, expected)
    there.payload.read(3 * CHUNK_BYTES + 3, 3 * CHUNK_BYTES + 9)
    assert len(read) == len(expected), "the chunk that was read last is still there"
    del content
    tracemalloc.start()
    try:
        for start in range(0, there.payload.total_bytes - 100, 100_000):
            there.payload.read(start, start + 100)
        assert tracemalloc.get_traced_memory()[1] < 4.5 * CHUNK_BYTES < there.payload.total_bytes
    finally:
        tracemalloc.stop()


def rewrite(blobs, url, write):
    """Change the bytes of the file of Alice's third chunk, given where in it that chunk is."""
    file, part = encrypted(blobs, url, 2)
    content = bytearray(file.read_bytes())
    write(content, part)
    file.write_bytes(content)


def flip(blobs, url):
    def write(content, part):
        content[part.start + 500_000] ^= 1

    rewrite(blobs, url, write)


def swap_bytes(blobs, url):
    (one, here), (other, there) = (encrypted(blobs, url, position) for position in (1, 2))
    contents = {file: bytearray(file.read_bytes()) for file in {one, other}}
    contents[one][here], contents[other][there] = contents[other][there], contents[one][here]
    for file, content in contents.items():
        file.write_bytes(content)


def put_the_other_sides(blobs, url):
    own = rows(url)[2][0]
    (other,) = (folder for folder in blobs.iterdir() if folder.is_dir() and folder.name != own)
    theirs = max(other.iterdir()).read_bytes()[: CHUNK_BYTES + OVERHEAD_BYTES]
    rewrite(blobs, url, lambda content, part: content.__setitem__(part, theirs))


def swap_rows(blobs, url):
    found = rows(url)
    for position, other in ((1, 2), (2, 1)):
        payload, file, start = found[other]
        values = {"payload": payload, "file": file, "start": start, "position": position}
        statement = "UPDATE chunks SET file = :file, start = :start WHERE payload = :payload AND position = :position"
        change(url, statement, **values)


def change_a_digest(blobs, url):
    first = "SELECT digest FROM chunks WHERE payload = :payload AND position = 1"
    statement = f"UPDATE chunks SET digest = ({first}) WHERE payload = :payload AND position = 2"  # noqa: S608
    change(url, statement, payload=rows(url)[2][0])


@pytest.mark.parametrize("damage", [flip, swap_bytes, put_the_other_sides, swap_rows, change_a_digest])
def test_a_damaged_chunk_is_an_error_and_the_others_can_be_read(ready, contributions, url, tmp_path, damage):
    damage(tmp_path / "blobs", url)
    sent = contributions[Side.ALICE].payload
    reader = ready.uploads.open(PROJECT, Side.ALICE).payload
    assert reader.read(0, CHUNK_BYTES) == sent[:CHUNK_BYTES]
    assert reader.read(3 * CHUNK_BYTES, len(sent)) == sent[3 * CHUNK_BYTES :]
    for start, stop in ((2 * CHUNK_BYTES, 2 * CHUNK_BYTES + 1), (CHUNK_BYTES + 5, 4 * CHUNK_BYTES), (0, len(sent))):
        with refusal(ErrorCode.VAULT, r"^trial, contribution of alice, chunk [12] of 6 "):
            reader.read(start, stop)


@pytest.mark.parametrize("spoil", [lambda file: file.unlink(), lambda file: file.write_bytes(file.read_bytes()[:-1])])
def test_a_missing_or_shortened_file_is_an_error(ready, url, tmp_path, spoil):
    last, _ = encrypted(tmp_path / "blobs", url, COUNT - 1)
    spoil(last)
    reader = ready.uploads.open(PROJECT, Side.ALICE).payload
    with refusal(ErrorCode.VAULT, r"^trial, contribution of alice, chunk [0-5] of 6 "):
        reader.read(0, reader.total_bytes)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM chunks WHERE payload = :payload AND position = 2",
        "UPDATE chunks SET size = size - 1 WHERE payload = :payload AND position = 2",
        "UPDATE chunks SET position = 6 WHERE payload = :payload AND position = 2",
    ],
)
def test_rows_that_do_not_name_the_whole_are_refused(ready, url, statement):
    change(url, statement, payload=rows(url)[2][0])
    with refusal(ErrorCode.VAULT, "contribution of alice: the database must name the 6 chunks"):
        ready.uploads.open(PROJECT, Side.ALICE)


# Small files joined to large ones: nothing lost and nothing left, wherever it is killed.

UPLOAD = UPLOADS[Side.ALICE]


@pytest.fixture
def given_alice(contributions):
    return contributions[Side.ALICE]


def files(tmp_path):
    """Sizes of the files of payloads."""
    return sorted(path.stat().st_size for path in (tmp_path / "blobs").glob("*/*"))


def sent(store, contribution):
    keyed(store)
    send(store, Side.ALICE, contribution)


def test_a_committed_upload_is_a_few_files(open_store, given_alice, tmp_path, monkeypatch):
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
    open_store, given_alice, tmp_path, monkeypatch, after
):
    store = open_store()
    sent(store, given_alice)
    write = Blobs.write

    def killed(*_):
        raise _KilledError

    def write_and_die(blobs, payload, content):
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
    assert store.uploads.open(PROJECT, Side.ALICE).read(0)


def test_an_erased_upload_is_gone_with_its_packs(store, given_alice, tmp_path):
    sent(store, given_alice)
    given_alice.commit(store, Side.ALICE, UPLOAD)
    assert files(tmp_path)
    erase(store)
    assert not files(tmp_path)


@given(
    st.lists(st.tuples(st.integers(1, 20), st.sampled_from(["alone", "alone", "alone", "packed"]))), st.integers(1, 90)
)
def test_groups_follow_each_other_and_take_every_small_file_once(made, longest):
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


def test_what_is_packed_is_not_packed_again():
    packed = [StoredChunk(i, b"", 10, "pack", i * (10 + OVERHEAD_BYTES)) for i in range(3)]
    assert list(groups(packed, 10**6)) == []


# A set by reference, read in another process's place: the same set, by keys of its own, or an error.


@pytest.fixture(autouse=True)
def provided_nothing():
    yield
    payload_source._provided.clear()


@pytest.fixture
def stored(store):
    keyed(store)
    given = Contribution(1)
    contribute(store, Side.ALICE, given)
    return store.uploads.open(PROJECT, Side.ALICE)


def elsewhere(stored):
    sent = pickle.dumps(stored.reference(0))
    found = pickle.loads(sent)  # noqa: S301 - of this test's own
    assert isinstance(found.payload, PayloadReference)
    return found, sent


def test_a_set_is_the_same_in_another_process_that_has_the_keys(stored, tmp_path, vault):
    there, sent = elsewhere(stored)
    key = stored.payload._key
    assert isinstance(key, DataKey)
    assert key._key not in sent
    assert there.payload.wrapped_key in sent
    with refusal(ErrorCode.CONFIGURATION, "not started as a worker"):
        there.read()
    provide(PayloadSource(Blobs(tmp_path / "blobs"), vault))
    there.require()
    here, found = stored.read(0), there.read()
    for name, field in here.fields.items():
        assert np.array_equal(field.signatures, found.fields[name].signatures)
        assert np.array_equal(field.codes, found.fields[name].codes)
    assert {name: keys.tolist() for name, keys in here.blocks.items()} == {
        name: keys.tolist() for name, keys in found.blocks.items()
    }


def test_a_key_in_the_clear_does_not_leave_its_process(stored):
    with pytest.raises(GemelError, match="leaves its process wrapped only"):
        pickle.dumps(stored.payload._key)


def test_another_process_without_the_wrapping_key_or_with_other_blobs_is_refused(stored, tmp_path, vault):
    there, _ = elsewhere(stored)
    provide(PayloadSource(Blobs(tmp_path / "blobs"), Vault(WrappingKeys.create())))
    for refused in (there.require, there.read):
        with pytest.raises(GemelError, match="the wrapping key of this data key is not here"):
            refused()
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "identity").write_text("another\n")
    source = PayloadSource(Blobs(tmp_path / "others"), vault)
    provide(source)
    with pytest.raises(GemelError, match="does not belong to this database"):
        there.require()
    with pytest.raises(GemelError, match="a stored chunk cannot be read, got No such file"):
        there.read()
    assert source._key.cache_info().currsize == 1
    source.forget()
    assert source._key.cache_info().currsize == 0


def test_a_stretch_of_chunks_reads_what_the_whole_does_and_nothing_beyond(stored, tmp_path, vault):
    whole, size = stored.payload, stored.payload.total_bytes
    source = PayloadSource(Blobs(tmp_path / "blobs"), vault)
    for start, stop in ((0, 10), (1 << 20, (1 << 20) + 1), ((1 << 20) - 3, (3 << 20) + 5), (size - 7, size)):
        reference = pickle.loads(pickle.dumps(whole.reference(start, stop)))  # noqa: S301
        assert len(reference.chunks) <= 2 + (stop - start) // (1 << 20)
        assert source.reader(reference).read(start, stop) == whole.read(start, stop)
    with refusal(ErrorCode.UPLOAD_CORRUPT, "has the chunks from"):
        source.reader(whole.reference(1 << 20, 2 << 20)).read(0, 10)


@pytest.mark.parametrize("change", ["flipped", "missing"])
def test_a_changed_or_missing_file_is_an_error_there_too(stored, tmp_path, vault, change):
    there, _ = elsewhere(stored)
    provide(PayloadSource(Blobs(tmp_path / "blobs"), vault))
    (file,) = [path for path in (tmp_path / "blobs").glob("*/*") if path.is_file()]
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content) if change == "flipped" else file.unlink()
    with refusal(ErrorCode.VAULT) as caught:
        there.read()
    assert caught.value.where.startswith("trial, contribution of alice, chunk")
