"""The digits that members read out: of the whole file, the same everywhere, compared whole."""

from __future__ import annotations

import hashlib
import re

import pytest

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.pki.authentication_string import authentication_string, typed_string

EXAMPLE = "7 files, 5 members"


def test_it_is_scrypt_of_the_digest_with_128_mebibytes() -> None:
    """By RFC 7914's own parameters; a golden value, since members of two releases must come to the same digits."""
    derived = hashlib.scrypt(
        hashlib.sha256(EXAMPLE.encode()).digest(),
        salt=b"tryst membership file 1",
        n=2**17,
        r=8,
        p=1,
        maxmem=2**28,
        dklen=32,
    )
    digits = str(int.from_bytes(derived, "big") % 10**24).zfill(24)
    found = authentication_string(EXAMPLE.encode())
    assert found.replace(" ", "") == digits
    assert found == "7282 8000 9778 0102 4443 9596"
    assert re.fullmatch(r"([0-9]{4} ){5}[0-9]{4}", found)


@pytest.mark.parametrize(
    "text", ["1234 5678 9012 3456 7890 1234", "123456789012345678901234", "1234-5678.90123456,78901234 "]
)
def test_digits_are_typed_in_any_grouping(text: str) -> None:
    assert typed_string(text) == "1234 5678 9012 3456 7890 1234"


@pytest.mark.parametrize(
    "text", ["", "y", "1234 5678 9012 3456 7890 123", "1234 5678 9012 3456 7890 12345", "١٢٣٤ 5678 9012 3456 7890 1234"]
)
def test_less_or_more_or_other_digits_are_refused(text: str) -> None:
    with pytest.raises(TrystError, match="expected all 24 digits") as caught:
        typed_string(text)
    assert caught.value.code is ErrorCode.PARAMETER


def test_without_scrypt_the_other_comparison_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> bytes:
        raise ValueError("unsupported")

    monkeypatch.setattr(hashlib, "scrypt", refused)
    with pytest.raises(TrystError, match=r"scrypt.*tryst party accept"):
        authentication_string(b"")
