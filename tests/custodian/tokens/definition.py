"""The tokens of one value, in plain Python; the fast form must agree with this module."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import pairwise

from gemel.common.keys.suite import Suite
from gemel.custodian.tokens import (
    BIGRAM,
    CODE_POINT_BITS,
    DATE_DIGITS,
    DATE_PART,
    MAX_LENGTH,
    PADDING,
    PART_SHIFT,
    PLACE_SHIFT,
    POSITIONAL_BIGRAM,
    POSITIONAL_CHARACTER,
    TAG_SHIFT,
    VALUE,
    WORD,
    hashed,
    no_date,
    too_long,
    unknown_tokenisation,
)

DATE_PARTS = ((1, 0, 4), (2, 4, 6), (3, 6, 8))
"""Number of the part and where it lies in YYYYMMDD: year, month, day."""


def tokens(
    value: str,
    tokenisation: str,
    key: bytes = b"",
    similar: Collection[str] | None = None,
    suite: Suite = Suite.DEFAULT,
) -> frozenset[int]:
    """Codes of a value's tokens.

    `value`: A cleaned value. One without tokens ("", white space, a date of which nothing is known) is a missing value;
    `tokenisation`: one of ``gemel.custodian.tokens.TOKENISATIONS``; `key`: 32 bytes, key of the hash of words and whole
    values; `similar`: the values that are cut into tokens; any other that has tokens is one, of the whole value, and so
    equal to itself and like no other. Default: all are; `suite`: decides the hash. Raises `GemelError`: PARAMETER for
    an unknown tokenisation, a hash without its key, a value that is too long, or a date that is not eight digits.
    """
    if tokenisation not in _FORMS:
        raise unknown_tokenisation(tokenisation)
    if len(value) > MAX_LENGTH:
        raise too_long(1)
    cut = _FORMS[tokenisation](value, key, suite)
    return cut if similar is None or value in similar or not cut else _value(value, key, suite)


def _bigrams(value: str, key: bytes, suite: Suite) -> frozenset[int]:
    return frozenset(_tagged(BIGRAM, first << CODE_POINT_BITS | second) for first, second in _pairs(value))


def _positional_bigrams(value: str, key: bytes, suite: Suite) -> frozenset[int]:
    return frozenset(
        _tagged(POSITIONAL_BIGRAM, place << 2 * CODE_POINT_BITS | first << CODE_POINT_BITS | second)
        for place, (first, second) in enumerate(_pairs(value))
    )


def _positional_characters(value: str, key: bytes, suite: Suite) -> frozenset[int]:
    return frozenset(
        _tagged(POSITIONAL_CHARACTER, place << CODE_POINT_BITS | ord(character))
        for place, character in enumerate(value)
    )


def _date_parts(value: str, key: bytes, suite: Suite) -> frozenset[int]:
    if value == "":
        return frozenset()
    if len(value) != DATE_DIGITS or not (value.isascii() and value.isdigit()):
        raise no_date(1)
    codes = set()
    for part, start, stop in DATE_PARTS:
        digits = value[start:stop]
        if int(digits) == 0:
            continue
        codes.add(_tagged(DATE_PART, part << PART_SHIFT | int(digits)))
        for place, digit in enumerate(digits, start=1):
            codes.add(_tagged(DATE_PART, part << PART_SHIFT | place << PLACE_SHIFT | int(digit)))
    return frozenset(codes)


def _words(value: str, key: bytes, suite: Suite) -> frozenset[int]:
    return frozenset(hashed(word, WORD, key, suite) for word in value.split())


def _value(value: str, key: bytes, suite: Suite) -> frozenset[int]:
    return frozenset({hashed(value, VALUE, key, suite)} if value else ())


_FORMS: dict[str, Callable[[str, bytes, Suite], frozenset[int]]] = {
    "bigrams": _bigrams,
    "positional_bigrams": _positional_bigrams,
    "positional_characters": _positional_characters,
    "date_parts": _date_parts,
    "words": _words,
    "value": _value,
}


def _pairs(value: str) -> list[tuple[int, int]]:
    if not value:
        return []
    padded = [PADDING, *map(ord, value), PADDING]
    return list(pairwise(padded))


def _tagged(tag: int, payload: int) -> int:
    return tag << TAG_SHIFT | payload
