"""The tokenisations, in plain Python: what each makes of a value. The fast form must agree with this module.

A value's tokens are a *set*; the similarity of two values is the Jaccard index of their sets, so the choice
of tokens is the choice of what counts as alike.

``bigrams``
    Pairs of neighbouring characters, one padding character at either end: ``john`` is ``_j jo oh hn n_``. For
    names and text. One wrong character of n spoils two of n + 1 tokens, wherever it stands.
``positional_bigrams``
    The same with the place of each pair. Stricter: an inserted character spoils all that follows.
``positional_characters``
    Each character with its place. For codes and numbers, where a digit means nothing out of its place: one
    wrong digit of n gives (n - 1)/(n + 1).
``date_parts``
    For a cleaned date (``YYYYMMDD``, zeros for a part that is not known): each known part as a whole and
    each of its digits in its place, 11 tokens in all. A wrong digit in the day leaves 9 of 13 tokens (.69),
    a wrong day altogether 8 of 14 (.57), and dates that have only the year in common 5 of 17 (.29) or
    little more; digits alone would say .78, .60 and .33, and would take two unknown parts for equal ones.
    Unknown parts have no tokens.
``words``
    The words between white space. For text in which words come, go and change places.
``value``
    The whole value as one token: equal or not. For categories.

A token's code is a 64-bit number, type-tagged so that no token of one kind is ever one of another kind:

=====================  =====  ========================================================= token
tag    the lower 60 bits =====================  =====
========================================================= bigram                 1      two code points of
21 bits; padding is 0x1FFFFF, no legal code point positional bigram      2      place (18 bits), two code
points positional character   3      place, code point part of a date         4      part (year 1, month 2,
day 3) << 40, place << 32, number; place 0 is the whole part word                   5      keyed BLAKE2b of
the word in UTF-8 whole value            6      keyed BLAKE2b of the value in UTF-8 =====================
=====  =========================================================

The tag is in the topmost four bits. A hash is cut to 60 bits: of a million words some two collide with
probability 4e-7. It is keyed because it is an ordinary number until it is signed, and must not be a lasting
one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from itertools import pairwise

from tryst.common.errors import ErrorCode, TrystError

PADDING = 0x1FFFFF
CODE_POINT_BITS = 21
MAX_LENGTH = 2**18 - 2
"""Longest value, in characters: the places of its padded bigrams have 18 bits."""

TAG_SHIFT = 60
BIGRAM, POSITIONAL_BIGRAM, POSITIONAL_CHARACTER, DATE_PART, WORD, VALUE = range(1, 7)

DATE_DIGITS = 8
DATE_PARTS = ((1, 0, 4), (2, 4, 6), (3, 6, 8))
"""Number of the part and where it lies in YYYYMMDD: year, month, day."""

PART_SHIFT = 40
PLACE_SHIFT = 32


def tokens(value: str, tokenisation: str, key: bytes = b"", similar: Collection[str] | None = None) -> frozenset[int]:
    """Codes of a value's tokens.

    Parameters
    ----------
    value
        A cleaned value. One without tokens ("", white space, a date of which nothing is known) is a missing
        value.
    tokenisation
        One of ``TOKENISATIONS``.
    key
        32 bytes, key of the hash of words and whole values.
    similar
        The values that are cut into tokens; any other that has tokens is one, of the whole value, and so equal to
        itself and like no other. Default: all are.

    Raises
    ------
    TrystError
        PARAMETER for an unknown tokenisation, a hash without its key, a value that is too long, or a date
        that is not eight digits.
    """
    if tokenisation not in TOKENISATIONS:
        raise unknown_tokenisation(tokenisation)
    if len(value) > MAX_LENGTH:
        raise too_long(1)
    cut = TOKENISATIONS[tokenisation](value, key)
    return cut if similar is None or value in similar or not cut else _value(value, key)


def _bigrams(value: str, key: bytes) -> frozenset[int]:
    return frozenset(_tagged(BIGRAM, first << CODE_POINT_BITS | second) for first, second in _pairs(value))


def _positional_bigrams(value: str, key: bytes) -> frozenset[int]:
    return frozenset(
        _tagged(
            POSITIONAL_BIGRAM,
            place << 2 * CODE_POINT_BITS | first << CODE_POINT_BITS | second,
        )
        for place, (first, second) in enumerate(_pairs(value))
    )


def _positional_characters(value: str, key: bytes) -> frozenset[int]:
    return frozenset(
        _tagged(POSITIONAL_CHARACTER, place << CODE_POINT_BITS | ord(character))
        for place, character in enumerate(value)
    )


def _date_parts(value: str, key: bytes) -> frozenset[int]:
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


def _words(value: str, key: bytes) -> frozenset[int]:
    return frozenset(hashed(word, WORD, key) for word in value.split())


def _value(value: str, key: bytes) -> frozenset[int]:
    return frozenset({hashed(value, VALUE, key)} if value else ())


TOKENISATIONS: dict[str, Callable[[str, bytes], frozenset[int]]] = {
    "bigrams": _bigrams,
    "positional_bigrams": _positional_bigrams,
    "positional_characters": _positional_characters,
    "date_parts": _date_parts,
    "words": _words,
    "value": _value,
}


def hashed(text: str, tag: int, key: bytes) -> int:
    """Code of a token that is too long to be its own code: its tag and 60 bits of keyed BLAKE2b."""
    if len(key) != 32:
        raise no_key()
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
    return _tagged(tag, int.from_bytes(digest, "little") & ((1 << TAG_SHIFT) - 1))


def unknown_tokenisation(name: str) -> TrystError:
    """Error for a name that is no tokenisation's."""
    known = ", ".join(TOKENISATIONS)
    return TrystError(
        ErrorCode.PARAMETER,
        "unknown tokenisation",
        where="tokens",
        got=name,
        remedy=f"use one of {known}",
    )


def no_key() -> TrystError:
    """Error for a hash without a key."""
    return TrystError(ErrorCode.PARAMETER, "words and whole values need a key of 32 bytes", where="tokens")


def too_long(count: int) -> TrystError:
    """Error for values that have more characters than places can be told apart."""
    return TrystError(
        ErrorCode.PARAMETER,
        f"a value has at most {MAX_LENGTH} characters",
        where="tokens",
        got=f"{count} longer values",
        remedy="check that the column is the one that the specification means",
    )


def no_date(count: int) -> TrystError:
    """Error for values that the cleaning of dates did not make."""
    return TrystError(
        ErrorCode.PARAMETER,
        f"date_parts needs cleaned dates, {DATE_DIGITS} digits YYYYMMDD",
        where="tokens",
        got=f"{count} other values",
        remedy="give the field the kind date",
    )


def _pairs(value: str) -> list[tuple[int, int]]:
    if not value:
        return []
    padded = [PADDING, *map(ord, value), PADDING]
    return list(pairwise(padded))


def _tagged(tag: int, payload: int) -> int:
    return tag << TAG_SHIFT | payload
