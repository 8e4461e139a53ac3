"""Sealing: opens for one key and one context, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.sealing import (
    CHUNK_BYTES,
    HEADER_BYTES,
    MAGIC,
    TAG_BYTES,
    SealContext,
    open_file,
    open_sealed,
    seal,
)
from tryst.common.keys.sealing_key import SealingKey, SealingPublicKey

KEY = SealingKey.create()
CONTEXT = SealContext("febrl4", "run-1", "alice")
SEALED_CHUNK = CHUNK_BYTES + TAG_BYTES
THREE_CHUNKS = bytes(range(256)) * (CHUNK_BYTES // 256) * 2 + b"the end"


def sealed(content: bytes, context: SealContext = CONTEXT) -> bytes:
    return b"".join(seal(KEY.public, context, [content]))


def opened(message: bytes, key: SealingKey = KEY, context: SealContext = CONTEXT) -> bytes:
    return b"".join(open_sealed(key, context, [message]))


def cut(data: bytes, places: Iterable[int]) -> Iterator[bytes]:
    start = 0
    for place in sorted(place % (len(data) + 1) for place in places):
        yield data[start:place]
        start = place
    yield data[start:]


LENGTHS = st.one_of(
    st.integers(0, 100),
    st.sampled_from([CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES, 3 * CHUNK_BYTES + 5]),
)


@settings(max_examples=60, deadline=None)
@given(LENGTHS, st.lists(st.integers(0), max_size=5), st.lists(st.integers(0), max_size=5))
def test_round_trip_however_it_is_cut(length: int, cuts: list[int], cuts_of_sealed: list[int]) -> None:
    content = bytes(index % 251 for index in range(length))
    message = b"".join(seal(KEY.public, CONTEXT, cut(content, cuts)))
    assert len(message) == HEADER_BYTES + length + max(1, -(-length // CHUNK_BYTES)) * TAG_BYTES
    assert b"".join(open_sealed(KEY, CONTEXT, cut(message, cuts_of_sealed))) == content


def test_a_message_of_an_earlier_version_still_opens() -> None:
    """Made by this program under the private key 00 01 .. 1f: the form is frozen."""
    key = SealingKey(X25519PrivateKey.from_private_bytes(bytes(range(32))))
    assert opened(bytes.fromhex(FROZEN), key) == b"content"


FROZEN = (
    "7472797374207365616c656420310abf684331432351d6a955c89f9bd4d6b870853d862037d9fa55"
    "e4289b1e23ca6fcc580aef89f02c79b9c2f9469b5cc434af970873942a29"
)


def test_two_sealings_of_the_same_have_nothing_in_common() -> None:
    one, other = sealed(b"content"), sealed(b"content")
    assert one[len(MAGIC) : HEADER_BYTES] != other[len(MAGIC) : HEADER_BYTES]
    assert one[HEADER_BYTES:] != other[HEADER_BYTES:]


def test_chunks_are_bounded_whatever_comes_in() -> None:
    chunks = list(seal(KEY.public, CONTEXT, [bytes(10 * CHUNK_BYTES)]))
    assert len(chunks) == 11
    assert max(map(len, chunks)) == SEALED_CHUNK
    assert max(map(len, open_sealed(KEY, CONTEXT, chunks))) == CHUNK_BYTES


def test_content_is_opened_before_the_message_has_come_to_its_end() -> None:
    seen = 0

    def counted() -> Iterator[bytes]:
        nonlocal seen
        for chunk in seal(KEY.public, CONTEXT, [bytes(10 * CHUNK_BYTES)]):
            seen += 1
            yield chunk

    next(open_sealed(KEY, CONTEXT, counted()))
    assert seen <= 4


@pytest.mark.parametrize(
    "context",
    [
        SealContext("febrl5", "run-1", "alice"),
        SealContext("febrl4", "run-2", "alice"),
        SealContext("febrl4", "run-1", "bob"),
        SealContext("febrl4run-1", "", "alice"),
    ],
)
def test_another_context_is_refused(context: SealContext) -> None:
    with pytest.raises(TrystError, match="chunk 0 does not open") as caught:
        opened(sealed(b"content"), context=context)
    assert caught.value.code is ErrorCode.SEALED


def test_another_key_is_refused() -> None:
    with pytest.raises(TrystError, match="chunk 0 does not open"):
        opened(sealed(b"content"), key=SealingKey.create())


@settings(deadline=None)
@given(st.integers(0), st.integers(0, 7))
def test_any_changed_bit_is_refused(place: int, bit: int) -> None:
    message = bytearray(sealed(b"some content"))
    message[place % len(message)] ^= 1 << bit
    # The top bit of an X25519 public key is ignored by definition; it still enters the derivation.
    with pytest.raises(TrystError):
        opened(bytes(message))


@settings(deadline=None)
@given(st.integers(0))
def test_any_cut_is_refused(place: int) -> None:
    message = sealed(THREE_CHUNKS)
    with pytest.raises(TrystError):
        opened(message[: place % len(message)])


def chunks_of(message: bytes) -> tuple[bytes, list[bytes]]:
    payload = message[HEADER_BYTES:]
    return message[:HEADER_BYTES], [
        payload[start : start + SEALED_CHUNK] for start in range(0, len(payload), SEALED_CHUNK)
    ]


@pytest.mark.parametrize(
    "order",
    [[0], [0, 1], [1, 0, 2], [0, 0, 1, 2], [0, 2], [0, 1, 2, 2], [2], []],
    ids=str,
)
def test_chunks_in_another_order_or_number_are_refused(order: list[int]) -> None:
    header, chunks = chunks_of(sealed(THREE_CHUNKS))
    assert opened(header + b"".join(chunks)) == THREE_CHUNKS
    with pytest.raises(TrystError) as caught:
        opened(header + b"".join(chunks[index] for index in order))
    assert caught.value.code is ErrorCode.SEALED


def test_chunks_of_two_messages_do_not_mix() -> None:
    header, chunks = chunks_of(sealed(THREE_CHUNKS))
    _, others = chunks_of(sealed(THREE_CHUNKS))
    with pytest.raises(TrystError, match="chunk 1 does not open"):
        opened(header + chunks[0] + others[1] + chunks[2])


def test_bytes_behind_the_end_are_refused() -> None:
    with pytest.raises(TrystError):
        opened(sealed(b"content") + b"\0")


def test_what_is_no_sealed_message_is_refused() -> None:
    with pytest.raises(TrystError, match="does not begin as a sealed message"):
        opened(bytes(200))
    with pytest.raises(TrystError, match="ends within its header"):
        opened(MAGIC)


LOW_ORDER = [
    (0).to_bytes(32, "little"),
    (1).to_bytes(32, "little"),
    (2**255 - 20).to_bytes(32, "little"),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
]


@pytest.mark.parametrize("raw", LOW_ORDER, ids=bytes.hex)
def test_points_of_low_order_are_refused_on_both_sides(raw: bytes) -> None:
    with pytest.raises(TrystError, match="low order"):
        list(seal(SealingPublicKey(raw), CONTEXT, [b"content"]))
    with pytest.raises(TrystError, match="low order"):
        opened(MAGIC + raw + bytes(40))


def test_a_file_appears_only_when_all_of_it_was_opened(tmp_path: Path) -> None:
    message = sealed(THREE_CHUNKS)
    with pytest.raises(TrystError):
        open_file(KEY, CONTEXT, [message[:-1]], tmp_path / "share")
    assert list(tmp_path.iterdir()) == []
    open_file(KEY, CONTEXT, [message], tmp_path / "share")
    assert (tmp_path / "share").read_bytes() == THREE_CHUNKS
    assert (tmp_path / "share").stat().st_mode & 0o777 == 0o600


def test_a_key_is_saved_privately_and_loaded(tmp_path: Path) -> None:
    KEY.save(tmp_path / "sealing.key")
    assert SealingKey.load(tmp_path / "sealing.key").public == KEY.public
    assert SealingPublicKey.from_hex(KEY.public.hex) == KEY.public
    (tmp_path / "sealing.key").chmod(0o640)
    with pytest.raises(TrystError, match="mode 0640"):
        SealingKey.load(tmp_path / "sealing.key")
    (tmp_path / "other.key").write_text("nonsense")
    (tmp_path / "other.key").chmod(0o600)
    with pytest.raises(TrystError, match="expected an X25519 private key"):
        SealingKey.load(tmp_path / "other.key")


def test_no_secret_in_a_repr() -> None:
    assert repr(KEY) == "SealingKey()"
