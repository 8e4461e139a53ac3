"""What a column's or a field's name means, and what it describes.

The words stand in ``column_words.toml``, in English, German, French, Spanish, Italian and Dutch. Names are compared
without case, accents, blanks and punctuation: ``Prénom``, ``PRENOM`` and ``pre_nom`` are one. A name that means
different things in two of these languages is left out, or listed where it is the commoner; content decides in the end,
and the draft states every pairing of columns with different names.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from pathlib import Path

from gemel.common.specification.model.defaults import Describes

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")


_TABLES: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _words(table: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(words.split()) for name, words in _TABLES[table].items()}


MEANINGS = _words("meanings")
"""Names of columns, bare, by what they mean."""
PARTS = _words("parts")
"""Words for the parts of a date, by the part."""
HINTS = _words("hints")
"""Words in a column's name, in the order in which they are tried."""
WORDS = _words("words")
_LONG = 3
"""Letters of a part of a date that may be joined to another word: ``Geburtsjahr``, ``birthyear``."""


def words_of(column: str) -> list[str]:
    """The words of a column's name: of ``dateOfBirth`` and ``date_of_birth`` date, of, birth."""
    return [word.casefold() for word in _WORD.findall(_CAMEL.sub(" ", column))]


def bare(column: str) -> str:
    return "".join(words_of(column))


def without_accents(text: str) -> str:
    """Letters without accents, ``ß`` as ``ss`` and ``ø`` as it is."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.replace("ß", "ss")) if not unicodedata.combining(c))


def meaning_of(column: str) -> str:
    """What a column's name means, one of `MEANINGS`, ``birth_year`` and so on; nothing if it is not known."""
    name = without_accents(bare(column))
    # Umlauts are also written with an e.
    known = next((meaning for meaning, names in MEANINGS.items() if name in names), "")
    if not known and (part := part_of_date(column)) is not None and part[1] == "birth":
        return f"birth_{part[0]}"
    return known


def part_of_date(column: str) -> tuple[str, str] | None:
    """Which part of which date a column's name means: ``("year", "birth")`` of ``Geburtsjahr``; None if of none.

    The date is named by the rest of the name, ``birth`` in every language, or nothing.
    """
    words = [word for word in map(without_accents, words_of(column)) if word not in WORDS["fillers"] or len(word) == 1]
    for part, names in PARTS.items():
        for place in (len(words) - 1, 0):
            if words and words[place] in names:
                return part, _date_named(words[:place] + words[place + 1 :])
    name = "".join(words)
    for part, names in PARTS.items():
        for affix in sorted((n for n in names if len(n) >= _LONG), key=len, reverse=True):
            for rest in (name.removesuffix(affix), name.removeprefix(affix)):
                if rest != name and _date_named([rest]) == "birth":
                    return part, "birth"
    # by, bm, bd
    if len(name) == 2 and name[0] == "b":
        return next(((part, "birth") for part, names in PARTS.items() if name[1] in names), None)
    return None


def _date_named(words: list[str]) -> str:
    rest = [word for word in words if word not in WORDS["fillers"] and word != "date"]
    stem = "".join(rest)
    return "birth" if stem in WORDS["birth"] or stem.removesuffix("s") in WORDS["birth"] else "_".join(rest)


_BY_MEANING: dict[str, Describes] = {
    **dict.fromkeys(("given_name", "middle_name", "full_name", "email"), "name"),
    **dict.fromkeys(("surname", "maiden_name"), "family"),
    **dict.fromkeys(("city", "street", "house_number", "address", "postcode", "phone", "region"), "household"),
    "birth_date": "birth",
    "birth_year": "birth",
    "sex": "trait",
}
_TRIED: tuple[Describes, ...] = ("family", "birth", "trait", "household", "name")
_BY_WORD = _words("describes")


def described_by(column: str) -> Describes | None:
    """What a column of this name describes, as far as the name says it. A year, month or day without a name of its own
    is one of birth."""
    if known := _BY_MEANING.get(meaning_of(column)):
        return known
    if len(bare(column)) >= _LONG and (part_of_date(column) or ("", "other"))[1] in ("", "birth"):
        return "birth"
    words = {without_accents(word).rstrip("0123456789") for word in (*words_of(column), bare(column))}
    return next((described for described in _TRIED if words & _BY_WORD[described]), None)
