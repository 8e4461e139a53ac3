"""Which columns say what other columns say already: compared as well, their agreement would count twice.

A copy under another name or with other codes, a full name beside its parts, the beginning of a code, a year or an age
beside a date. Only what can be computed of the others is one: that a town follows from a postcode and a sex from a
given name is knowledge of the world, and each was written down by itself, with errors of its own. It must hold in both
files, in more of the rows than in rows of different people.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from gemel.common.specification.model.column_words import described_by, meaning_of
from gemel.coordinator.draft.column_pairs import Pair
from gemel.coordinator.draft.shared_columns import FEW

ROWS = 2_000
"""Rows looked at, evenly spread over a file."""
MIN_ROWS = 30
MOST, NEARLY_ALL = 0.9, 0.98
"""Shares of the rows in which it must hold, above that by chance: of columns whose names mean different things, such as
a surname and a mother's, or birthplace and town, nearly all."""
IN_PARTS = 0.7
"""Share of the rows in which several columns must be in another, which they never are by chance."""
MOST_WORDS = 2 / 3
"""Of its words, those that the several have: a middle name may be left that no column has."""
MOST_ALONE = 0.2
"""Of the rows that have the column, those that lack another of which it is computed: with more it is needed."""
WORDS = 1.5
"""Mean number of words from which a column's values are no codes or single words, of which the beginning is a part."""
_WORD = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?<!\d)(\d{4})(?!\d)|^(\d{4})\d{4}$|^\d\d?[./-]\d\d?[./-](\d\d)$", re.ASCII)
"""Of dates with separators, of ISO without, of dates with years of two digits."""

Values = Sequence[str | None]
Words = Sequence[frozenset[str] | None]


@dataclass(frozen=True)
class _Column:
    """Some rows of a column of one file."""

    values: Values
    words: Words
    length: float
    """Mean number of words."""


