"""Key-check value and canary digest: equal exactly when seed, project, encoding, epoch and signatures are."""

from __future__ import annotations

import unicodedata

import pytest

from gemel.common.keys.check import CANARY_RECORDS, canary_digest, key_check_value
from gemel.common.keys.derivation import Purpose, Seed, derive, derive_key

SEED = Seed(bytes(range(32)))
DIGEST = bytes(range(32, 64))
ENCODED = "\n".join(record or "" for record in CANARY_RECORDS).encode()


def test_the_values_are_frozen() -> None:
    assert key_check_value(SEED, "febrl4", DIGEST, 1).hex() == GOLDEN_CHECK
    assert canary_digest(SEED, "febrl4", DIGEST, 1, b"signatures").hex() == GOLDEN_CANARY


GOLDEN_CHECK = "189a74c6051ddac4"
GOLDEN_CANARY = "737892c7042171dd257a2b7faac881d2ef8fe76c347fb60ac581c1ebdf270660"


@pytest.mark.parametrize(
    ("seed", "project", "digest", "epoch"),
    [
        (Seed(bytes(range(1, 33))), "febrl4", DIGEST, 1),
        (SEED, "febrl5", DIGEST, 1),
        (SEED, "febrl4", bytes(32), 1),
        (SEED, "febrl4", DIGEST, 2),
    ],
    ids=["seed", "project", "encoding", "epoch"],
)
def test_either_differs_when_anything_does(seed: Seed, project: str, digest: bytes, epoch: int) -> None:
    assert key_check_value(seed, project, digest, epoch) != key_check_value(SEED, "febrl4", DIGEST, 1)
    assert canary_digest(seed, project, digest, epoch, ENCODED) != canary_digest(SEED, "febrl4", DIGEST, 1, ENCODED)


def test_lengths_and_that_no_key_of_a_field_is_shown() -> None:
    check = key_check_value(SEED, "febrl4", DIGEST, 1)
    canary = canary_digest(SEED, "febrl4", DIGEST, 1, ENCODED)
    assert len(check) == 8
    assert len(canary) == 32
    for purpose in Purpose:
        if purpose is not Purpose.CHECK:
            keys = derive(SEED, "febrl4", purpose, DIGEST)
            assert check not in keys.k1 + keys.k2
    assert canary != derive_key(SEED, "febrl4", Purpose.CANARY, DIGEST)


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
    [
        ("\u32ff", 12.1),
        ("\U00011938", 13),
        ("\ua7c0", 14),
        ("\ua7f2", 14),
        ("\U0001e030", 15),
        ("\u1c89", 16),
    ],
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
