"""Put errors into a share of a file's records, as clerks, scanners and life itself do.

A record to be corrupted gets one error, and often more (one plus a Poisson number). Each error is of a kind drawn
from `KINDS`, in a field that the kind can befall. To know what was done, call `damage`, which returns
a list of the errors beside the frame.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.coordinator.demonstration.people.names import draw_addresses, name_tables, words

#: Given name to its short forms.
NICKNAMES: dict[str, tuple[str, ...]] = {
    name: tuple(short) for name, *short in (entry.split() for entry in words()["nicknames"].split(";"))
}


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
    i = int(at * len(value))
    return value[:i] + value[i + 1 :] if len(value) > 1 else value


def substitute(value: str, at: float, choice: float) -> str:
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
    error.__name__: error
    for error in (insert, delete, substitute, transpose, misread, mishear, restyle, swap_day_and_month, misdate)
}


def _replaced(value: str, pairs: tuple[tuple[str, str], ...], at: float) -> str:
    # Also places that overlap.
    places = [
        (found.start(), old, new) for old, new in pairs for found in re.finditer(f"(?={old})", value, re.IGNORECASE)
    ]
    if not places:
        return value
    i, old, new = places[int(at * len(places))]
    return value[:i] + (new.capitalize() if value[i].isupper() else new) + value[i + len(old) :]


Columns = dict[str, NDArray[np.object_]]
Rows = NDArray[np.int64]

_WORDS = ("given_name", "surname", "street", "town")
_TYPED = (*_WORDS, "house_number", "postcode", "phone")

#: Kind of error: how often it occurs among errors, and the fields that it befalls (one of them, drawn evenly).
KINDS: dict[str, tuple[float, tuple[str, ...]]] = {
    "insert": (0.10, _TYPED),
    "delete": (0.10, _TYPED),
    "substitute": (0.14, _TYPED),
    "transpose": (0.10, _TYPED),
    "misread": (0.06, _TYPED),
    "mishear": (0.08, _WORDS),
    "restyle": (0.05, _WORDS),
    "swap_day_and_month": (0.05, ("date_of_birth",)),
    "misdate": (0.06, ("date_of_birth",)),
    "missing": (0.08, (*_TYPED, "sex", "date_of_birth")),
    "moved": (0.07, ("street",)),
    "nickname": (0.06, ("given_name",)),
    "new_surname": (0.03, ("surname",)),
    "swapped_names": (0.02, ("given_name",)),
    "miscoded": (0.01, ("sex",)),
}


def corrupt(
    frame: pl.DataFrame, rng: np.random.Generator, share: float = 0.2, errors_per_record: float = 1.5
) -> pl.DataFrame:
    """The same records in the same order, exactly ``round(share * n)`` of them with errors; a date of birth may then be
    none.

    `errors_per_record` is the mean number of errors in a changed record, at least 1. Columns that ``generate`` does not
    make are left alone.
    """
    return damage(frame, rng, share, errors_per_record)[0]


def damage(
    frame: pl.DataFrame, rng: np.random.Generator, share: float = 0.2, errors_per_record: float = 1.5
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Do as ``corrupt`` does and also return what was done: columns ``row``, ``kind`` and ``field``."""
    if not 0.0 <= share <= 1.0:
        raise parameter("corrupt", "share must be in [0, 1]", str(share))
    if errors_per_record < 1.0:
        raise parameter("corrupt", "errors_per_record must be at least 1", str(errors_per_record))
    rows = np.sort(rng.choice(frame.height, size=round(share * frame.height), replace=False))
    fields = sorted({field for _, befalls in KINDS.values() for field in befalls})
    picked = frame.select(fields)[rows]
    columns: Columns = {name: picked[name].to_numpy().astype(object) for name in fields}
    before = {name: values.copy() for name, values in columns.items()}

    done: list[tuple[Rows, str, NDArray[np.object_]]] = []
    names = list(KINDS)
    weights = np.array([weight for weight, _ in KINDS.values()])
    errors = 1 + rng.poisson(errors_per_record - 1.0, size=len(rows))
    for round_ in range(int(errors.max(initial=0))):
        sufferers = np.flatnonzero(errors > round_)
        drawn = rng.choice(len(names), size=len(sufferers), p=weights / weights.sum())
        for k, kind in enumerate(names):
            here = sufferers[drawn == k]
            if len(here):
                done.append((here, kind, _befall(kind, columns, here, rng)))
    done.append(_make_sure(columns, before, len(rows), rng))

    changed = pl.DataFrame({name: values.tolist() for name, values in columns.items()}, schema=picked.schema)
    log = pl.concat(
        pl.DataFrame(
            {"row": rows[here], "kind": [kind] * len(here), "field": field.tolist()},
            schema={"row": pl.Int64, "kind": pl.String, "field": pl.String},
        )
        for here, kind, field in done
    )
    result = frame.with_columns(
        frame[name].scatter(rows.tolist(), changed[name]) if len(rows) else frame[name] for name in fields
    )
    return result, log


