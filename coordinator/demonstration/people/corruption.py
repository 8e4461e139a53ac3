"""Put errors into a share of a file's records, as clerks, scanners and life itself do.

A record to be corrupted gets one error, and often more (one plus a Poisson number). Each error is of a kind drawn
from `KINDS`, in a field that the kind can befall. To know what was done, call `damage`, which returns
a list of the errors beside the frame.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import parameter

from .misspelling import ERRORS, substitute
from .names import name_tables
from .nicknames import NICKNAMES
from .places import draw_addresses

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
    """Return `frame` with errors in a share of its records.

    Parameters
    ----------
    frame : polars.DataFrame
        People as ``generate`` makes them; further columns are left alone.
    rng : numpy.random.Generator
        Decides which records, and which errors.
    share : float
        Share of the records to be changed, in [0, 1]; exactly ``round(share * n)`` records are.
    errors_per_record : float
        Mean number of errors in a changed record, at least 1.

    Returns
    -------
    polars.DataFrame
        The same records in the same order. A date of birth may then be no date.

    Raises
    ------
    GemelError
        If `share` or `errors_per_record` is out of its range.
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
    elsewhere = draw_addresses(len(here), rng).at(np.arange(len(here)))
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
