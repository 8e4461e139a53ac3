"""Row numbers for one custodian: three parts, each of them signed, bound to the session and vouched for by another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.sealing import open_sealed, seal
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import ComputeParty, Side
from gemel.common.wire.named_rows import NamedRowsContext, SharedRows, open_rows, seal_row_share
from tests.carole.refusals import refusal

IDENTITIES = tuple(Identity(IdentityKey.create()) for _ in range(3))
PUBLIC = (IDENTITIES[0].public, IDENTITIES[1].public, IDENTITIES[2].public)
ALICE, BOB = SealingKey.create(), SealingKey.create()
CONTEXT = NamedRowsContext("hips", "5" * 32, b"n" * 16, Side.ALICE, b"s" * 32, "0f" * 16, "alice", ALICE.public)
BOBS = replace(CONTEXT, side=Side.BOB, upload="f0" * 16, reader="bob", key=BOB.public)
ROWS = np.array([7, 3, 3, 2**32 - 2], dtype=np.uint32)
N_ROWS = 2**32 - 1
Parts = tuple[bytes, bytes, bytes]
MARK = len(b"gemel row shares 1\n")


def shares_of(rows: NDArray[np.uint32], seed: int = 1) -> NDArray[np.uint32]:
    first, second = np.random.default_rng(seed).integers(0, 2**32, (2, len(rows)), dtype=np.uint32)
    return np.stack([first, second, first ^ second ^ rows])


SHARES = shares_of(ROWS)


def part(
    party: ComputeParty, shares: NDArray[np.uint32] = SHARES, context: NamedRowsContext = CONTEXT, signer: int = -1
) -> bytes:
    identity = IDENTITIES[signer if signer >= 0 else party]
    return seal_row_share(identity, party, context, shares[party], shares[party.next])


def parts(shares: NDArray[np.uint32] = SHARES, context: NamedRowsContext = CONTEXT) -> Parts:
    first, second, third = (part(party, shares, context) for party in ComputeParty)
    return first, second, third


WHOLE = parts()


def refused(code: ErrorCode, given_parts: Parts, **others: Any) -> str:
    with refusal(code) as caught:
        open_rows(others.get("key", ALICE), PUBLIC, others.get("context", CONTEXT), given_parts, N_ROWS)
    return str(caught.value)


def with_part(party: ComputeParty, content: bytes) -> Parts:
    first, second, third = (content if each is party else WHOLE[each] for each in ComputeParty)
    return first, second, third


def test_the_custodian_gets_its_numbers() -> None:
    assert open_rows(ALICE, PUBLIC, CONTEXT, WHOLE, N_ROWS).tolist() == ROWS.tolist()


@settings(max_examples=10)
@given(st.lists(st.integers(0, 2**32 - 1), max_size=5))
def test_any_numbers_arrive_through_the_artifact(rows: list[int]) -> None:
    shares = shares_of(np.array(rows, dtype=np.uint32))
    packed = SharedRows(CONTEXT.upload, CONTEXT.session, parts(shares)).pack()
    read = SharedRows.unpack(packed)
    assert SharedRows.is_marked(packed)
    assert (read.upload, read.session, read.pack()) == (CONTEXT.upload, CONTEXT.session, packed)
    assert open_rows(ALICE, PUBLIC, CONTEXT, read.parts, 2**32).tolist() == rows


@pytest.mark.parametrize("party", tuple(ComputeParty))
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"project": "knees"}, ErrorCode.SEALED),
        ({"run": "6" * 32}, ErrorCode.SEALED),
        ({"session": b"m" * 16}, ErrorCode.SIGNATURE),
        ({"specification": b"t" * 32}, ErrorCode.SIGNATURE),
        ({"upload": "0e" * 16}, ErrorCode.SIGNATURE),
        ({"side": Side.BOB}, ErrorCode.SIGNATURE),
    ],
)
def test_a_part_of_another_context_is_refused(party: ComputeParty, changed: dict[str, Any], code: ErrorCode) -> None:
    refused(code, with_part(party, part(party, context=replace(CONTEXT, **changed))))


def test_of_a_part_for_the_other_custodian_nothing_can_be_used() -> None:
    refused(ErrorCode.SEALED, with_part(ComputeParty.CAROLE, part(ComputeParty.CAROLE, context=BOBS)))
    refused(ErrorCode.SEALED, WHOLE, key=BOB)


def test_parts_in_another_order_are_refused() -> None:
    assert "Carole" in refused(ErrorCode.SIGNATURE, (WHOLE[1], WHOLE[0], WHOLE[2]))
    refused(ErrorCode.SIGNATURE, (WHOLE[0], WHOLE[0], WHOLE[2]))


def test_no_party_can_send_the_part_of_another() -> None:
    for party in ComputeParty:
        message = refused(ErrorCode.SIGNATURE, with_part(party, part(party, signer=party.next)))
        assert f"was not signed by {party.title}" in message


@pytest.mark.parametrize("party", tuple(ComputeParty))
def test_a_wrong_share_is_not_vouched_for(party: ComputeParty) -> None:
    """A party lies about the share that it sends, or about the one that it vouches for."""
    for place in (party, party.next):
        shares = SHARES.copy()
        shares[place, 2] ^= np.uint32(1)
        message = refused(ErrorCode.DEVIATION, with_part(party, part(party, shares)))
        holder = place.previous
        assert f"{holder.title} and {place.title} do not vouch" in message


def test_parts_of_different_sessions_do_not_fit_even_if_one_party_signs_them_for_one() -> None:
    other = shares_of(ROWS, seed=2)
    refused(ErrorCode.DEVIATION, with_part(ComputeParty.STEWARD, part(ComputeParty.STEWARD, other)))
    refused(ErrorCode.DEVIATION, with_part(ComputeParty.STEWARD, part(ComputeParty.STEWARD, SHARES[:, :3])))


def content_of(place: int) -> bytes:
    return b"".join(open_sealed(ALICE, CONTEXT.sealing, [WHOLE[place]]))


def resealed(content: bytes) -> bytes:
    """What Carole, who knows the custodian's public key, can make."""
    return b"".join(seal(ALICE.public, CONTEXT.sealing, [content]))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda content: content[:-4], ErrorCode.SIGNATURE),
        (lambda content: content + bytes(4), ErrorCode.SIGNATURE),
        (lambda content: content[:-1], ErrorCode.UPLOAD_CORRUPT),
        (lambda content: content[: MARK + 95], ErrorCode.UPLOAD_CORRUPT),
        (lambda content: b"", ErrorCode.UPLOAD_CORRUPT),
        (lambda content: b"x" + content[1:], ErrorCode.UPLOAD_CORRUPT),
        (lambda content: content[:MARK] + bytes([content[MARK] ^ 1]) + content[MARK + 1 :], ErrorCode.SIGNATURE),
        (lambda content: content[:-1] + bytes([content[-1] ^ 1]), ErrorCode.SIGNATURE),
        (
            lambda content: content[: MARK + 64] + bytes([content[MARK + 64] ^ 1]) + content[MARK + 65 :],
            ErrorCode.SIGNATURE,
        ),
    ],
)
def test_changed_content_is_refused(change: Callable[[bytes], bytes], code: ErrorCode) -> None:
    assert open_rows(ALICE, PUBLIC, CONTEXT, with_part(ComputeParty.COORDINATOR, resealed(content_of(1))), N_ROWS).size
    refused(code, with_part(ComputeParty.COORDINATOR, resealed(change(content_of(1)))))


