"""Handles of rows, the resolver's share and the headers of shares: signed, sealed, for one context only."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.sealing import SealContext, seal
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.keys.suite import Suite
from gemel.common.parties import ComputeParty, Side
from gemel.common.signatures.custodian_shares import ShareSecrets
from gemel.common.signatures.layout import SAMPLES, FieldLayout, Layout, SetLayout
from gemel.common.wire.resolved_share import ResolvedShare, open_share, seal_share
from gemel.common.wire.row_handles import (
    ARRAYS,
    HANDLES,
    About,
    RowHandlesRequest,
    open_row_handles,
    request_digest,
    seal_row_handles,
)
from gemel.common.wire.share_headers import HeaderAbout, layout_digest, open_header, seal_header
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


KEY = SealingKey.create()
CONTEXT = SealContext("study", "run", "alice")
REQUEST = b"the request for handles"
PAIRS = 5
SHARE = ResolvedShare(
    hashlib.sha256(REQUEST).digest(),
    bytes(range(32)),
    np.array([0, 2, PAIRS - 1], np.uint32),
    np.array([0.0, 0.5, 1.0]),
    np.array([False, False, True]),
    np.array([0, 1], np.uint32),
    np.array([0, 2], np.uint32),
)


def opened(**changes: object) -> ResolvedShare:
    changed = {name: np.array(value, getattr(SHARE, name).dtype) for name, value in changes.items()}
    sealed = seal_share(KEY.public, CONTEXT, replace(SHARE, **changed))
    return open_share(KEY, CONTEXT, sealed, REQUEST, PAIRS)


def test_the_first_and_the_last_pair_of_a_request_may_be_named() -> None:
    assert opened().pair.tolist() == [0, 2, PAIRS - 1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"pair": [0, 2, PAIRS]},  # one past the last
        {"pair": [0, 2, 2]},
        {"pair": [2, 0, 4]},
        {"pair": [0, 2]},
        {"probability": [0.0, 0.5, 1.0000001]},
        {"probability": [-1e-9, 0.5, 1.0]},
        {"probability": [0.0, np.nan, 1.0]},
        {"drawn": [0, 3]},  # one past the last
        {"drawn": [0]},
    ],
    ids=str,
)
def test_a_pair_past_the_last_and_numbers_just_out_of_bounds_are_refused(wrong: dict[str, object]) -> None:
    with refusal(ErrorCode.SEALED):
        opened(**wrong)


FIELD = FieldLayout("surname", 128, 0, "shared")
RULE = SetLayout("born", 4, (FIELD,), ("born",), tags=("names",))
SAMPLE = SetLayout(SAMPLES, 1000, (FIELD,), tags=())
LAYOUT = Layout((RULE, SAMPLE), 4)
HEADER_ABOUT = HeaderAbout("study", Side.ALICE, b"e" * 32, 1, "ab" * 16, LAYOUT, "steward", ComputeParty.STEWARD)
CUSTODIAN, OTHER = Identity(IdentityKey.create()), Identity(IdentityKey.create())
SECRETS = ShareSecrets.fresh()
SEALED = seal_header(CUSTODIAN, HEADER_ABOUT, KEY.public, SECRETS.of(HEADER_ABOUT.party))


def test_a_party_gets_the_secrets_of_its_two_shares() -> None:
    for party in ComputeParty:
        about = replace(HEADER_ABOUT, party=party)
        found = open_header(
            KEY, CUSTODIAN.public, about, seal_header(CUSTODIAN, about, KEY.public, SECRETS.of(party))
        ).secrets
        held = {share: found.of(share) for share in range(3)}
        lacking = (int(party) + 2) % 3
        assert held == {share: None if share == lacking else SECRETS.by_share[share] for share in range(3)}
        assert SECRETS.by_share[lacking] not in found.commitments + found.first + found.second
    assert len({SECRETS.of(party).commitments for party in ComputeParty}) == 1


@pytest.mark.parametrize(
    ("other", "code"),
    [
        ({"project": "other"}, ErrorCode.SEALED),
        ({"upload": "cd" * 16}, ErrorCode.SEALED),
        ({"reader": "coordinator"}, ErrorCode.SEALED),
        ({"suite": Suite.APPROVED}, ErrorCode.SEALED),
        ({"side": Side.BOB}, ErrorCode.SIGNATURE),
        ({"epoch": 2}, ErrorCode.SIGNATURE),
        ({"encoding_digest": b"f" * 32}, ErrorCode.SIGNATURE),
        ({"party": ComputeParty.COORDINATOR}, ErrorCode.SIGNATURE),
        ({"layout": replace(LAYOUT, records=5)}, ErrorCode.SIGNATURE),
        ({"layout": Layout((replace(RULE, rows=3), SAMPLE), 4)}, ErrorCode.SIGNATURE),
    ],
)
def test_a_header_is_of_one_upload_layout_and_reader(other: dict[str, object], code: ErrorCode) -> None:
    with refusal(code):
        open_header(KEY, CUSTODIAN.public, replace(HEADER_ABOUT, **other), SEALED)  # type: ignore[arg-type]


def test_another_signer_key_or_byte_is_refused() -> None:
    with pytest.raises(GemelError, match="not signed by Alice"):
        open_header(KEY, OTHER.public, HEADER_ABOUT, SEALED)
    for key, sealed in ((SealingKey.create(), SEALED), (KEY, SEALED[:-1]), (KEY, SEALED + b"x"), (KEY, b"")):
        with refusal(ErrorCode.SEALED):
            open_header(key, CUSTODIAN.public, HEADER_ABOUT, sealed)


def test_secrets_must_be_those_that_all_three_are_given_digests_of() -> None:
    wrong = replace(SECRETS.of(HEADER_ABOUT.party), second=bytes(32))
    with refusal(ErrorCode.UPLOAD_CORRUPT, "expected form"):
        open_header(KEY, CUSTODIAN.public, HEADER_ABOUT, seal_header(CUSTODIAN, HEADER_ABOUT, KEY.public, wrong))


def test_every_size_enters_the_digest_of_a_layout() -> None:
    layouts = [
        LAYOUT,
        replace(LAYOUT, records=5),
        Layout((RULE,), 4),
        Layout((SAMPLE, RULE), 4),
        *(
            Layout((replace(RULE, **change), SAMPLE), 4)
            for change in (
                {"rule": "name"},
                {"rows": 3},
                {"tags": None},
                {"tags": ()},
                {"tags": ("a", "b")},
                {"blocks": ()},
                {"fields": (replace(FIELD, bits=64),)},
                {"fields": (replace(FIELD, name="s"),)},
                {"fields": (replace(FIELD, content="withheld"),)},
                {"fields": (FIELD, replace(FIELD, name="s"))},
            )
        ),
    ]
    assert len({layout_digest(layout) for layout in layouts}) == len(layouts)
