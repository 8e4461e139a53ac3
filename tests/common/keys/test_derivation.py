"""Keys that follow from the seed: HKDF as RFC 5869 has it, its framing, the two checks of a seed, and epochs."""

from __future__ import annotations

import copy
import hashlib
import hmac
import pickle
import struct
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.check import CANARY_RECORDS, canary_digest, key_check_value
from gemel.common.keys.derivation import FieldKeys, Purpose, Seed, derive, derive_key
from gemel.common.keys.epochs import approval_parts, sign_new_epoch, verify_new_epoch
from gemel.common.keys.framing import FramingError, Part, frame, unframe
from gemel.common.keys.identity import Identity, IdentityKey, SigningPurpose
from gemel.common.parties import Side
from gemel.custodian.agreement.agreement import Agreement
from gemel.custodian.agreement.agreement_messages import Terms
from tests.carole.refusals import refusal

PARTS = st.lists(st.binary(max_size=40), max_size=6)


@given(PARTS)
def test_what_is_framed_comes_back(parts: list[bytes]) -> None:
    expected = [Part(str(index), 0, 40) for index in range(len(parts))]
    assert unframe(frame(*parts), expected) == parts


@given(PARTS, PARTS)
def test_different_lists_have_different_frames(one: list[bytes], other: list[bytes]) -> None:
    assert (frame(*one) == frame(*other)) == (one == other)


def test_the_layout_is_a_four_byte_big_endian_length_before_each_part() -> None:
    assert frame(b"ab", b"", b"c").hex() == "00000002" + "6162" + "00000000" + "00000001" + "63"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "'first' is missing"),
        (frame(b"abcd") + b"\0\0\0", "'second' is missing"),
        (frame(b"abcd") + b"\0\0\0\x02x", "'second' is cut off"),
        (frame(b"abc", b"x"), "'first' must have 4 bytes, its prefix gives 3"),
        (frame(b"abcd", b"x" * 9), "'second' must have 1 to 8 bytes, its prefix gives 9"),
        (frame(b"abcd", b"x") + b"y", "1 bytes follow"),
    ],
)
def test_anything_else_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(FramingError, match=message):
        unframe(data, [Part.fixed("first", 4), Part("second", 1, 8)])


SEED = Seed(bytes(range(32)))
DIGEST = hashlib.sha256(b"an encoding").digest()


