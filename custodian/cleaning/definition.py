"""The cleaning of one value, step by step, in plain Python.

This module defines the steps; `columns` does the same to many values at once, with faster methods where every character
is ASCII. A property test checks that the two agree, and another that cleaning is idempotent.

All of it rests on the Unicode tables of this Python (`unicodedata`), whose version is part of the encoding digest.

Unicode form: NFKC. A full-width letter, a ligature or a superscript comes from how something was typed or printed,
never from how someone is called, so the compatibility forms are folded as well as the canonical ones (NFC).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence

from gemel.common.specification import FieldSpec
from gemel.common.specification.model.defaults import Step
from gemel.custodian.cleaning.dates import clean_date
from gemel.custodian.cleaning.numerals import clean_number

_APOSTROPHES = frozenset("'`´‘’‛′ʹʻʼʽˈ＇")
# Letters that Unicode does not decompose although their stroke or ligature is an accent in people's names.
_LETTERS = str.maketrans({
    "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "ħ": "h", "Ħ": "H",
    "ŧ": "t", "Ŧ": "T", "ı": "i", "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE",
    "þ": "th", "Þ": "TH", "ĸ": "k", "ŋ": "n", "Ŋ": "N", "ə": "e", "Ə": "E",
})  # fmt: skip
_COMBINING = range(0x0300, 0x0370)
"""Combining accents of the Latin, Greek and Cyrillic scripts. The vowel signs of other scripts are no accents."""

TEXT_STEPS: dict[Step, Callable[[str], str]] = {}


def clean_value(value: str | None, field: FieldSpec) -> str | None:
    """A cleaned value, or None if it is missing."""
    codes = missing_codes(field)
    if value is None or is_missing(value, codes):
        return None
    text = clean_text(value, field, stop_phrases(field))
    parsed = parse_value(text, field)
    return None if parsed is None or is_missing(parsed, codes) else parsed


def clean_text(value: str, field: FieldSpec, phrases: Sequence[tuple[str, ...]]) -> str:
    """The value after the field's cleaning steps, in their order; ``""`` if nothing is left."""
    for step in field.clean:
        value = drop_phrases(value, phrases) if step == "stop_words" else TEXT_STEPS[step](value)
    return finished(value, phrases)


def finished(value: str, phrases: Sequence[tuple[str, ...]]) -> str:
    """The cleaned value, but ``""`` if it has become a stop word by the steps after that of the stop words."""
    return "" if (value,) in phrases else value


def parse_value(text: str, field: FieldSpec) -> str | None:
    """A date or number in its canonical form, None if it cannot be read; other kinds as they are."""
    if not text:
        return None
    if field.kind == "date" and field.date is not None:
        return clean_date(text, field.date.order, field.date.parts)
    return clean_number(text) if field.kind == "number" else text


def folded(value: str) -> str:
    """The form in which missing-value codes are compared: NFKC, case folded, no blanks at the ends."""
    return _case(unicodedata.normalize("NFKC", value)).strip()


def missing_codes(field: FieldSpec) -> frozenset[str]:
    """The folded missing-value codes of a field; of a date or number also as they are after parsing."""
    codes = {folded(code) for code in field.missing_codes}
    if field.kind in ("date", "number"):
        codes |= {parsed for code in codes if (parsed := parse_value(code, field)) is not None}
    return frozenset(codes)


def is_missing(value: str, codes: frozenset[str]) -> bool:
    """Whether a value means *not known*: a blank one, or one of the codes."""
    text = folded(value)
    return not text or text in codes


def stop_phrases(field: FieldSpec) -> tuple[tuple[str, ...], ...]:
    """The stop words of a field as sequences of words, cleaned by the steps before theirs; the longest first."""
    if "stop_words" not in field.clean:
        return ()
    before = field.clean[: field.clean.index("stop_words")]
    phrases = set()
    for word in field.stop_words:
        for step in before:
            word = TEXT_STEPS[step](word)
        phrases.add(tuple(word.split()))
    return tuple(sorted(phrases - {()}, key=lambda phrase: (-len(phrase), phrase)))


def drop_phrases(value: str, phrases: Sequence[tuple[str, ...]]) -> str:
    """The value without the phrases, its words joined by one blank; until none is left."""
    if not phrases:
        return value
    words = tuple(value.split())
    kept: tuple[str, ...] = ()
    while True:
        kept = _without(words, phrases)
        if kept == words:
            return " ".join(words)
        words = kept


def _without(words: tuple[str, ...], phrases: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    kept: list[str] = []
    place = 0
    while place < len(words):
        length = next((len(phrase) for phrase in phrases if words[place : place + len(phrase)] == phrase), 0)
        if not length:
            kept.append(words[place])
        place += length or 1
    return tuple(kept)


def _unicode(value: str) -> str:
    value = unicodedata.normalize("NFKC", value)
    if value.isascii() and value.isprintable():
        return value
    characters = (
        " " if category == "Cc" else character
        for character in value
        if (category := unicodedata.category(character)) not in ("Cf", "Cn", "Co", "Cs")
    )
    # The characters on either side of a dropped one may combine now.
    return unicodedata.normalize("NFKC", "".join(characters))


def _case(value: str) -> str:
    if value.isascii():
        return value.lower()
    # Folding may leave a form that normalising changes, and vice versa; the third round changes nothing.
    for _ in range(3):
        value = unicodedata.normalize("NFC", value.casefold())
    return value


def _accents(value: str) -> str:
    if value.isascii():
        return value
    apart = unicodedata.normalize("NFD", value)
    bare = "".join(character for character in apart if ord(character) not in _COMBINING)
    return unicodedata.normalize("NFC", bare.translate(_LETTERS))


def _punctuation(value: str) -> str:
    return _joined(
        character if unicodedata.category(character)[0] not in "PS" else " "
        # Composed before too: some signs are an apostrophe by another name.
        for character in unicodedata.normalize("NFC", value)
        if character not in _APOSTROPHES
    )


def _joined(characters: Iterable[str]) -> str:
    """The characters that are left; a letter and a mark, between which one was dropped, combine now."""
    return unicodedata.normalize("NFC", "".join(characters))


def _whitespace(value: str) -> str:
    return " ".join(value.split())


def _alphanumeric(value: str) -> str:
    # Marks stay: in many scripts they are the vowels.
    return _joined(character for character in value if unicodedata.category(character)[0] in "LNM")


def _digits(value: str) -> str:
    return "".join(character for character in value if "0" <= character <= "9")


def _leading_zeros(value: str) -> str:
    bare = value.lstrip("0 ")
    return bare if bare or not value.strip() else "0"


TEXT_STEPS.update(
    {
        "unicode": _unicode,
        "case": _case,
        "accents": _accents,
        "punctuation": _punctuation,
        "whitespace": _whitespace,
        "alphanumeric": _alphanumeric,
        "digits": _digits,
        "leading_zeros": _leading_zeros,
    }
)
"""The function of each step; `stop_words` needs the field's words and is `drop_phrases`."""
