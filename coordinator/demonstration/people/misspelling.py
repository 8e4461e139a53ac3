"""Errors within one value: slips of the finger, misread print, spelling by ear, capitals and accents.

Each function takes a value and a position in it (a number in [0, 1) that is drawn by the caller) and returns the
changed value, or the value itself where the error cannot occur in it. They draw nothing, so that a caller may draw
for thousands of values at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

_ROWS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")

_LOOKALIKES = (
    ("rn", "m"), ("m", "rn"), ("cl", "d"), ("d", "cl"), ("vv", "w"), ("w", "vv"), ("o", "0"), ("0", "o"), ("l", "1"),
    ("1", "l"), ("i", "l"), ("s", "5"), ("5", "s"), ("8", "b"), ("b", "8"), ("g", "9"), ("9", "g"), ("z", "2"),
    ("2", "z"), ("e", "c"), ("c", "e"), ("h", "b"), ("u", "v"), ("v", "u"), ("n", "ri"), ("6", "8"), ("3", "8"),
)  # fmt: skip
_SOUNDS = (
    ("ph", "f"), ("ck", "k"), ("ie", "y"), ("y", "i"), ("ei", "ie"), ("ey", "y"), ("ee", "ea"), ("ll", "l"),
    ("tt", "t"), ("nn", "n"), ("ss", "s"), ("rr", "r"), ("c", "k"), ("k", "c"), ("s", "z"), ("z", "s"), ("sch", "sh"),
    ("wr", "r"), ("kn", "n"), ("th", "t"), ("e", "a"), ("o", "u"), ("er", "ar"), ("on", "en"), ("x", "ks"),
)  # fmt: skip
_ACCENTS = {"a": "á", "e": "é", "i": "í", "o": "ö", "u": "ü", "n": "ñ", "c": "ç"}


def _neighbours() -> dict[str, str]:
    near: dict[str, str] = {}
    for r, row in enumerate(_ROWS):
        for c, key in enumerate(row):
            found = [row[k] for k in (c - 1, c + 1) if 0 <= k < len(row)]
            # A row lies half a key to the right of the one above; digits are mistyped for digits only.
            found += [_ROWS[r + 1][k] for k in (c - 1, c) if 0 < r < 3 and 0 <= k < len(_ROWS[r + 1])]
            found += [_ROWS[r - 1][k] for k in (c, c + 1) if r > 1 and k < len(_ROWS[r - 1])]
            near[key] = "".join(found)
    return near


#: Keys beside each key of the English keyboard.
NEIGHBOURS = _neighbours()


def insert(value: str, at: float, choice: float) -> str:
    """Strike a key twice, or its neighbour with it."""
    i = int(at * len(value))
    near = value[i].lower() + NEIGHBOURS.get(value[i].lower(), "")
    return value[: i + 1] + near[int(choice * len(near))] + value[i + 1 :]


def delete(value: str, at: float, choice: float) -> str:
    """Leave a character out, of a value that has at least two."""
    i = int(at * len(value))
    return value[:i] + value[i + 1 :] if len(value) > 1 else value


def substitute(value: str, at: float, choice: float) -> str:
    """Strike the key beside the right one."""
    i = int(at * len(value))
    near = NEIGHBOURS.get(value[i].lower(), "eations")
    key = near[int(choice * len(near))]
    return value[:i] + (key.upper() if value[i].isupper() else key) + value[i + 1 :]


def transpose(value: str, at: float, choice: float) -> str:
    """Strike two keys in the wrong order, where they differ."""
    if len(value) < 2:
        return value
    i = int(at * (len(value) - 1))
    first, second = value[i], value[i + 1]
    if first.isupper() and second.islower():
        first, second = first.lower(), second.upper()
    return value[:i] + second + first + value[i + 2 :]


def misread(value: str, at: float, choice: float) -> str:
    """Read print wrongly, as a scanner does: rn for m, 0 for o."""
    return _replaced(value, _LOOKALIKES, at)


def mishear(value: str, at: float, choice: float) -> str:
    """Spell by ear: f for ph, k for c, one letter for two."""
    return _replaced(value, _SOUNDS, at)


def restyle(value: str, at: float, choice: float) -> str:
    """Write in capitals, in small letters, with an accent or with a blank too many."""
    style = int(choice * 4)
    if style == 0:
        return value.upper()
    if style == 1:
        return value.lower()
    if style == 2:
        places = [i for i, message in enumerate(value) if message in _ACCENTS]
        if places:
            i = places[int(at * len(places))]
            return value[:i] + _ACCENTS[value[i]] + value[i + 1 :]
    return value + " "


def swap_day_and_month(value: str, at: float, choice: float) -> str:
    """Exchange day and month of a ``YYYY-MM-DD``, where both orders are dates and they differ."""
    year, month, day = value.split("-") if value.count("-") == 2 else ("", "", "")
    return f"{year}-{day}-{month}" if day.isdigit() and 1 <= int(day) <= 12 else value


def misdate(value: str, at: float, choice: float) -> str:
    """Change one digit of a ``YYYY-MM-DD``, the first two of the year excepted; the result may be no date."""
    places = [i for i, digit in enumerate(value) if digit in NEIGHBOURS and digit.isdigit() and i > 1]
    if not places:
        return value
    i = places[int(at * len(places))]
    near = NEIGHBOURS[value[i]]
    return value[:i] + near[int(choice * len(near))] + value[i + 1 :]


#: Every error of this module, by name.
ERRORS: dict[str, Callable[[str, float, float], str]] = {
    "insert": insert,
    "delete": delete,
    "substitute": substitute,
    "transpose": transpose,
    "misread": misread,
    "mishear": mishear,
    "restyle": restyle,
    "swap_day_and_month": swap_day_and_month,
    "misdate": misdate,
}


def _replaced(value: str, pairs: tuple[tuple[str, str], ...], at: float) -> str:
    lower = value.lower()
    places = [(i, old, new) for old, new in pairs for i in _finds(lower, old)]
    if not places:
        return value
    i, old, new = places[int(at * len(places))]
    return value[:i] + (new.capitalize() if value[i].isupper() else new) + value[i + len(old) :]


def _finds(text: str, part: str) -> Iterator[int]:
    i = text.find(part)
    while i >= 0:
        yield i
        i = text.find(part, i + 1)