def _column(text: pl.Series) -> _Column:
    values: list[str | None] = text.gather_every(max(1, len(text) // ROWS)).to_list()
    words = [frozenset(_WORD.findall((value or "").casefold())) or None for value in values]
    lengths = [len(each) for each in words if each]
    return _Column(values, words, sum(lengths) / max(1, len(lengths)))


def repeated_columns(pairs: Sequence[Pair]) -> dict[int, str]:
    """The pairs of columns that say what others say, by their place, each with the reason.

    Of two that say the same the later one is it; of a whole and its parts the whole. O(pairs^2) times `ROWS`.
    """
    columns = {
        k: (_column(pair.alice_text), _column(pair.bob_text))
        for k, pair in enumerate(pairs)
        if pair.alice_text is not None and pair.bob_text is not None
    }
    found: dict[int, str] = {}
    of_both = ((_of_several, lambda k: -max(column.length for column in columns[k])), (_of_one, lambda k: -k))
    for reason_of, order in of_both:
        for k in sorted(columns.keys() - found.keys(), key=order):
            others = [other for other in columns if other != k and other not in found]
            if reason := reason_of(k, others, columns, pairs):
                found[k] = reason
    return found


Columns = dict[int, tuple[_Column, _Column]]


def _of_several(k: int, others: Sequence[int], columns: Columns, pairs: Sequence[Pair]) -> str:
    """Whether its words are those of several other columns put together."""

    def within(other: int) -> bool:
        return all(
            whole.length > part.length
            and _share(part.words, whole.words, lambda ours, theirs: ours <= theirs) >= IN_PARTS
            for part, whole in zip(columns[other], columns[k], strict=True)
        )

    parts = [other for other in others if within(other)]
    if len(parts) < 2:
        return ""
    for whole, *others_in_file in zip(columns[k], *(columns[part] for part in parts), strict=True):
        rows = zip(whole.words, *(part.words for part in others_in_file), strict=True)
        # What a missing part would have explained is not known.
        known = [row for row in rows if None not in row[1:] or (row[0] or frozenset()) <= _joined(row[1:])]
        if _share([row[0] for row in known], [_joined(row[1:]) or None for row in known], _mostly_in) < IN_PARTS:
            return ""
    return f"{' and '.join(pairs[part].labels[0] for part in parts)} together say the same"


def _joined(parts: Iterable[frozenset[str] | None]) -> frozenset[str]:
    return frozenset().union(*(part for part in parts if part))


def _mostly_in(whole: frozenset[str], joined: frozenset[str]) -> bool:
    return len(whole & joined) >= MOST_WORDS * len(whole)


def _of_one(k: int, others: Sequence[int], columns: Columns, pairs: Sequence[Pair]) -> str:
    for other in others:
        known = [(meaning_of(pairs[n].alice[0]), described_by(pairs[n].alice[0])) for n in (k, other)]
        different = known[0] != known[1] and ("", None) not in known
        needed = NEARLY_ALL if different else MOST
        named = pairs[other].labels[0]
        for holds, reason in (
            (_copied, f"{named} says the same"),
            *([] if different else [(_recoded, f"{named} says the same")]),
            (_beginning, f"the beginning of {named}"),
            (_year_or_age, f"can be computed of {named}"),
        ):
            bar = needed if holds is _copied else MOST
            if all(holds(ours, its, bar) for ours, its in zip(columns[k], columns[other], strict=True)):
                return reason
    return ""


def _share(ours: Sequence[object], theirs: Sequence[object], alike: Callable[..., bool]) -> float:
    """Share of the rows with both values in which they are alike, above that of rows of different people: 1 is always,
    0 no more than these. Nothing where there are few rows, or many with the first value only."""
    rows = [row for row, (a, b) in enumerate(zip(ours, theirs, strict=True)) if None not in (a, b)]
    alone = sum(a is not None for a in ours) - len(rows)
    if len(rows) < MIN_ROWS or alone > MOST_ALONE * (alone + len(rows)):
        return 0.0
    crossed = np.random.default_rng(0).permutation(rows).tolist()
    chance = sum(alike(ours[a], theirs[b]) for a, b in zip(rows, crossed, strict=True)) / len(rows)
    share = sum(alike(ours[row], theirs[row]) for row in rows) / len(rows)
    return (share - chance) / (1 - chance) if chance < 1 else 0.0


def _copied(ours: _Column, its: _Column, needed: float) -> bool:
    return _share(ours.words, its.words, lambda a, b: bool(a == b)) >= needed


def _beginning(ours: _Column, its: _Column, needed: float) -> bool:
    def begins(a: str, b: str) -> bool:
        return b.casefold().startswith(a.casefold()) and len(a) < len(b)

    return its.length < WORDS and _share(ours.values, its.values, begins) >= needed


def _recoded(ours: _Column, its: _Column, needed: float) -> bool:
    """Whether each of few values stands for one of the other column's, and the other way round."""
    both = [(a, b) for a, b in zip(ours.values, its.values, strict=True) if a and b]
    if not 2 <= min(len({a for a, _ in both}), len({b for _, b in both})) <= FEW:
        return False
    pairs = Counter(both)
    often: dict[str, tuple[str, int]] = {}
    for (a, b), n in pairs.items():
        if n > often.get(a, ("", 0))[1]:
            often[a] = (b, n)
    used = Counter(b for b, _ in often.values())
    meant = {a: b for a, (b, _) in often.items() if used[b] == 1}
    return len(meant) > 1 and _share(ours.values, its.values, lambda a, b: meant.get(a) == b) >= needed


def _year_or_age(ours: _Column, its: _Column, needed: float) -> bool:
    """Whether it is the year of a date; or an age, the years from a date, or from a year, to one day. By the last two
    digits of years, since some dates have no more."""
    years = [_year(value) if value else None for value in its.values]
    if sum(year is not None for year in years) < MOST * sum(value is not None for value in its.values):
        return False
    numbers = [int(value) if value and re.fullmatch(r"\d{1,4}", value) else None for value in ours.values]
    dates = any((value and not value.isdigit()) or len(value or "") > 4 for value in its.values)
    if dates and _share(numbers, years, lambda a, b: bool(a % 100 == b)) >= needed:
        return True
    sums = Counter((a + b) % 100 for a, b in zip(numbers, years, strict=True) if a is not None and b is not None)
    now = max(sums, key=lambda total: (sums[total] + sums[(total - 1) % 100], total), default=0)
    return _share(numbers, years, lambda a, b: (now - a - b) % 100 <= 1) >= needed


def _year(value: str) -> int | None:
    found = _YEAR.search(value)
    return int(found[1] or found[2] or found[3]) % 100 if found else None