def test_a_flipped_bit_of_a_sealed_part_is_refused() -> None:
    for place in (0, len(WHOLE[2]) // 2, len(WHOLE[2]) - 1):
        changed = bytearray(WHOLE[2])
        changed[place] ^= 1
        refused(ErrorCode.SEALED, with_part(ComputeParty.STEWARD, bytes(changed)))
    refused(ErrorCode.SEALED, with_part(ComputeParty.STEWARD, WHOLE[2][:-1]))


def test_numbers_that_the_upload_does_not_have_are_refused() -> None:
    assert open_rows(ALICE, PUBLIC, CONTEXT, WHOLE, int(ROWS.max()) + 1).size
    with refusal(ErrorCode.UPLOAD_CORRUPT):
        open_rows(ALICE, PUBLIC, CONTEXT, WHOLE, int(ROWS.max()))


@pytest.mark.parametrize(
    ("cut", "code"),
    [
        (1, ErrorCode.UPLOAD_CORRUPT),
        (2, ErrorCode.UPLOAD_CORRUPT),
        (3, ErrorCode.SEALED),
        (10**6, ErrorCode.UPLOAD_CORRUPT),
    ],
)
def test_a_cut_artifact_is_refused(cut: int, code: ErrorCode) -> None:
    packed = SharedRows(CONTEXT.upload, CONTEXT.session, WHOLE).pack()
    with refusal(code):
        open_rows(ALICE, PUBLIC, CONTEXT, SharedRows.unpack(packed[:-cut]).parts, N_ROWS)


def test_an_artifact_of_another_kind_is_refused() -> None:
    packed = SharedRows(CONTEXT.upload, CONTEXT.session, WHOLE).pack()
    assert not SharedRows.is_marked(b"gemel rows 1\n" + packed)
    with pytest.raises(GemelError):
        SharedRows.unpack(b"y" + packed[1:])
    with pytest.raises(GemelError):
        SharedRows(CONTEXT.upload, CONTEXT.session, (WHOLE[0], WHOLE[1][:-1], WHOLE[2])).pack()
