"""Ranges of a stored contribution: the bytes that were sent, or an error that names the project and the side."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import create_engine, text

from gemel.carole.store import Store
from gemel.carole.store.payloads import stored_sets as chunk_packing
from gemel.carole.store.payloads.blobs import Blobs
from gemel.common.errors import ErrorCode
from gemel.common.keys.vault import OVERHEAD_BYTES
from gemel.common.parties import Side
from gemel.common.wire.chunks import CHUNK_BYTES
from tests.carole.refusals import refusal
from tests.carole.trial import PROJECT, Contribution, contributed

COUNT = 6


@pytest.fixture(
    params=[chunk_packing.PACK_BYTES, 2 * CHUNK_BYTES + 100, pytest.param(1, marks=pytest.mark.long)],
    ids=["one file", "two chunks a file", "alone"],
)
def packed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(chunk_packing, "PACK_BYTES", request.param)
    return int(request.param)


@pytest.fixture
def ready(packed: int, store: Store, contributions: dict[Side, Contribution]) -> Store:
    contributed(store, contributions)
    return store


def rows(url: str) -> dict[int, tuple[str, str, int]]:
    """By place of a chunk of Alice's contribution, its payload, its file and where it begins in that."""
    engine = create_engine(url)
    query = "SELECT position, chunks.payload, file, start FROM chunks JOIN uploads USING (payload) WHERE side = 'alice'"
    with engine.connect() as connection:
        found = {row.position: (row.payload, row.file, row.start) for row in connection.execute(text(query))}
    engine.dispose()
    return found


def encrypted(blobs: Path, url: str, position: int) -> tuple[Path, slice]:
    """The file of a chunk of Alice's, and the bytes of it that are the chunk's."""
    payload, file, start = rows(url)[position]
    return blobs / payload / file, slice(start, start + CHUNK_BYTES + OVERHEAD_BYTES)


def change(url: str, statement: str, **values: object) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(statement), values)
    engine.dispose()


def test_any_range_is_what_was_sent(ready: Store, contributions: dict[Side, Contribution]) -> None:
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
    def ranges(one: int, other: int) -> None:
        start, stop = sorted((one, other))
        assert there.payload.read(start, stop) == sent.payload[start:stop]

    ranges()
    for start, stop in ((-1, 5), (5, 4), (0, total + 1), (total + 1, total + 1)):
        with refusal(ErrorCode.UPLOAD_CORRUPT, f"the payload has {total} bytes"):
            there.payload.read(start, stop)


def test_a_range_reads_only_its_chunks_and_holds_one_of_them(
    ready: Store, packed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = ready.uploads.open(PROJECT, Side.ALICE)
    read: list[tuple[int, int]] = []
    before = Blobs.read

    def noted(blobs: Blobs, payload: str, file: str, start: int, length: int) -> bytes:
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


def flip(blobs: Path, url: str) -> None:
    file, part = encrypted(blobs, url, 2)
    content = bytearray(file.read_bytes())
    content[part.start + 500_000] ^= 1
    file.write_bytes(content)


def swap_bytes(blobs: Path, url: str) -> None:
    (one, here), (other, there) = (encrypted(blobs, url, position) for position in (1, 2))
    contents = {file: bytearray(file.read_bytes()) for file in {one, other}}
    contents[one][here], contents[other][there] = contents[other][there], contents[one][here]
    for file, content in contents.items():
        file.write_bytes(content)


def put_the_other_sides(blobs: Path, url: str) -> None:
    file, part = encrypted(blobs, url, 2)
    (other,) = (folder for folder in blobs.iterdir() if folder.is_dir() and folder != file.parent)
    content = bytearray(file.read_bytes())
    content[part] = max(other.iterdir()).read_bytes()[: CHUNK_BYTES + OVERHEAD_BYTES]
    file.write_bytes(content)


def swap_rows(blobs: Path, url: str) -> None:
    found = rows(url)
    for position, other in ((1, 2), (2, 1)):
        payload, file, start = found[other]
        values = {"payload": payload, "file": file, "start": start, "position": position}
        statement = "UPDATE chunks SET file = :file, start = :start WHERE payload = :payload AND position = :position"
        change(url, statement, **values)


def change_a_digest(blobs: Path, url: str) -> None:
    payload, *_ = rows(url)[2]
    engine = create_engine(url)
    with engine.connect() as connection:
        query = text("SELECT digest FROM chunks WHERE payload = :payload AND position = 1")
        digest = connection.execute(query, {"payload": payload}).scalar_one()
    engine.dispose()
    statement = "UPDATE chunks SET digest = :digest WHERE payload = :payload AND position = 2"
    change(url, statement, payload=payload, digest=digest)


@pytest.mark.parametrize("damage", [flip, swap_bytes, put_the_other_sides, swap_rows, change_a_digest])
def test_a_damaged_chunk_is_an_error_and_the_others_can_be_read(
    ready: Store, contributions: dict[Side, Contribution], url: str, tmp_path: Path, damage: Callable[[Path, str], None]
) -> None:
    damage(tmp_path / "blobs", url)
    sent = contributions[Side.ALICE].payload
    reader = ready.uploads.open(PROJECT, Side.ALICE).payload
    assert reader.read(0, CHUNK_BYTES) == sent[:CHUNK_BYTES]
    assert reader.read(3 * CHUNK_BYTES, len(sent)) == sent[3 * CHUNK_BYTES :]
    for start, stop in ((2 * CHUNK_BYTES, 2 * CHUNK_BYTES + 1), (CHUNK_BYTES + 5, 4 * CHUNK_BYTES), (0, len(sent))):
        with refusal(ErrorCode.VAULT, r"^trial, contribution of alice, chunk [12] of 6 "):
            reader.read(start, stop)


@pytest.mark.parametrize("spoil", [lambda file: file.unlink(), lambda file: file.write_bytes(file.read_bytes()[:-1])])
def test_a_missing_or_shortened_file_is_an_error(
    ready: Store, url: str, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
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
def test_rows_that_do_not_name_the_whole_are_refused(ready: Store, url: str, statement: str) -> None:
    change(url, statement, payload=rows(url)[2][0])
    with refusal(ErrorCode.VAULT, "contribution of alice: the database must name the 6 chunks"):
        ready.uploads.open(PROJECT, Side.ALICE)
