"""The digits that members read out: of the whole file and a name, the same everywhere, compared whole."""

from __future__ import annotations

import hashlib
import hmac
import re

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.party.membership_file import authentication_key, authentication_string, typed_string
from tests.carole.refusals import refusal

EXAMPLE = "7 files, 5 members"


def test_it_is_scrypt_of_the_digest_with_128_mebibytes() -> None:
    """By RFC 7914's own parameters; a golden value, since members of all releases must come to the same digits."""
    key = hashlib.scrypt(
        hashlib.sha256(EXAMPLE.encode()).digest(),
        salt=b"gemel membership file 1",
        n=2**17,
        r=8,
        p=1,
        maxmem=2**28,
        dklen=32,
    )
    assert authentication_key(EXAMPLE.encode()) == key
    digits = str(int(hmac.new(key, b"alice", hashlib.sha256).hexdigest(), 16) % 10**24).zfill(24)
    found = authentication_string(key, "alice")
    assert found.replace(" ", "") == digits
    assert found == "2632 0704 9454 6761 5444 3354"
    assert re.fullmatch(r"([0-9]{4} ){5}[0-9]{4}", found)


def test_each_member_has_digits_of_its_own() -> None:
    """Those that one has read out, or of one's own screen, pass for no one else's."""
    names = ("alice", "bob", "carole", "coordinator", "steward", "steward2")
    assert len({authentication_string(bytes(32), name) for name in names}) == len(names)
    assert authentication_string(bytes(32), "alice") != authentication_string(bytes(31) + b"1", "alice")


@pytest.mark.parametrize(
    "text", ["1234 5678 9012 3456 7890 1234", "123456789012345678901234", "1234-5678.90123456,78901234 "]
)
def test_digits_are_typed_in_any_grouping(text: str) -> None:
    assert typed_string(text) == "1234 5678 9012 3456 7890 1234"


@pytest.mark.parametrize(
    "text", ["", "y", "1234 5678 9012 3456 7890 123", "1234 5678 9012 3456 7890 12345", "١٢٣٤ 5678 9012 3456 7890 1234"]
)
def test_less_or_more_or_other_digits_are_refused(text: str) -> None:
    with refusal(ErrorCode.PARAMETER, "expected all 24 digits"):
        typed_string(text)


def test_without_scrypt_the_other_comparison_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> bytes:
        raise ValueError("unsupported")

    monkeypatch.setattr(hashlib, "scrypt", refused)
    with pytest.raises(GemelError, match=r"scrypt.*gemel party accept"):
        authentication_key(b"")
