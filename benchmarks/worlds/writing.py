"""How names are written: in their script, romanised in one way or another, with accents or without.

The tables are short forms of usual ones: Cyrillic as in passports (ICAO, Doc 9303) and by ISO 9 (1995); Arabic as
English and as French speakers write it; Chinese in Pinyin and by Wade and Giles; what German, Icelandic and other
letters become where a keyboard lacks them. Indian names have several spellings in Latin letters.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.worlds.naming import CUSTOMS, Texts, lists
from benchmarks.worlds.population import Numbers

_CYRILLIC = "а б в г д е ё ж з и й к л м н о п р с т у ф х ц ч ш щ ъ ы ь э ю я".split()
_PASSPORT = "a b v g d e e zh z i i k l m n o p r s t u f kh ts ch sh shch ie y - e iu ia".split()
_ISO_9 = "a b v g d e ë ž z i j k l m n o p r s t u f h c č š ŝ ʺ y ʹ è û â".split()

_FRENCH = (("al-", "El "), ("ee", "i"), ("ou", "u"), ("aa", "a"), ("sh", "ch"), ("j", "dj"), ("w", "ou"), ("q", "k"))
_INDIAN = (("sh", "s"), ("ee", "i"), ("oo", "u"), ("aa", "a"), ("v", "w"), ("th", "t"), ("ksh", "x"), ("y", "i"))
_GERMAN = (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss"))
_OTHER_LETTERS = (("þ", "th"), ("ð", "d"), ("æ", "ae"), ("ı", "i"), ("đ", "d"), ("ø", "o"))


def written(names: Texts, custom: Numbers, otherwise: NDArray[np.bool_], native: bool) -> Texts:
    """Write names by custom, those of `otherwise` in the second way; `native` leaves the others in Cyrillic."""
    listed = zip(names.tolist(), custom.tolist(), otherwise.tolist(), strict=True)
    made = [None if name is None else _one(name, CUSTOMS[k], second, native) for name, k, second in listed]
    return np.array(made, dtype=object)


@cache
def _one(name: str, custom: str, second: bool, native: bool) -> str:
    if custom == "slavic":
        return name if native and not second else _romanised(name, _ISO_9 if second else _PASSPORT)
    if not second or custom == "english":
        return name
    if custom == "chinese":
        return _wade_giles(name)
    if custom == "arabic":
        return _replaced(name, (*_FRENCH, ("u", "ou")))
    if custom == "indian":
        return _replaced(name, _INDIAN)
    return _plain(_replaced(name, _GERMAN) if custom == "german" else name)


def _replaced(name: str, rules: tuple[tuple[str, str], ...]) -> str:
    """Apply rules one after the other, and keep a capital at the beginning of a word."""
    for old, new in rules:
        name = re.sub(old, lambda found, new=new: new.capitalize() if found[0][0].isupper() else new, name, flags=re.I)
    return name


def _romanised(name: str, letters: list[str]) -> str:
    table = dict(zip(_CYRILLIC, ("" if letter == "-" else letter for letter in letters), strict=True))
    made = (table.get(letter.lower(), letter) for letter in name)
    return "".join(new.capitalize() if old.isupper() else new for old, new in zip(name, made, strict=True))


def _plain(name: str) -> str:
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


@cache
def _particles() -> frozenset[str]:
    return frozenset(("da", "de", "do", "dos", "das"))


def one_surname(name: str) -> str:
    """The first of two surnames; a single one as it is."""
    return next((word for word in name.split(" ") if word not in _particles()), name)