def by_the_rfc(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    """HKDF-SHA256, from HMAC alone."""
    extracted = hmac.digest(salt, secret, "sha256")
    block, output = b"", b""
    for counter in range(1, -(-length // 32) + 1):
        block = hmac.digest(extracted, block + info + bytes([counter]), "sha256")
        output += block
    return output[:length]


@given(
    secret=st.binary(min_size=32, max_size=32).filter(lambda b: len(set(b)) > 1),
    project=st.text(min_size=1, max_size=20),
    purpose=st.sampled_from(Purpose),
    digest=st.binary(min_size=32, max_size=32),
    domain=st.text(max_size=10),
    rule=st.text(max_size=10),
    epoch=st.integers(0, 2**32 - 1),
)
def test_keys_are_hkdf_of_the_written_out_purpose(
    secret: bytes, project: str, purpose: Purpose, digest: bytes, domain: str, rule: str, epoch: int
) -> None:
    info = b""
    for part in (b"gemel keys 1", purpose.value.encode(), digest, domain.encode(), rule.encode()):
        info += struct.pack(">I", len(part)) + part
    info += struct.pack(">II", 4, epoch)
    expected = by_the_rfc(secret, project.encode(), info, 64)
    keys = derive(Seed(secret), project, purpose, digest, domain, rule, epoch)
    assert keys == FieldKeys(expected[:32], expected[32:])
    assert derive_key(Seed(secret), project, purpose, digest, domain, rule, epoch) == expected[:32]


def test_every_input_decides_the_keys() -> None:
    base: dict[str, Any] = {
        "seed": SEED,
        "project": "p",
        "purpose": Purpose.SIGNATURE,
        "encoding_digest": DIGEST,
        "domain": "ab",
        "rule": "c",
        "epoch": 1,
    }
    other: list[dict[str, Any]] = [
        {},
        {"seed": Seed(bytes(range(1, 33)))},
        {"project": "q"},
        {"purpose": Purpose.BLOCKING},
        {"encoding_digest": bytes(32)},
        {"domain": "a"},
        {"domain": "a", "rule": "bc"},  # the same letters, cut elsewhere
        {"domain": "abc", "rule": ""},
        {"rule": "d"},
        {"epoch": 2},
    ]
    keys = {pair for change in other for pair in [derive(**{**base, **change})]}
    halves = {half for pair in keys for half in (pair.k1, pair.k2)}
    assert len(keys) == len(other)
    assert len(halves) == 2 * len(other)


@pytest.mark.parametrize("secret", [b"", bytes(31), bytes(range(33)), bytes(32), b"\xff" * 32])
def test_what_is_no_seed_is_refused(secret: bytes) -> None:
    with pytest.raises(GemelError, match="seed") as caught:
        Seed(secret)
    if len(secret) > 1:
        assert secret.hex() not in str(caught.value)


def test_what_is_no_digest_or_epoch_is_refused() -> None:
    with pytest.raises(GemelError, match="32 bytes"):
        derive(SEED, "p", Purpose.CHECK, DIGEST[:-1])
    for epoch in (-1, 2**32):
        with pytest.raises(GemelError, match="epoch"):
            derive(SEED, "p", Purpose.CHECK, DIGEST, epoch=epoch)


def test_a_seed_is_never_shown() -> None:
    secret = SEED.reveal()
    keys = derive(SEED, "p", Purpose.SIGNATURE, DIGEST)
    shown = f"{SEED!r} {SEED} {keys!r} {keys} {[SEED, keys]!r}"
    for hidden in (secret, keys.k1, keys.k2):
        assert hidden.hex() not in shown
        assert repr(hidden)[2:-1] not in shown
    with pytest.raises(TypeError):
        pickle.dumps(SEED)
    with pytest.raises(TypeError):
        copy.deepcopy(SEED)
    with pytest.raises(TypeError):
        hash(SEED)


def test_seeds_are_equal_by_their_secret() -> None:
    assert Seed(bytes(range(32))) == SEED
    assert Seed.generate() != SEED
    assert Seed.generate() != Seed.generate()
    assert SEED.reveal() != SEED


ENCODING_DIGEST = bytes(range(32, 64))
ENCODED = "\n".join(record or "" for record in CANARY_RECORDS).encode()


def test_the_values_are_frozen() -> None:
    assert key_check_value(SEED, "febrl4", ENCODING_DIGEST, 1).hex() == GOLDEN_CHECK
    assert canary_digest(SEED, "febrl4", ENCODING_DIGEST, 1, b"signatures").hex() == GOLDEN_CANARY


GOLDEN_CHECK = "189a74c6051ddac4"
GOLDEN_CANARY = "737892c7042171dd257a2b7faac881d2ef8fe76c347fb60ac581c1ebdf270660"


@pytest.mark.parametrize(
    ("seed", "project", "digest", "epoch"),
    [
        (Seed(bytes(range(1, 33))), "febrl4", ENCODING_DIGEST, 1),
        (SEED, "febrl5", ENCODING_DIGEST, 1),
        (SEED, "febrl4", bytes(32), 1),
        (SEED, "febrl4", ENCODING_DIGEST, 2),
    ],
    ids=["seed", "project", "encoding", "epoch"],
)
def test_either_differs_when_anything_does(seed: Seed, project: str, digest: bytes, epoch: int) -> None:
    assert key_check_value(seed, project, digest, epoch) != key_check_value(SEED, "febrl4", ENCODING_DIGEST, 1)
    assert canary_digest(seed, project, digest, epoch, ENCODED) != canary_digest(
        SEED, "febrl4", ENCODING_DIGEST, 1, ENCODED
    )


def test_lengths_and_that_no_key_of_a_field_is_shown() -> None:
    check = key_check_value(SEED, "febrl4", ENCODING_DIGEST, 1)
    canary = canary_digest(SEED, "febrl4", ENCODING_DIGEST, 1, ENCODED)
    assert len(check) == 8
    assert len(canary) == 32
    for purpose in Purpose:
        if purpose is not Purpose.CHECK:
            keys = derive(SEED, "febrl4", purpose, ENCODING_DIGEST)
            assert check not in keys.k1 + keys.k2
    assert canary != derive_key(SEED, "febrl4", Purpose.CANARY, ENCODING_DIGEST)


@pytest.mark.parametrize(
    "normalise",
    [
        lambda text: unicodedata.normalize("NFC", text),
        lambda text: unicodedata.normalize("NFD", text),
        lambda text: unicodedata.normalize("NFKC", text),
        lambda text: unicodedata.normalize("NFKD", text),
        str.lower,
        str.upper,
        str.casefold,
        str.strip,
        lambda text: " ".join(text.split()),
        lambda text: "".join(message for message in text if not unicodedata.combining(message)),
        lambda text: "".join(message for message in text if unicodedata.category(message)[0] != "P"),
        lambda text: text.encode("ascii", "ignore").decode(),
        lambda text: text.replace("ß", "ss"),
        lambda text: text.replace("İ", "i"),
        lambda text: text.replace("\u00ad", ""),
        lambda text: text[:200],
    ],
)
def test_every_two_normalisers_differ_on_some_record(normalise) -> None:
    kept = [record or "" for record in CANARY_RECORDS]
    mine = [normalise(record) for record in kept]
    assert mine != kept
    for other in (str.lower, str.casefold, lambda text: unicodedata.normalize("NFKC", text)):
        if other is not normalise and other("ẞﬁİ") != normalise("ẞﬁİ"):
            assert [other(record) for record in kept] != mine


@pytest.mark.parametrize(
    ("message", "since"),
    [("\u32ff", 12.1), ("\U00011938", 13), ("\ua7c0", 14), ("\ua7f2", 14), ("\U0001e030", 15), ("\u1c89", 16)],
)
def test_letters_that_younger_unicode_versions_change_are_there(message: str, since: float) -> None:
    assert any(record and message in record for record in CANARY_RECORDS)
    version = float(".".join(unicodedata.unidata_version.split(".")[:2]))
    changed = {message.lower(), unicodedata.normalize("NFKD", message)} != {message}
    assert changed == (version >= since), "this letter distinguishes this Unicode version from an older one"


def test_no_record_is_there_twice_and_missing_is_among_them() -> None:
    assert len(set(CANARY_RECORDS)) == len(CANARY_RECORDS)
    assert None in CANARY_RECORDS
    assert "" in CANARY_RECORDS
    assert max(len(record or "") for record in CANARY_RECORDS) >= 300


COORDINATOR, ALICE, BOB = Identity(IdentityKey.create()), Identity(IdentityKey.create()), Identity(IdentityKey.create())
ENCODING = bytes(range(32))
OPENED = {"project": "people", "encoding_digest": ENCODING, "epoch": 2, "reason": "Bob's library was too old"}


@pytest.mark.parametrize(
    "other", [{"project": "person"}, {"encoding_digest": bytes(32)}, {"epoch": 3}, {"reason": "because of the weather"}]
)
def test_an_epoch_is_opened_for_one_project_encoding_number_and_reason(other: dict[str, object]) -> None:
    signature = sign_new_epoch(COORDINATOR, **OPENED)  # type: ignore[arg-type]
    verify_new_epoch(COORDINATOR.public, signature, **OPENED)  # type: ignore[arg-type]
    for identity, opened in ((COORDINATOR, {**OPENED, **other}), (BOB, OPENED)):
        with refusal(ErrorCode.SIGNATURE):
            verify_new_epoch(identity.public, signature, **opened)  # type: ignore[arg-type]


def test_a_consent_to_one_epoch_is_none_to_another() -> None:
    parts = [approval_parts("people", ENCODING, epoch) for epoch in (1, 2, 3)]
    assert parts[0] == (b"people", ENCODING, b"\0\0\0\1")
    signed = [ALICE.sign(SigningPurpose.APPROVAL, *given) for given in parts]
    verified = [[ALICE.public.is_signed(s, SigningPurpose.APPROVAL, *given) for given in parts] for s in signed]
    assert verified == [[True, False, False], [False, True, False], [False, False, True]]


def test_nothing_of_the_first_epochs_agreement_is_taken_in_the_second() -> None:
    """Carole replays, in the second epoch, every message that she has of the first."""
    made: dict[int, dict[Side, Agreement]] = {}
    canary = bytes(32)
    confirmations = {}
    for epoch in (1, 2):
        terms = Terms("people", ENCODING, epoch)
        made[epoch] = {
            Side.ALICE: Agreement(terms, Side.ALICE, ALICE, BOB.public),
            Side.BOB: Agreement(terms, Side.BOB, BOB, ALICE.public),
        }
        alice, bob = made[epoch].values()
        if epoch == 2:
            for now, side in ((alice, Side.BOB), (bob, Side.ALICE)):
                with refusal(ErrorCode.EPOCH_MISMATCH):
                    now.accept_offer(made[1][side].offer)
        bob.accept_offer(alice.offer)
        alice.accept_offer(bob.offer)
        confirmations[epoch] = alice.confirm(canary), bob.confirm(canary)
        if epoch == 2:
            with refusal(ErrorCode.EPOCH_MISMATCH):
                alice.accept_confirmation(confirmations[1][1])
        alice.accept_confirmation(confirmations[epoch][1])
        bob.accept_confirmation(confirmations[epoch][0])
        assert alice.seed.reveal() == bob.seed.reveal()
    first, second = (made[epoch][Side.ALICE] for epoch in (1, 2))
    assert first.offer != second.offer
    assert first.seed.reveal() != second.seed.reveal()
