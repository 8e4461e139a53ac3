"""Values that stand for one that is not known, such as the first of January 1900, found by their form and how often
they occur.

A value is proposed as missing only where both say it: its form is one that people and programs put where they know
nothing, and it occurs far more often than the values of the column do. So no value of a person gets into a
specification, and neither a common name nor a large town is taken for missing. Of another value that is as frequent the
draft says no more than that there is one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from gemel.common.specification.model.defaults import KINDS, Describes, Kind
from gemel.common.specification.model.fields import DateFormat
from gemel.custodian.cleaning.definition import folded, parse_date

MIN_COUNT, MIN_SHARE = 5, 0.003
TIMES = 5
"""How many times as often as the third most frequent value of another form: a person who is in a file many times makes
one value frequent, not three."""
FREQUENT = 0.03
"""Share of the rows from which another value is worth a word."""
MANY = 30
"""Distinct values from which a column is one in which none is frequent by its nature."""
_WORDS = frozenset(folded(word) for word in (
    "unknown", "unbekannt", "inconnu", "inconnue", "desconocido", "desconocida", "sconosciuto", "sconosciuta",
    "onbekend", "not given", "no name", "noname", "nn", "n.n.", "none", "null", "test", "xx", "xxx", "xxxx", "baby",
    "newborn", "no fixed abode", "no address", "homeless", "keine", "keine angabe", "ohne festen wohnsitz", "aucun",
    "sans domicile fixe", "sdf", "ninguno", "nessuno", "geen",
))  # fmt: skip
_NO_EMAIL = re.compile(r"(none|no|noemail|no-?reply|unknown|test|na|x+)@[a-z0-9.-]+")
_NO_BIRTH = re.compile(r"0+|9{2,4}|1111|1[89]0[01]")
_ONE_DIGIT = re.compile(r"(\d)\1{3,}")
_RUNS = ("0123456789", "9876543210")


@dataclass(frozen=True)
class Placeholders:
    values: tuple[str, ...]
    """As the field's `missing` has them."""
    share: float
    """Of the rows of a file that have one."""
    other: float
    """Of the rows that have the most frequent of the other values, where it is far more frequent than the next."""


def placeholders(text: pl.Series, kind: Kind, describes: Describes, date: DateFormat | None) -> Placeholders:
    """Those of a column of one file; a date with its file's order (`DateFormat.read_order`)."""
    written = _form(kind, describes, date)
    counted = text.alias("value").drop_nulls().value_counts(name="n").sort("n", "value", descending=[True, False])
    counts: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for value, n in counted.iter_rows():
        if meant := written(value):
            counts[meant] += n
        else:
            others[value] = n
    least = max(MIN_COUNT, MIN_SHARE * len(text))
    distinct = kind in ("date", "number", "code")
    known = {folded(code) for code in KINDS[kind].missing}
    found = sorted(
        value
        for value, n in counts.items()
        if value not in known and n >= max(least, TIMES * _usual(value, others, counts, describes) if distinct else 0)
    )
    share = sum(counts[value] for value in found) / max(1, len(text))
    often = distinct and counted.height >= MANY and _third(others) and max(others.values()) >= TIMES * _third(others)
    other = max(others.values()) / len(text) if often else 0.0
    return Placeholders(tuple(found), share, other if other >= FREQUENT else 0.0)


def _third(counts: Counter[str]) -> int:
    return min((n for _, n in counts.most_common(3)), default=0) if len(counts) > 2 else 0


def _usual(value: str, others: Counter[str], alike: Counter[str], describes: Describes) -> int:
    """How often a value of a column may be by its nature: a year or an age as those next to it, any other as the third
    most frequent. The first of January of any year has the form: one must be frequent among them."""
    if describes == "birth" and value.isdigit():
        return max((others[str(int(value) + step)] for step in range(-TIMES, TIMES + 1)), default=0)
    return max(_third(others), _third(alike))


def _form(kind: Kind, describes: Describes, date: DateFormat | None) -> Callable[[str], str | None]:
    """What a value is in `missing` if it has the form of a placeholder, else nothing."""
    if date is not None:
        return lambda value: _of_date(value, date)
    if kind in ("number", "code"):
        return _of_birth if describes == "birth" else _of_digits
    return _of_text if kind in ("name", "text") and describes in ("name", "family", "household") else lambda _: None


def _of_date(value: str, date: DateFormat) -> str | None:
    found = parse_date(value, date.read_order, date.latest_year)
    if found is None or not (found[1:] in ((1, 1), (12, 31)) or found in ((1899, 12, 30), (1111, 11, 11))):
        return None
    return "{:04d}-{:02d}-{:02d}".format(*found)


def _of_birth(value: str) -> str | None:
    return value if _NO_BIRTH.fullmatch(value) else None


def _of_digits(value: str) -> str | None:
    is_run = len(value) > 3 and any(value in run for run in _RUNS)
    return value if is_run or _ONE_DIGIT.fullmatch(value) else None


def _of_text(value: str) -> str | None:
    text = folded(value)
    return text if text in _WORDS or _NO_EMAIL.fullmatch(text) else None
