"""Sealing: opens for one key and one context, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.sealing import (
    APPROVED,
    CHUNK_BYTES,
    DEFAULT,
    MARK_BYTES,
    TAG_BYTES,
    SealContext,
    header_bytes,
    open_file,
    open_sealed,
    seal,
)
from gemel.common.keys.sealing_key import ApprovedKey, DefaultKey, SealingKey, SealingPublicKey
from gemel.common.keys.suite import Suite
from tests.carole.refusals import refusal

KEY = SealingKey.create()
APPROVED_KEY = SealingKey.create(Suite.APPROVED)
EACH = pytest.mark.parametrize("key", [KEY, APPROVED_KEY], ids=["default", "approved"])
CONTEXT = SealContext("febrl4", "run-1", "alice")
SEALED_CHUNK = CHUNK_BYTES + TAG_BYTES
THREE_CHUNKS = bytes(range(256)) * (CHUNK_BYTES // 256) * 2 + b"the end"


def sealed(content: bytes, context: SealContext = CONTEXT, key: SealingKey = KEY) -> bytes:
    return b"".join(seal(key.public, context, [content]))


def header_of(message: bytes) -> int:
    return header_bytes(message[:MARK_BYTES])


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


@EACH
@given(LENGTHS, st.lists(st.integers(0), max_size=5), st.lists(st.integers(0), max_size=5))
def test_round_trip_however_it_is_cut(key: SealingKey, length: int, cuts: list[int], cuts_of_sealed: list[int]) -> None:
    content = bytes(index % 251 for index in range(length))
    message = b"".join(seal(key.public, CONTEXT, cut(content, cuts)))
    assert len(message) == header_of(message) + length + max(1, -(-length // CHUNK_BYTES)) * TAG_BYTES
    assert b"".join(open_sealed(key, CONTEXT, cut(message, cuts_of_sealed))) == content


def test_the_key_in_the_list_decides_the_suite() -> None:
    assert sealed(b"content").startswith(DEFAULT)
    assert sealed(b"content", key=APPROVED_KEY).startswith(APPROVED)


@EACH
def test_two_sealings_of_the_same_have_nothing_in_common(key: SealingKey) -> None:
    one, other = sealed(b"content", key=key), sealed(b"content", key=key)
    header = header_of(one)
    assert one[MARK_BYTES:header] != other[MARK_BYTES:header]
    assert one[header:] != other[header:]


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
@EACH
def test_another_context_is_refused(context: SealContext, key: SealingKey) -> None:
    with refusal(ErrorCode.SEALED, "does not open under this key and context"):
        opened(sealed(b"content", key=key), key=key, context=context)


def test_another_key_is_refused() -> None:
    with pytest.raises(GemelError, match="its header does not open"):
        opened(sealed(b"content"), key=SealingKey.create())
    with pytest.raises(GemelError, match="sealed to a key of ML-KEM-768 and X25519, and this party has none"):
        opened(sealed(b"content"), key=APPROVED_KEY)


def test_half_of_a_key_opens_nothing() -> None:
    """Who breaks X25519, or ML-KEM, has one half."""
    assert isinstance(KEY.newest, DefaultKey)
    mlkem, x25519 = KEY.newest.mlkem, KEY.newest.x25519
    for half in (DefaultKey(DefaultKey.create().mlkem, x25519), DefaultKey(mlkem, X25519PrivateKey.generate())):
        with pytest.raises(GemelError, match="its header does not open"):
            opened(sealed(b"content"), key=SealingKey(half))


def test_half_of_a_key_of_the_approved_suite_opens_nothing() -> None:
    assert isinstance(APPROVED_KEY.newest, ApprovedKey)
    mlkem, p384 = APPROVED_KEY.newest.mlkem, APPROVED_KEY.newest.p384
    other = ApprovedKey.create()
    for half in (ApprovedKey(other.mlkem, p384), ApprovedKey(mlkem, other.p384)):
        with pytest.raises(GemelError, match="its header does not open"):
            opened(sealed(b"content", key=APPROVED_KEY), key=SealingKey(half))


def test_in_a_project_of_the_approved_suite_no_other_is_used() -> None:
    """Even by a recipient who has both keys, and for a message whose context is right in all else."""
    approved = replace(CONTEXT, suite=Suite.APPROVED)
    with refusal(ErrorCode.SEALED, "names the approved suite, and this key is not of ML-KEM-1024") as caught:
        sealed(b"content", approved)
    assert "--cryptography approved" in caught.value.remedy
    both = SealingKey(ApprovedKey.create(), KEY.newest)
    message = sealed(b"content")
    assert opened(message, key=both) == b"content"
    with refusal(ErrorCode.SEALED, "names the approved suite, and the message was not sealed by it"):
        opened(message, key=both, context=approved)
    assert opened(sealed(b"content", approved, both), key=both, context=approved) == b"content"


def test_a_mark_is_no_way_from_one_suite_to_the_other() -> None:
    """A message whose mark is changed opens under neither."""
    both = SealingKey(ApprovedKey.create(), KEY.newest)
    for key, mark in ((both, DEFAULT), (KEY, APPROVED)):
        message = sealed(bytes(4000), key=key)
        with pytest.raises(GemelError, match="its header does not open"):
            opened(mark + message[MARK_BYTES:], key=both)


def test_a_renewed_key_opens_what_was_sealed_to_the_one_before() -> None:
    messages = [sealed(b"content")]
    key, former = KEY, KEY.public
    for _ in range(2):
        key = key.renewed()
        assert key.publics[1] == former
        former = key.public
        messages.append(sealed(b"content", key=key))
        assert [opened(message, key=key) for message in messages[-2:]] == [b"content"] * 2
    for message in (messages[0], messages[1]):
        with pytest.raises(GemelError, match="its header does not open"):
            opened(message, key=key if message is messages[0] else key.renewed())


@EACH
@given(st.integers(0), st.integers(0, 7))
def test_any_changed_bit_is_refused(key: SealingKey, place: int, bit: int) -> None:
    message = bytearray(sealed(b"some content", key=key))
    message[place % len(message)] ^= 1 << bit
    # The top bit of an X25519 public key is ignored by definition; it still enters the derivation.
    with pytest.raises(GemelError):
        opened(bytes(message), key=key)


@given(st.integers(0))
def test_any_cut_is_refused(place: int) -> None:
    message = sealed(THREE_CHUNKS)
    with pytest.raises(GemelError):
        opened(message[: place % len(message)])


def chunks_of(message: bytes) -> tuple[bytes, list[bytes]]:
    header = header_of(message)
    payload = message[header:]
    return message[:header], [payload[start : start + SEALED_CHUNK] for start in range(0, len(payload), SEALED_CHUNK)]


@pytest.mark.parametrize("order", [[0], [0, 1], [1, 0, 2], [0, 0, 1, 2], [0, 2], [0, 1, 2, 2], [2], []], ids=str)
def test_chunks_in_another_order_or_number_are_refused(order: list[int]) -> None:
    header, chunks = chunks_of(sealed(THREE_CHUNKS))
    assert opened(header + b"".join(chunks)) == THREE_CHUNKS
    with refusal(ErrorCode.SEALED):
        opened(header + b"".join(chunks[index] for index in order))


def test_chunks_of_two_messages_do_not_mix() -> None:
    header, chunks = chunks_of(sealed(THREE_CHUNKS))
    _, others = chunks_of(sealed(THREE_CHUNKS))
    with pytest.raises(GemelError, match="chunk 1 does not open"):
        opened(header + chunks[0] + others[1] + chunks[2])


def test_bytes_behind_the_end_are_refused() -> None:
    with pytest.raises(GemelError):
        opened(sealed(b"content") + b"\0")


def test_what_is_no_sealed_message_is_refused() -> None:
    with pytest.raises(GemelError, match="does not begin as a sealed message"):
        opened(bytes(200))
    for mark in (APPROVED, DEFAULT):
        with pytest.raises(GemelError, match="ends within its header"):
            opened(mark)
    with pytest.raises(GemelError, match="does not begin as a sealed message"):
        opened(DEFAULT.replace(b"1", b"3") + bytes(2000))


LOW_ORDER = [
    (0).to_bytes(32, "little"),
    (1).to_bytes(32, "little"),
    (2**255 - 20).to_bytes(32, "little"),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
]


@pytest.mark.parametrize("raw", LOW_ORDER, ids=bytes.hex)
def test_points_of_low_order_are_refused_on_both_sides(raw: bytes) -> None:
    with pytest.raises(GemelError, match="low order"):
        list(seal(SealingPublicKey(KEY.public.raw[:-32] + raw), CONTEXT, [b"content"]))
    header, chunks = chunks_of(sealed(b"content"))
    with pytest.raises(GemelError, match="its header does not open"):
        opened(header[: -48 - 32] + raw + header[-48:] + chunks[0])


def test_a_file_appears_only_when_all_of_it_was_opened(tmp_path: Path) -> None:
    message = sealed(THREE_CHUNKS)
    with pytest.raises(GemelError):
        open_file(KEY, CONTEXT, [message[:-1]], tmp_path / "share")
    assert list(tmp_path.iterdir()) == []
    open_file(KEY, CONTEXT, [message], tmp_path / "share")
    assert (tmp_path / "share").read_bytes() == THREE_CHUNKS
    assert (tmp_path / "share").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "key", [KEY, APPROVED_KEY, KEY.renewed(), KEY.renewed(Suite.APPROVED)], ids=["one", "approved", "two", "both"]
)
def test_a_key_is_saved_privately_and_loaded(tmp_path: Path, key: SealingKey) -> None:
    path = tmp_path / "sealing.key"
    key.save(path)
    assert SealingKey.load(path).publics == key.publics
    assert SealingPublicKey.from_hex(key.public.hex) == key.public
    path.chmod(0o640)
    with pytest.raises(GemelError, match="mode 0640"):
        SealingKey.load(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "sealing.key"
    KEY.renewed().save(path)
    mark = b"-----BEGIN"
    blocks = [mark + block for block in path.read_bytes().split(mark)[1:]]
    lattice, curve = blocks[0], blocks[1]
    whole = lattice + curve
    # Nothing; text; one half or the other; two halves of one kind; the other order; half a second key; a third key.
    for pem in (b"", b"nonsense", lattice, curve, lattice * 2, curve + lattice, whole + lattice, whole * 3):
        path.write_bytes(pem)
        with pytest.raises(GemelError, match="expected private keys of ML-KEM-768 and X25519"):
            SealingKey.load(path)
    path.write_bytes(whole + b"more")
    with pytest.raises(GemelError, match="expected private keys"):
        SealingKey.load(path)


def test_what_is_no_public_key_is_refused() -> None:
    with pytest.raises(GemelError, match="has 1216 or 1665 bytes"):
        SealingPublicKey(bytes(33))
    with pytest.raises(GemelError, match="no public key of ML-KEM-768"):
        SealingPublicKey(b"\xff" * 1216)


def test_no_secret_in_a_repr() -> None:
    assert repr(KEY) == "SealingKey()"
    assert repr(KEY.newest) == "DefaultKey()"
    assert repr(APPROVED_KEY.newest) == "ApprovedKey()"
