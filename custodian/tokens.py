"""The tokenisations: the tokens of a value under each, and their codes, made of many values at once in compiled loops.

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

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numba
import numpy as np
import polars as pl

from gemel.common.arrays import I64, U32, U64
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
    known = ", ".join(TOKENISATIONS)
    return parameter("tokens", "unknown tokenisation", name, f"use one of {known}")


def no_key() -> GemelError:
    return parameter("tokens", "words and whole values need a key of 32 bytes")


def too_long(count: int) -> GemelError:
    remedy = "check that this is the right column for the field"
    return parameter("tokens", f"a value must have at most {MAX_LENGTH} characters", f"{count} longer values", remedy)


def no_date(count: int) -> GemelError:
    what = f"date_parts needs cleaned dates, {DATE_DIGITS} digits YYYYMMDD"
    return parameter("tokens", what, f"{count} other values", "set `kind: date` for the field")


_SHORT = 48  # below, insertion sort is the fastest


@dataclass(frozen=True)
class Tokens:
    """The token sets of a list of values.

    `codes` is uint64, shape (n_tokens,): of all values, each value's ascending and distinct. Value i has
    ``codes[offsets[i]:offsets[i + 1]]``; none if it is missing.
    """

    codes: U64
    offsets: I64

    @property
    def n_values(self) -> int:
        return len(self.offsets) - 1

    @property
    def counts(self) -> I64:
        """Tokens of each value, shape (n_values,)."""
        return np.diff(self.offsets)

    def __getitem__(self, value: int) -> U64:
        return self.codes[self.offsets[value] : self.offsets[value + 1]]

    def take(self, values: I64) -> Tokens:
        """The token sets of some of the values: int64, shape (n,), strictly ascending places."""
        counts = self.counts[values]
        offsets = _offsets(counts)
        if offsets[-1] == len(self.codes):  # only values without tokens are left out
            return Tokens(self.codes, offsets)
        # The source of each kept token: its value's first token, and its place among the value's.
        source = np.repeat(self.offsets[values] - offsets[:-1], counts) + np.arange(offsets[-1])
        return Tokens(self.codes[source], offsets)


def tokenise(
    values: Sequence[str] | pl.Series,
    tokenisation: str,
    key: bytes = b"",
    similar: Collection[str] | None = None,
    suite: Suite = Suite.DEFAULT,
) -> Tokens:
    """Token sets of many values, cleaned and without nulls, in their order; preferably the distinct ones only.

    `tokenisation`: one of `TOKENISATIONS`; `key`: 32 bytes, key of the hash of words and whole values; `similar`: the
    values that are split into tokens, preferably a set; any other becomes one whole token. Default: all. Raises
    `GemelError`: PARAMETER for an unknown tokenisation, a hash without its key, a value that is too long, or a date
    that is not eight digits.

    About 20 ns a token on one core; a word or a whole value that has not occurred before takes a microsecond more.
    """
    if tokenisation not in TOKENISATIONS:
        raise unknown_tokenisation(tokenisation)
    texts: Sequence[str] = values.to_list() if isinstance(values, pl.Series) else values
    if similar is not None:
        return _partly_cut(texts, tokenisation, key, similar, suite)
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    if longer := int(np.count_nonzero(lengths > MAX_LENGTH)):
        raise too_long(longer)
    if tokenisation == "value":
        return _values(texts, lengths, key, suite)
    if tokenisation == "words":
        return _words(texts, key, suite)
    starts = _offsets(lengths)
    encoded = "".join(texts).encode("utf-32-le", "surrogatepass")
    points = np.frombuffer(encoded, dtype="<u4").astype(np.uint32, copy=False)
    if tokenisation == "date_parts":
        codes, offsets = _date_parts(points, starts)
        if len(offsets) == 0:
            raise no_date(sum(not _is_date(text) for text in texts))
    elif tokenisation == "positional_characters":
        codes, offsets = _positional_characters(points, starts), starts
    else:
        codes, offsets = _bigrams(points, starts, tokenisation == "positional_bigrams")
    return Tokens(codes, offsets)


def _partly_cut(texts: Sequence[str], tokenisation: str, key: bytes, similar: Collection[str], suite: Suite) -> Tokens:
    cut = tokenise(texts, tokenisation, key, suite=suite)
    whole = (cut.counts > 0) & ~np.fromiter((text in similar for text in texts), dtype=bool, count=len(texts))
    counts = np.where(whole, 1, cut.counts)
    codes = np.empty(int(counts.sum()), dtype=np.uint64)
    is_whole = np.repeat(whole, counts)
    codes[is_whole] = _hashes([text for text, alone in zip(texts, whole, strict=True) if alone], VALUE, key, suite)
    codes[~is_whole] = cut.codes[np.repeat(~whole, cut.counts)]
    return Tokens(codes, _offsets(counts))


def _words(texts: Sequence[str], key: bytes, suite: Suite) -> Tokens:
    """Hash each distinct word once, then look the words of each value up."""
    split = [text.split() for text in texts]
    counts = np.fromiter(map(len, split), dtype=np.int64, count=len(split))
    known: dict[str, int] = {}
    numbers = [known.setdefault(word, len(known)) for words in split for word in words]
    hashes = _hashes(list(known), WORD, key, suite)
    codes, offsets = _distinct(hashes[np.array(numbers, dtype=np.int64)], _offsets(counts))
    return Tokens(codes, offsets)


def _values(texts: Sequence[str], lengths: I64, key: bytes, suite: Suite) -> Tokens:
    codes = _hashes([text for text in texts if text], VALUE, key, suite)
    return Tokens(codes, _offsets((lengths > 0).astype(np.int64)))


def _hashes(texts: Sequence[str], tag: int, key: bytes, suite: Suite) -> U64:
    return np.fromiter((hashed(text, tag, key, suite) for text in texts), dtype=np.uint64, count=len(texts))


def _offsets(counts: I64) -> I64:
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def _is_date(text: str) -> bool:
    return text == "" or (len(text) == DATE_DIGITS and text.isascii() and text.isdigit())


@numba.njit(cache=True, nogil=True)
def _keep_distinct(codes: U64, start: int, stop: int, to: int) -> int:
    """Sort ``codes[start:stop]``, move its distinct codes to `to` (not after `start`), and return where they end."""
    if stop - start <= _SHORT:
        for i in range(start + 1, stop):
            code = codes[i]
            j = i
            while j > start and codes[j - 1] > code:
                codes[j] = codes[j - 1]
                j -= 1
            codes[j] = code
    else:
        codes[start:stop].sort()
    for i in range(start, stop):
        if i == start or codes[i] != codes[to - 1]:
            codes[to] = codes[i]
            to += 1
    return to


@numba.njit(cache=True, nogil=True)
def _distinct(codes: U64, starts: I64) -> tuple[U64, I64]:
    offsets = np.zeros_like(starts)
    end = 0
    for i in range(len(starts) - 1):
        end = _keep_distinct(codes, starts[i], starts[i + 1], end)
        offsets[i + 1] = end
    return codes[:end].copy(), offsets


@numba.njit(cache=True, nogil=True)
def _bigrams(points: U32, starts: I64, positional: bool) -> tuple[U64, I64]:
    n = len(starts) - 1
    codes = np.empty(len(points) + n, dtype=np.uint64)
    offsets = np.zeros(n + 1, dtype=np.int64)
    tag = np.uint64(POSITIONAL_BIGRAM if positional else BIGRAM) << np.uint64(TAG_SHIFT)
    end = 0
    for i in range(n):
        begin = end
        if starts[i + 1] > starts[i]:
            before = np.uint64(PADDING)
            for j in range(starts[i], starts[i + 1] + 1):
                after = np.uint64(points[j]) if j < starts[i + 1] else np.uint64(PADDING)
                codes[end] = tag | before << np.uint64(CODE_POINT_BITS) | after
                if positional:
                    codes[end] |= np.uint64(j - starts[i]) << np.uint64(2 * CODE_POINT_BITS)
                before = after
                end += 1
            if not positional:
                end = _keep_distinct(codes, begin, end, begin)
        offsets[i + 1] = end
    return codes[:end].copy(), offsets


@numba.njit(cache=True, nogil=True)
def _positional_characters(points: U32, starts: I64) -> U64:
    codes = np.empty(len(points), dtype=np.uint64)
    tag = np.uint64(POSITIONAL_CHARACTER) << np.uint64(TAG_SHIFT)
    for i in range(len(starts) - 1):
        for j in range(starts[i], starts[i + 1]):
            codes[j] = tag | np.uint64(j - starts[i]) << np.uint64(CODE_POINT_BITS) | np.uint64(points[j])
    return codes


@numba.njit(cache=True, nogil=True)
def _date_parts(points: U32, starts: I64) -> tuple[U64, I64]:
    """Tokens of dates; no offsets at all if a value is not a date."""
    n = len(starts) - 1
    codes = np.empty(11 * n, dtype=np.uint64)
    offsets = np.zeros(n + 1, dtype=np.int64)
    tag = np.uint64(DATE_PART) << np.uint64(TAG_SHIFT)
    end = 0
    for i in range(n):
        length = starts[i + 1] - starts[i]
        if length != 0 and length != DATE_DIGITS:
            return codes[:0].copy(), offsets[:0].copy()
        begin = end
        place = starts[i]
        for part in range(1, 4 if length else 1):
            digits = 4 if part == 1 else 2
            number = np.uint64(0)
            kind = tag | np.uint64(part) << np.uint64(PART_SHIFT)
            for j in range(digits):
                point = points[place + j]
                if point < 48 or point > 57:
                    return codes[:0].copy(), offsets[:0].copy()
                digit = np.uint64(point - 48)
                number = number * np.uint64(10) + digit
                codes[end + j] = kind | np.uint64(j + 1) << np.uint64(PLACE_SHIFT) | digit
            if number:
                codes[end + digits] = kind | number
                end += digits + 1
            place += digits
        end = _keep_distinct(codes, begin, end, begin)
        offsets[i + 1] = end
    return codes[:end].copy(), offsets
