"""Seeds of shares reach the party that they are for, and no changed, moved or exchanged ones are taken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.keys.suite import Suite
from gemel.common.parties import ComputeParty, Side
from gemel.common.signatures.custodian_shares import ShareSecrets
from gemel.common.signatures.layout import SAMPLES, FieldLayout, Layout, SetLayout
from gemel.common.wire.share_headers import HeaderAbout, layout_digest, open_header, seal_header

FIELD = FieldLayout("surname", 128, 0, "shared")
RULE = SetLayout("born", 4, (FIELD,), ("born",), tags=("names",))
SAMPLE = SetLayout(SAMPLES, 1000, (FIELD,), tags=())
LAYOUT = Layout((RULE, SAMPLE), 4)
ABOUT = HeaderAbout("study", Side.ALICE, b"e" * 32, 1, "ab" * 16, LAYOUT, "steward", ComputeParty.STEWARD)
ALICE, OTHER = Identity(IdentityKey.create()), Identity(IdentityKey.create())
KEY = SealingKey.create()
SECRETS = ShareSecrets.fresh()
SEALED = seal_header(ALICE, ABOUT, KEY.public, SECRETS.of(ABOUT.party))


def test_a_party_gets_the_secrets_of_its_two_shares() -> None:
    for party in ComputeParty:
        about = replace(ABOUT, party=party)
        found = open_header(KEY, ALICE.public, about, seal_header(ALICE, about, KEY.public, SECRETS.of(party))).secrets
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
    with pytest.raises(GemelError) as error:
        open_header(KEY, ALICE.public, replace(ABOUT, **other), SEALED)  # type: ignore[arg-type]
    assert error.value.code is code


def test_another_signer_key_or_byte_is_refused() -> None:
    with pytest.raises(GemelError, match="not signed by Alice"):
        open_header(KEY, OTHER.public, ABOUT, SEALED)
    for key, sealed in ((SealingKey.create(), SEALED), (KEY, SEALED[:-1]), (KEY, SEALED + b"x"), (KEY, b"")):
        with pytest.raises(GemelError) as error:
            open_header(key, ALICE.public, ABOUT, sealed)
        assert error.value.code is ErrorCode.SEALED


def test_secrets_must_be_those_that_all_three_are_given_digests_of() -> None:
    wrong = replace(SECRETS.of(ABOUT.party), second=bytes(32))
    with pytest.raises(GemelError, match="expected form") as error:
        open_header(KEY, ALICE.public, ABOUT, seal_header(ALICE, ABOUT, KEY.public, wrong))
    assert error.value.code is ErrorCode.UPLOAD_CORRUPT


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
