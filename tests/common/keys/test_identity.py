"""Ed25519 identities: saved privately, bound to a purpose, comparable over the phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey, PublicIdentity, SigningPurpose, in_groups
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing_key import SealingKey
from tests.carole.refusals import refusal

KEY, OTHER_KEY = IdentityKey.create(), IdentityKey.create()
IDENTITY, OTHER = Identity(KEY), Identity(OTHER_KEY)
PRIME = 2**255 - 19


def small_order_encodings() -> list[bytes]:
    """Every 32 bytes that decode to a point of small order, found by the group law itself."""
    d = -121665 * pow(121666, -1, PRIME) % PRIME
    root_of_minus_one = pow(2, (PRIME - 1) // 4, PRIME)
    order = 2**252 + 27742317777372353535851937790883648493

    def add(p: tuple[int, int], q: tuple[int, int]) -> tuple[int, int]:
        t = d * p[0] * q[0] * p[1] * q[1] % PRIME
        x = (p[0] * q[1] + q[0] * p[1]) * pow(1 + t, -1, PRIME)
        y = (p[1] * q[1] + p[0] * q[0]) * pow(1 - t, -1, PRIME)
        return x % PRIME, y % PRIME

    def times(k: int, p: tuple[int, int]) -> tuple[int, int]:
        result = (0, 1)
        while k:
            if k & 1:
                result = add(result, p)
            p, k = add(p, p), k >> 1
        return result

    found: set[int] = set()
    for y in range(2, 40):
        square = (y * y - 1) * pow(d * y * y + 1, -1, PRIME) % PRIME
        x = pow(square, (PRIME + 3) // 8, PRIME)
        if x * x % PRIME != square:
            x = x * root_of_minus_one % PRIME
        if x * x % PRIME == square:
            torsion = times(order, (x, y))
            found |= {times(k, torsion)[1] for k in range(8)}
    assert len(found) == 5
    every = [y + shift for y in found for shift in (0, PRIME) if y + shift < 2**255]
    return [(y | sign << 255).to_bytes(32, "little") for y in every for sign in (0, 1)]


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    KEY.save(tmp_path / "identity.key")
    again = open_identity(None, tmp_path / "identity.key")
    assert again.public == IDENTITY.public
    assert again.sign("purpose", b"x") == IDENTITY.sign("purpose", b"x")


def test_it_is_never_overwritten(tmp_path: Path) -> None:
    KEY.save(tmp_path / "identity.key")
    with refusal(ErrorCode.EXISTS):
        OTHER_KEY.save(tmp_path / "identity.key")
    assert open_identity(None, tmp_path / "identity.key").public == IDENTITY.public


@pytest.mark.parametrize("content", ["", "nonsense", "x25519"])
def test_a_file_with_something_else_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "identity.key"
    if content == "x25519":
        SealingKey.create().save(path)
    else:
        path.write_text(content)
        path.chmod(0o600)
    with pytest.raises(GemelError, match="expected an Ed25519 private key"):
        open_identity(None, path)


def test_open_to_others_it_is_refused(tmp_path: Path) -> None:
    KEY.save(tmp_path / "identity.key")
    (tmp_path / "identity.key").chmod(0o644)
    with pytest.raises(GemelError, match="mode 0644"):
        open_identity(None, tmp_path / "identity.key")


@given(st.text(max_size=20), st.lists(st.binary(max_size=20), max_size=4))
def test_what_it_signs_verifies(purpose: str, parts: list[bytes]) -> None:
    signature = IDENTITY.sign(purpose, *parts)
    IDENTITY.public.verify(signature, purpose, *parts)
    assert not OTHER.public.is_signed(signature, purpose, *parts)


def test_a_signature_serves_its_purpose_and_parts_only() -> None:
    signature = IDENTITY.sign("approve", b"ab", b"c")
    public = IDENTITY.public
    assert public.is_signed(signature, "approve", b"ab", b"c")
    assert not public.is_signed(signature, "release", b"ab", b"c")
    assert not public.is_signed(signature, "approve", b"a", b"bc")
    assert not public.is_signed(signature, "approve", b"abc")
    assert not public.is_signed(signature, "approve", b"ab", b"c", b"")
    assert not public.is_signed(signature[:-1], "approve", b"ab", b"c")
    assert not public.is_signed(bytes(64), "approve", b"ab", b"c")


def test_a_refused_signature_names_purpose_and_fingerprint() -> None:
    with refusal(ErrorCode.SIGNATURE, "the signature for 'approve'") as caught:
        OTHER.public.verify(IDENTITY.sign("approve", b"x"), "approve", b"x")
    assert OTHER.public.fingerprint in str(caught.value)


@pytest.mark.parametrize("raw", [b"", bytes(31), bytes(33), *small_order_encodings()], ids=bytes.hex)
def test_a_public_key_of_another_length_or_of_small_order_is_refused(raw: bytes) -> None:
    with pytest.raises(GemelError, match="small order" if len(raw) == 32 else "has 32 bytes"):
        PublicIdentity(raw)


def test_why_small_order_is_refused() -> None:
    # Under the neutral point this one signature is good for every message.
    neutral = (1).to_bytes(32, "little")
    for message in (b"I approve", b"I do not"):
        Ed25519PublicKey.from_public_bytes(neutral).verify(neutral + bytes(32), message)


def test_hexadecimal_round_trip_and_refusal() -> None:
    assert PublicIdentity.from_hex(IDENTITY.public.hex) == IDENTITY.public
    with pytest.raises(GemelError, match="64 hexadecimal digits"):
        PublicIdentity.from_hex("not hexadecimal")


@given(st.binary(min_size=32, max_size=32))
def test_a_fingerprint_survives_being_read_aloud(digest: bytes) -> None:
    text = in_groups(digest)
    assert len(text.split()) == 16
    assert {len(group) for group in text.split()} == {4}
    assert text.replace(" ", "") == digest.hex()


def test_no_secret_in_a_repr() -> None:
    assert repr(IDENTITY) == "Identity()"
    assert repr(KEY) == "IdentityKey()"


def test_the_purposes_of_signatures_are_what_they_were() -> None:
    assert [str(purpose) for purpose in SigningPurpose] == [
        "approve-specification",
        "seed agreement: offer",
        "seed agreement: confirmation",
        "give-handles",
        "give-row-shares",
        "resolve-run",
        "decide-release",
        "audit-checkpoint",
        "audit-witness",
        "accept-restored-log",
        "enrolment request",
        "decline-specification",
        "state-file",
        "open-epoch",
        "hand-over-project",
        "take-over-project",
        "send-variables",
        "compute-session",
        "share-rows",
        "readiness",
    ]
    signed = IDENTITY.sign(SigningPurpose.APPROVAL, b"x")
    assert [purpose for purpose in SigningPurpose if IDENTITY.public.is_signed(signed, purpose, b"x")] == [
        SigningPurpose.APPROVAL
    ]
