"""Columns of one file that belong together: a date's year, month and day; the parts of a name or an address."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from gemel.coordinator.draft.column_meanings import PARTS, meaning_of, part_of_date

_RANGES = {"year": (1850, 2100), "month": (1, 12), "day": (1, 31)}
_VALID = 0.95
"""Share of the values of a part that must lie in its range."""
WHOLES: dict[str, tuple[str, ...]] = {
    "full_name": ("given_name", "surname"),
    "address": ("house_number", "street"),
}
"""What one file may have in one column and the other in several, in the order in which they are joined."""


@dataclass(frozen=True)
class Composed:
    """Several columns of a file that are compared as one.

    Attributes
    ----------
    columns
        In the order in which they are joined; of a date, year, month and day.
    meaning
        What they mean together: ``birth`` or another date's name, or a meaning such as ``full_name``.
    text
        Their values joined: a date as ``YYYY-MM-DD``, null where a part is missing.
    """

    columns: tuple[str, ...]
    meaning: str
    text: pl.Series

    @property
    def label(self) -> str:
        """The columns' names, for people."""
        return " + ".join(self.columns)


def dates_in_parts(texts: Mapping[str, pl.Series | None]) -> list[Composed]:
    """The dates whose year, month and day are columns of their own, by the columns' names and checked by their values.

    A date of which a part is missing, or named twice, is none.
    """
    named: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for column, text in texts.items():
        found = part_of_date(column)
        if found is not None and text is not None and _is_part(text, found[0]):
            named[found[1]][found[0]].append(column)
    dates = []
    for date, parts in named.items():
        if all(len(parts[part]) == 1 for part in PARTS):
            columns = tuple(parts[part][0] for part in PARTS)
            dates.append(Composed(columns, date, _iso(*(texts[column] for column in columns))))
    return dates


def _is_part(text: pl.Series, part: str) -> bool:
    there = text.drop_nulls()
    low, high = _RANGES[part]
    numbers = there.cast(pl.Int64, strict=False)
    valid = int(numbers.is_between(low, high).sum())
    return valid > 0 and valid >= _VALID * len(there)


def _iso(*parts: pl.Series | None) -> pl.Series:
    numbers = [part.cast(pl.Int64, strict=False).cast(pl.String) for part in parts if part is not None]
    padded = [number.str.zfill(width) for number, width in zip(numbers, (4, 2, 2), strict=True)]
    return pl.select(pl.concat_str(*map(pl.lit, padded), separator="-")).to_series()


def wholes_of_parts(texts: Mapping[str, pl.Series | None]) -> Iterator[Composed]:
    """Names and addresses that a file has in several columns, each meaning found once."""
    by_meaning: dict[str, list[str]] = defaultdict(list)
    for column, text in texts.items():
        if text is not None:
            by_meaning[meaning_of(column)].append(column)
    for whole, parts in WHOLES.items():
        if all(len(by_meaning[part]) == 1 for part in parts):
            columns = tuple(by_meaning[part][0] for part in parts)
            joined = pl.DataFrame({str(place): texts[column] for place, column in enumerate(columns)})
            text = joined.select(pl.concat_str(pl.all(), separator=" ", ignore_nulls=True)).to_series()
            yield Composed(columns, whole, text.set(text == "", None))
