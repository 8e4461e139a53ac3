"""The cleaning of one value, step by step, in plain Python: `columns` does the same to many values at once.

All of it rests on the Unicode tables of this Python (`unicodedata`), whose version is part of the encoding digest. The
Unicode form is NFKC: a full-width letter, a ligature or a superscript comes from how something was typed or printed,
never from how someone is called.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from collections.abc import Callable, Iterable, Sequence

from gemel.common.specification import FieldSpec
from gemel.common.specification.model.defaults import DateOrder, DatePart, Step

# Dates as people and programs write them, read in one stated order.
#
# Read: numbers between separators (`3/11/1965`, `03-11-1965`, `3.11.1965`), eight digits without (seven where a
# leading zero was lost), ISO followed by a time, and a day with an English month's name (`12 Mar 1965`). A year of four
# digits in front with separators is ISO in any order, since the order year, day, month is not in use. Partial: a year
# alone, year and month, and `00` for a part that is not known.
#
# Refused, that is counted as unreadable and made missing: a year of two digits where no latest year is stated (a pivot
# of our own would put one person's birth a century off), a year after the latest, six digits (two orders of two-digit
# years and a year with a month look alike), a day that its month does not have, and years outside 1000 to 2999.

MIN_YEAR = 1000
MAX_YEAR = 2999
_LEAP_YEAR = 2000
_TIME = r"(?:[T ]+\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:Z|[+-]\d{2}:?(?:\d{2})?)?)?"
_SEPARATED = re.compile(rf"(\d{{1,4}})([-/. ])(\d{{1,2}})\2(\d{{1,4}}){_TIME}", re.ASCII | re.IGNORECASE)
_TWO_PARTS = re.compile(r"(\d{1,4})[-/. ](\d{1,4})", re.ASCII)
_NAMED_MONTH = re.compile(
    rf"(\d{{1,2}})[-/. ]*([a-z]{{3,9}})[-/., ]*(\d{{4}}|\d{{2}}){_TIME}", re.ASCII | re.IGNORECASE
)
_COMPACT = re.compile(rf"(\d{{7,8}}){_TIME}", re.ASCII | re.IGNORECASE)
_STAMP = re.compile(r"(\d{8})(?:\d{4}|\d{6})", re.ASCII)
_YEAR = re.compile(r"\d{4}", re.ASCII)
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
Day = tuple[int, int, int]
"""Year, month, day; 0 for one that is not known."""


def clean_date(
    text: str,
    order: DateOrder,
    parts: Sequence[DatePart] = ("year", "month", "day"),
    latest_year: int | None = None,
) -> str | None:
    """A date as ``YYYYMMDD``, zeros for parts that are not known or not among `parts`; None if it is not a date.

    ``00000000``, a date of which nothing is known or compared, is a missing value: None as well.
    """
    date = parse_date(text, order, latest_year)
    if date is None:
        return None
    named = zip(date, ("year", "month", "day"), strict=True)
    year, month, day = (number if part in parts else 0 for number, part in named)
    return f"{year:04d}{month:02d}{day:02d}" if year or month or day else None


def parse_date(text: str, order: DateOrder, latest_year: int | None = None) -> Day | None:
    """Year, month and day of a date, 0 where not known; None if it cannot be read as a date of this order.

    With a `latest_year` years of two digits are the latest that they can be, and a later year is none.
    """
    date = _read(text.strip(), order, latest_year)
    return None if date is None or (latest_year is not None and date[0] > latest_year) else date


def _read(text: str, order: DateOrder, latest_year: int | None) -> Day | None:
    if match := _SEPARATED.fullmatch(text):
        first, second, third = match[1], match[3], match[4]
        if len(first) == 4 and len(third) <= 2:
            return _valid(first, second, third)
        if order != "ymd":
            return _ordered((first, second, _in_full(third, latest_year)), order)
        year = _in_full(first, latest_year)
        return _valid(year, second, third) if len(year) == 4 and len(third) <= 2 else None
    if (match := _COMPACT.fullmatch(text)) or (match := _STAMP.fullmatch(text) if order == "ymd" else None):
        return _compact(match[1], order)
    if match := _NAMED_MONTH.fullmatch(text):
        word = match[2].lower()
        named = [number for number, month in enumerate(_MONTHS, start=1) if month.startswith(word)]
        year = _in_full(match[3], latest_year)
        return _valid(year, str(named[0]), match[1]) if named and len(year) == 4 else None
    if _YEAR.fullmatch(text):
        return _valid(text, "0", "0")
    if match := _TWO_PARTS.fullmatch(text):
        first, second = match[1], match[2]
        if len(first) == 4 and len(second) <= 2:
            return _valid(first, second, "0")
        if len(second) == 4 and len(first) <= 2 and order != "ymd":
            return _valid(second, first, "0")
    return None


def _in_full(year: str, latest_year: int | None) -> str:
    """A year of two digits as the latest that it can be; others as they are."""
    if latest_year is None or len(year) != 2:
        return year
    return f"{latest_year - (latest_year - int(year)) % 100:04d}"


def _compact(digits: str, order: DateOrder) -> Day | None:
    if order == "ymd":
        return _valid(digits[:4], digits[4:6], digits[6:]) if len(digits) == 8 else None
    digits = digits.zfill(8)
    return _ordered((digits[:2], digits[2:4], digits[4:]), order)


def _ordered(parts: tuple[str, str, str], order: DateOrder) -> Day | None:
    first, second, year = parts
    if len(year) != 4 or len(first) > 2:
        return None
    return _valid(year, second, first) if order == "dmy" else _valid(year, first, second)


def _valid(year: str, month: str, day: str) -> Day | None:
    y, m, d = int(year), int(month), int(day)
    if m > 12 or not (y == 0 or MIN_YEAR <= y <= MAX_YEAR):
        return None
    longest = monthrange(y or _LEAP_YEAR, m)[1] if m else 31
    return (y, m, d) if d <= longest else None


_GROUPED = re.compile(r"([+-]?)(\d{1,3}(?:[, ']\d{3})+|\d{1,3}(?:\u2019\d{3})+)(?:\.(\d*))?", re.ASCII)
_PLAIN = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,2}))?", re.ASCII | re.IGNORECASE)


def clean_number(text: str) -> str | None:
    """A number in its canonical form, None if the text is not a number.

    ``007`` is ``7``, ``+1,234.50`` is ``1234.5``, ``12.0`` is ``12``, ``-0`` is ``0``, ``1.5e3`` is ``1500``. A comma,
    blank or apostrophe is a thousands sign, and only before every three digits: ``1,5`` may be one and a half or
    fifteen and is not guessed.
    """
    text = text.strip()
    if match := _GROUPED.fullmatch(text):
        whole, decimals, exponent = re.sub(r"\D", "", match[2]), match[3] or "", 0
    elif (match := _PLAIN.fullmatch(text)) and (match[2] or match[3]):
        whole, decimals, exponent = match[2], match[3] or "", int(match[4] or 0)
    else:
        return None
    if exponent > 0:
        whole, decimals = whole + decimals[:exponent].ljust(exponent, "0"), decimals[exponent:]
    elif exponent < 0:
        padded = whole.rjust(-exponent, "0")
        whole, decimals = padded[:exponent], padded[exponent:] + decimals
    whole, decimals = whole.lstrip("0") or "0", decimals.rstrip("0")
    number = f"{whole}.{decimals}" if decimals else whole
    return f"-{number}" if match[1] == "-" and number != "0" else number


_APOSTROPHES = frozenset("'`´‘’‛′ʹʻʼʽˈ＇")
# Letters that Unicode does not decompose although their stroke or ligature is an accent in people's names.
_LETTERS = str.maketrans({
    "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "ħ": "h", "Ħ": "H",
    "ŧ": "t", "Ŧ": "T", "ı": "i", "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE",
    "þ": "th", "Þ": "TH", "ĸ": "k", "ŋ": "n", "Ŋ": "N", "ə": "e", "Ə": "E",
})  # fmt: skip
_COMBINING = range(0x0300, 0x0370)
"""Combining accents of the Latin, Greek and Cyrillic scripts. The vowel signs of other scripts are no accents."""


def clean_value(value: str | None, field: FieldSpec) -> str | None:
    """A cleaned value, or None if it is missing."""
    codes = missing_codes(field)
    if value is None or is_missing(value, codes):
        return None
    phrases = stop_phrases(field)
    for step in field.clean:
        value = drop_phrases(value, phrases) if step == "stop_words" else TEXT_STEPS[step](value)
    text = finished(value, phrases)
    parsed = parse_value(text, field)
    return None if parsed is None or is_missing(parsed, codes) else parsed


def finished(value: str, phrases: Sequence[tuple[str, ...]]) -> str:
    """The cleaned value, but ``""`` if it has become a stop word by the steps after that of the stop words."""
    return "" if (value,) in phrases else value


def parse_value(text: str, field: FieldSpec) -> str | None:
    """A date or number in its canonical form, None if it cannot be read; other kinds as they are."""
    if not text:
        return None
    if field.kind == "date" and field.date is not None:
        return clean_date(text, field.date.read_order, field.date.parts, field.date.latest_year)
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


def _alphanumeric(value: str) -> str:
    # Marks stay: in many scripts they are the vowels.
    return _joined(character for character in value if unicodedata.category(character)[0] in "LNM")


def _leading_zeros(value: str) -> str:
    bare = value.lstrip("0 ")
    return bare if bare or not value.strip() else "0"


TEXT_STEPS: dict[Step, Callable[[str], str]] = {
    "unicode": _unicode,
    "case": _case,
    "accents": _accents,
    "punctuation": _punctuation,
    "whitespace": lambda value: " ".join(value.split()),
    "alphanumeric": _alphanumeric,
    "digits": lambda value: "".join(character for character in value if "0" <= character <= "9"),
    "leading_zeros": _leading_zeros,
}
"""The function of each step; `stop_words` needs the field's words and is `drop_phrases`."""