def _befall(kind: str, columns: Columns, here: Rows, rng: np.random.Generator) -> NDArray[np.object_]:
    """Apply one kind of error to the given rows, and return the field of each."""
    befalls = np.array(KINDS[kind][1], dtype=object)
    field: NDArray[np.object_] = befalls[rng.integers(0, len(befalls), size=len(here))]
    if kind in _WHOLE:
        _WHOLE[kind](columns, here, rng)
        return field
    at, choice = rng.random(len(here)), rng.random(len(here))
    for name in KINDS[kind][1]:
        chosen = np.flatnonzero(field == name)
        values = columns[name]
        for j in chosen.tolist():
            value = values[here[j]]
            if value is not None:
                values[here[j]] = None if kind == "missing" else ERRORS[kind](value, at[j], choice[j])
    return field


def _make_sure(
    columns: Columns, before: Columns, n: int, rng: np.random.Generator
) -> tuple[Rows, str, NDArray[np.object_]]:
    """Mistype a value of every row that came through unharmed: a swapped 3 March, or two errors that cancel."""
    unharmed = np.ones(n, dtype=np.bool_)
    for name, values in columns.items():
        unharmed &= values == before[name]
    rows = np.flatnonzero(unharmed)
    at, choice = rng.random(len(rows)), rng.random(len(rows))
    field = np.full(len(rows), "surname", dtype=object)
    for j, row in enumerate(rows.tolist()):
        for name in ("surname", "given_name", "town", "street", "postcode"):
            value = columns[name][row]
            if value:
                field[j] = name
                columns[name][row] = substitute(value, at[j], choice[j])
                break
    return rows, "substitute", field


def _move(columns: Columns, here: Rows, rng: np.random.Generator) -> None:
    elsewhere, _ = draw_addresses(len(here), rng)
    far = rng.random(len(here)) < 0.5
    # Half of those who move stay in their town, and the postcode with them.
    for name, values in elsewhere.items():
        stay = name in ("town", "postcode")
        columns[name][here[far] if stay else here] = values[far] if stay else values


def _shorten(columns: Columns, here: Rows, rng: np.random.Generator) -> None:
    choice, initial = rng.random(len(here)), rng.random(len(here)) < 0.25
    values = columns["given_name"]
    for j, row in enumerate(here.tolist()):
        name = values[row]
        if name:
            short = NICKNAMES.get(name, ())
            values[row] = name[0] if initial[j] or not short else short[int(choice[j] * len(short))]


def _rename(columns: Columns, here: Rows, rng: np.random.Generator) -> None:
    columns["surname"][here] = name_tables()["surname"].draw(len(here), rng)


def _swap_names(columns: Columns, here: Rows, rng: np.random.Generator) -> None:
    given, surname = columns["given_name"][here], columns["surname"][here]
    columns["given_name"][here], columns["surname"][here] = surname, given


def _miscode(columns: Columns, here: Rows, rng: np.random.Generator) -> None:
    sex = columns["sex"]
    sex[here] = [{"F": "M", "M": "F"}.get(code) for code in sex[here]]


_WHOLE: dict[str, Callable[[Columns, Rows, np.random.Generator], None]] = {
    "moved": _move,
    "nickname": _shorten,
    "new_surname": _rename,
    "swapped_names": _swap_names,
    "miscoded": _miscode,
}
