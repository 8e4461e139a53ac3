"""The tokenisations: the tokens of a value under each, and the codes of tokens.

A value's tokens are a *set*; the similarity of two values is the Jaccard index of their sets, so the choice
of tokens determines which values are similar.

``bigrams``
    Pairs of neighbouring characters, one padding character at either end: ``john`` is ``_j jo oh hn n_``. For
    names and text. One wrong character of n changes two of n + 1 tokens, wherever it is.
``positional_bigrams``
    The same with the place of each pair. Stricter: an inserted character changes all that follow.
``positional_characters``
    Each character with its place. For codes and numbers, where a digit means nothing out of its place: one
    wrong digit of n gives (n - 1)/(n + 1).
``date_parts``
    For a cleaned date (``YYYYMMDD``, zeros for a part that is not known): each known part as a whole and
    each of its digits in its place, 11 tokens in all. A wrong digit in the day leaves 9 of 13 tokens (.69),
    a wrong day altogether 8 of 14 (.57), and dates that have only the year in common 5 of 17 (.29) or
    little more; digits alone would give .78, .60 and .33, and would count two unknown parts as equal.
    Unknown parts have no tokens.
``words``
    The words between white space. For text in which words are added, dropped and reordered.
``value``
    The whole value as one token: equal or not. For categories.

A token's code is a 64-bit number, type-tagged so that no token of one kind is ever one of another kind:

=====================  =====  =================================================================================
token                  tag    the lower 60 bits
=====================  =====  =================================================================================
bigram                 1      two code points of 21 bits; padding is 0x1FFFFF, which is not a code point
positional bigram      2      place (18 bits), two code points
positional character   3      place, code point
part of a date         4      part (year 1, month 2, day 3) << 40, place << 32, number; place 0: the whole part
word                   5      keyed hash of the word in UTF-8
whole value            6      keyed hash of the value in UTF-8
=====================  =====  =================================================================================

The tag is in the topmost four bits. The hash is keyed BLAKE2b, or HMAC-SHA-256 in the approved suite, cut to 60 bits:
of a million words some two collide with probability 4e-7. It is keyed because an unkeyed hash would be the same in
every project, until the token is signed.
"""

from __future__ import annotations

from gemel.common.errors import GemelError, parameter
from gemel.common.keys.suite import Suite, keyed_hash

PADDING = 0x1FFFFF
CODE_POINT_BITS = 21
MAX_LENGTH = 2**18 - 2
"""Longest value, in characters: the places of its padded bigrams have 18 bits."""

TAG_SHIFT = 60
BIGRAM, POSITIONAL_BIGRAM, POSITIONAL_CHARACTER, DATE_PART, WORD, VALUE = range(1, 7)

DATE_DIGITS = 8

TOKENISATIONS = ("bigrams", "positional_bigrams", "positional_characters", "date_parts", "words", "value")

_HASH_BYTES = 8

PART_SHIFT = 40
PLACE_SHIFT = 32


def hashed(text: str, tag: int, key: bytes, suite: Suite = Suite.DEFAULT) -> int:
    """Code of a token that is too long to be its own code: its tag and 60 bits of the suite's keyed hash."""
    if len(key) != 32:
        raise no_key()
    digest = keyed_hash(key, _HASH_BYTES, suite)(text.encode("utf-8", "surrogatepass"))
    return tag << TAG_SHIFT | int.from_bytes(digest, "little") & ((1 << TAG_SHIFT) - 1)


def unknown_tokenisation(name: str) -> GemelError:
    """Error for an unknown tokenisation."""
    known = ", ".join(TOKENISATIONS)
    return parameter("tokens", "unknown tokenisation", name, f"use one of {known}")


def no_key() -> GemelError:
    """Error for a hash without a key."""
    return parameter("tokens", "words and whole values need a key of 32 bytes")


def too_long(count: int) -> GemelError:
    """Error for values with more characters than can have distinct places."""
    return parameter(
        "tokens",
        f"a value must have at most {MAX_LENGTH} characters",
        f"{count} longer values",
        "check that this is the right column for the field",
    )


def no_date(count: int) -> GemelError:
    """Error for values that are not cleaned dates."""
    return parameter(
        "tokens",
        f"date_parts needs cleaned dates, {DATE_DIGITS} digits YYYYMMDD",
        f"{count} other values",
        "set `kind: date` for the field",
    )
