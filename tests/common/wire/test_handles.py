"""A custodian's row handles: valid for one reader and one request, and from that custodian alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.sealing import seal
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Side
from gemel.common.wire.row_handles import (
    ARRAYS,
    HANDLES,
    About,
    RowHandlesRequest,
    open_row_handles,
    request_digest,
    seal_row_handles,
)
from tests.carole.refusals import refusal

ALICE, BOB = Identity(IdentityKey.create()), Identity(IdentityKey.create())
RESOLVER, CAROLE = SealingKey.create(), SealingKey.create()
RESOLUTION_REQUEST = RowHandlesRequest("00ff" * 8, np.array([7, 3, 3], dtype=np.uint32)).pack()
ABOUT = About(
    "hips", "5" * 32, Side.ALICE, b"s" * 32, request_digest(RESOLUTION_REQUEST), "coordinator", RESOLVER.public
)
GIVEN = {HANDLES: np.array([0, 1, 1], dtype=np.uint32)}
MAGIC, SIGNATURE_END = b"gemel handles 1\n", 16 + 64


def refused(code: ErrorCode, sealed: bytes, about: About = ABOUT, key: SealingKey = RESOLVER) -> GemelError:
    with refusal(code) as caught:
        open_row_handles(key, ALICE.public, about, sealed)
    return caught.value


def sealed_as(about: About, content: bytes) -> bytes:
    """What Carole, who knows the reader's public key, can make."""
    return b"".join(seal(about.key, about.context, [content]))


def signed(payload: bytes, about: About = ABOUT, identity: Identity = ALICE) -> bytes:
    return sealed_as(about, MAGIC + identity.sign("give-handles", *about.parts(payload)) + payload)


@given(rows=st.lists(st.integers(0, 2**32 - 1)), handles=st.lists(st.integers(0, 2**32 - 1)))
def test_request_and_response_arrive(rows: list[int], handles: list[int]) -> None:
    requested = RowHandlesRequest.unpack(
        RowHandlesRequest("0123456789abcdef" * 2, np.array(rows, dtype=np.uint32)).pack()
    )
    assert (requested.upload, requested.rows.tolist()) == ("0123456789abcdef" * 2, rows)
    sealed = seal_row_handles(ALICE, ABOUT, {HANDLES: np.array(handles, dtype=np.uint32)})
    reported = open_row_handles(RESOLVER, ALICE.public, ABOUT, sealed)
    assert {name: array.tolist() for name, array in reported.items()} == {HANDLES: handles}


def test_the_same_rows_are_requested_in_other_bytes_each_time() -> None:
    """Or the digest, which the resolver has, would reveal a single row by testing all of them."""
    rows = np.array([5], dtype=np.uint32)
    assert request_digest(RowHandlesRequest("ab" * 16, rows).pack()) != request_digest(
        RowHandlesRequest("ab" * 16, rows).pack()
    )


def test_an_answer_replaced_by_the_one_who_passes_it_on_is_refused() -> None:
    replaced = refused(ErrorCode.SIGNATURE, seal_row_handles(BOB, ABOUT, GIVEN))
    assert "not signed by Alice" in str(replaced)
    refused(ErrorCode.SIGNATURE, sealed_as(ABOUT, MAGIC + bytes(64) + _body(GIVEN[HANDLES])))


@pytest.mark.parametrize(
    "was",
    [
        {"request": request_digest(RowHandlesRequest("00ff" * 8, np.array([7, 3, 3], dtype=np.uint32)).pack())},
        {"specification": b"t" * 32},
        {"side": Side.BOB},
    ],
    ids=["other rows", "other specification", "other side"],
)
def test_an_answer_to_anything_else_is_refused(was: dict[str, Any]) -> None:
    refused(ErrorCode.SIGNATURE, seal_row_handles(ALICE, replace(ABOUT, **was), GIVEN))


@pytest.mark.parametrize("was", [{"project": "knees"}, {"run": "6" * 32}, {"reader": "carole"}])
def test_a_response_of_another_run_does_not_even_open_and_is_refused_where_it_is_sealed_again(
    was: dict[str, str],
) -> None:
    earlier = replace(ABOUT, **was)
    refused(ErrorCode.SEALED, seal_row_handles(ALICE, earlier, GIVEN))
    payload = _body(GIVEN[HANDLES])
    refused(
        ErrorCode.SIGNATURE, sealed_as(ABOUT, MAGIC + ALICE.sign("give-handles", *earlier.parts(payload)) + payload)
    )


def test_what_was_given_to_carole_cannot_be_passed_on_to_the_resolver() -> None:
    """A reader who opens a response cannot seal it again for another: the signature names the reader and its key."""
    given = replace(ABOUT, key=CAROLE.public)
    sealed = seal_row_handles(ALICE, given, GIVEN)
    assert open_row_handles(CAROLE, ALICE.public, given, sealed)
    payload = _body(GIVEN[HANDLES])
    refused(ErrorCode.SIGNATURE, sealed_as(ABOUT, MAGIC + ALICE.sign("give-handles", *given.parts(payload)) + payload))
    refused(ErrorCode.SEALED, sealed)


@given(data=st.data())
def test_a_changed_bit_is_noticed(data: st.DataObject) -> None:
    sealed = bytearray(seal_row_handles(ALICE, ABOUT, GIVEN))
    sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    refused(ErrorCode.SEALED, bytes(sealed))


def _body(handles: np.ndarray) -> bytes:
    return b"\0" + len(handles).to_bytes(4, "little") + handles.astype("<u4").tobytes()


GOOD = _body(GIVEN[HANDLES])


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        GOOD[:3],
        GOOD[:-1],
        GOOD + GOOD,
        GOOD + b"\0",
        bytes([len(ARRAYS)]) + GOOD[1:],
        b"\0" + b"\xff" * 4 + GOOD[5:],
    ],
    ids=["nothing", "cut head", "cut", "twice", "more", "unknown", "longer"],
)
def test_what_a_custodian_signed_is_not_believed_to_be_well_formed(payload: bytes) -> None:
    refused(ErrorCode.UPLOAD_CORRUPT, signed(payload))
    assert open_row_handles(RESOLVER, ALICE.public, ABOUT, signed(GOOD))


@pytest.mark.parametrize("spoil", [lambda c: b"x" + c, lambda c: c[:-1], lambda c: c[:20], lambda c: b""])
def test_a_malformed_question_is_refused(spoil: Any) -> None:
    with refusal(ErrorCode.UPLOAD_CORRUPT):
        RowHandlesRequest.unpack(spoil(RESOLUTION_REQUEST))


def test_arrays_keep_their_numbers() -> None:
    assert next(iter(ARRAYS)) == HANDLES
