"""How names are written: in their script, romanised in one way or another, with accents or without.

The tables are short forms of usual ones: Cyrillic as in passports (ICAO, Doc 9303) and by ISO 9 (1995); Arabic as
English and as French speakers write it; Chinese in Pinyin and by Wade and Giles; what German, Icelandic and other
letters become where a keyboard lacks them. Indian names have several spellings in Latin letters.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.worlds.naming import CUSTOMS, Texts, lists
from benchmarks.worlds.population import Numbers

#: Letters, how a passport has them, and ISO 9; a stroke for none.
_CYRILLIC = """
а a a, б b b, в v v, г g g, д d d, е e e, ё e ë, ж zh ž, з z z, и i i, й i j, к k k, л l l, м m m, н n n, о o o, п p p,
р r r, с s s, т t t, у u u, ф f f, х kh h, ц ts c, ч ch č, ш sh š, щ shch ŝ, ъ ie ʺ, ы y y, ь - ʹ, э e è, ю iu û, я ia â
"""

_FRENCH = (
    *(("al-", "El "), ("ee", "i"), ("ou", "u"), ("u", "ou"), ("aa", "a"), ("sh", "ch"), ("j", "dj"), ("w", "ou")),
    ("q", "k"),
)
_INDIAN = (("ksh", "x"), ("sh", "s"), ("ee", "i"), ("oo", "u"), ("aa", "a"), ("v", "w"), ("th", "t"), ("y", "i"))
_GERMAN = (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss"))
_PARTICLES = ("da", "de", "do", "dos", "das")
_OTHER_LETTERS = (("þ", "th"), ("ð", "d"), ("æ", "ae"), ("ı", "i"), ("đ", "d"), ("ø", "o"))


def written(names: Texts, custom: Numbers, otherwise: NDArray[np.bool_], native: bool) -> Texts:
    """Write names by custom, those of `otherwise` in the second way; `native` leaves the others in Cyrillic."""
    listed = zip(names.tolist(), custom.tolist(), otherwise.tolist(), strict=True)
    made = [None if name is None else _one(name, CUSTOMS[k], second, native) for name, k, second in listed]
    return np.array(made, dtype=object)


@cache
def _one(name: str, custom: str, second: bool, native: bool) -> str:
    if custom == "slavic":
        return name if native and not second else _romanised(name, 2 if second else 1)
    if not second or custom == "english":
        return name
    if custom == "chinese":
        return _wade_giles(name)
    if custom == "arabic":
        return _replaced(name, _FRENCH)
    if custom == "indian":
        return _replaced(name, _INDIAN)
    return plain(_replaced(name, _GERMAN) if custom == "german" else name)


def _replaced(name: str, rules: tuple[tuple[str, str], ...]) -> str:
    """Apply rules one after the other, and keep a capital at the beginning of a word."""
    for old, new in rules:
        name = re.sub(old, partial(_in_case, new), name, flags=re.IGNORECASE)
    return name


def _in_case(new: str, found: re.Match[str]) -> str:
    return new.capitalize() if found[0][0].isupper() else new


@cache
def _letters(column: int) -> dict[str, str]:
    rows = [row.split() for row in _CYRILLIC.split(",")]
    return {row[0]: row[column].replace("-", "") for row in rows}


def _romanised(name: str, column: int) -> str:
    made = (_letters(column).get(letter.lower(), letter) for letter in name)
    return "".join(new.capitalize() if old.isupper() else new for old, new in zip(name, made, strict=True))


def plain(name: str) -> str:
    """Without accents, and with what other letters become."""
    apart = unicodedata.normalize("NFD", _replaced(name, _OTHER_LETTERS))
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


@cache
def _syllables() -> dict[str, str]:
    listed = " ".join(lists()["chinese"].values()).lower().split()
    return {pinyin: other or pinyin for pinyin, _, other in (entry.partition("/") for entry in listed)}


def _wade_giles(name: str) -> str:
    known = sorted(_syllables(), key=len, reverse=True)
    return "-".join(_syllables()[found] for found in re.findall("|".join(known), name.lower())).capitalize()


def one_surname(name: str) -> str:
    """The first of two surnames; a single one as it is."""
    return next((word for word in name.split(" ") if word not in _PARTICLES), name)
