"""Keys: HKDF as RFC 5869 has it, every input decides the key, and a seed is never shown."""

from __future__ import annotations

import copy
import hashlib
import hmac
import pickle
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.common.keys.derivation import FieldKeys, Purpose, Seed, derive, derive_key

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
