"""A custodian's records as they were read: columns of text, and where in the source each row was found.

Whatever the source, a cell is text without blanks at its ends, or null. Positions serve messages: an error names the
line or row where it is, never the value.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError, GemelErrors, file_error
from gemel.common.language.message_words import closest

SHOWN = 5
"""How many positions a message names."""


@dataclass(frozen=True)
class Positions:
    """Where the rows of a table are: `numbers` is int64, shape (n_rows,), the 1-based ``line`` or ``row`` of each."""

    numbers: NDArray[np.int64] = field(repr=False)
    unit: str = "row"

    @classmethod
    def of_rows(cls, n_rows: int) -> Positions:
        return cls(np.arange(1, n_rows + 1, dtype=np.int64))


class Found:
    """Rows found in the tables of a source, one after the other: how many, and where the first are.

    Examples
    --------
    >>> found = Found()
    >>> found.add(Positions(np.array([2, 3, 4]), "line"), np.array([False, True, True]))
    >>> str(found)
    'lines 3, 4'
    """

    def __init__(self) -> None:
        self.count = 0
        self._first: list[int] = []
        self._unit = "row"

    def add(self, positions: Positions, chosen: NDArray[np.bool_]) -> None:
        here = positions.numbers[chosen]
        self.count += len(here)
        self._unit = positions.unit
        self._first += here[: SHOWN - len(self._first)].tolist()

    def __str__(self) -> str:
        shown = ", ".join(map(str, self._first))
        return f"{self._unit}{'s' if self.count > 1 else ''} {shown}{', ...' if self.count > SHOWN else ''}"


NO_COLUMN_FOUND = "check that the first line holds the names of the columns, and the separator"
"""The remedy where none of the selected columns is there."""


@dataclass(frozen=True)
class SourceTable:
    """The requested columns, and nothing else.

    `frame` has one text column per requested column, in the order of the request; `positions`, shape (n_rows,), the
    1-based line (CSV) or row (Parquet, database) of every row; `unit` is ``line`` or ``row``, `where` the source.
    """

    frame: pl.DataFrame = field(repr=False)
    positions: NDArray[np.int64] = field(repr=False)
    unit: str
    where: str

    @property
    def n_rows(self) -> int:
        return self.frame.height

    @property
    def places(self) -> Positions:
        return Positions(self.positions, self.unit)

    def slices(self, rows: int) -> Iterator[SourceTable]:
        """The table in parts of at most so many rows; itself if it has no more."""
        if self.n_rows <= rows:
            yield self
            return
        for begin in range(0, self.n_rows, rows):
            part = self.frame.slice(begin, rows)
            yield SourceTable(part, self.positions[begin : begin + rows], self.unit, self.where)


def joined(tables: Iterable[SourceTable]) -> SourceTable:
    """The tables of a source, at least one, as a single one."""
    parts = list(tables)
    if len(parts) == 1:
        return parts[0]
    positions = np.concatenate([part.positions for part in parts])
    return SourceTable(pl.concat([part.frame for part in parts]), positions, parts[0].unit, parts[0].where)


def trimmed(column: pl.Series) -> pl.Series:
    """The column with blanks at the ends of its cells dropped and empty cells made null."""
    stripped = column.str.strip_chars()
    return stripped.set(stripped == "", None)


def line_tables(
    rows: Iterable[tuple[int, Sequence[str | None]]], names: Sequence[str], where: str, at_once: int
) -> Iterator[SourceTable]:
    """Tables of so many rows, each with the line it is in; the last one has the rest, which may be none."""
    left = iter(rows)
    while True:
        part = list(islice(left, at_once))
        cells: Iterable[Sequence[str | None]] = (
            zip(*(row for _, row in part), strict=True) if part else [()] * len(names)
        )
        lines = np.array([line for line, _ in part], dtype=np.int64)
        columns = [trimmed(pl.Series(*column, dtype=pl.String)) for column in zip(names, cells, strict=True)]
        yield SourceTable(pl.DataFrame(columns), lines, "line", where)
        if len(part) < at_once:
            return


def unreadable(path: Path, error: OSError, remedy: str = "check the path and the file's permissions") -> GemelError:
    """The error (SOURCE) for a file that the operating system refuses."""
    return file_error(ErrorCode.SOURCE, "cannot be read", path, error, remedy, inline=True)


def can_shorten(column: pl.Series) -> bool:
    """Whether the numbers of a column are all whole, or its times of day all midnight; of other types it says nothing.
    Whether a column as a whole can follows from its parts."""
    kind = column.dtype
    if kind.is_float() or isinstance(kind, pl.Decimal):
        whole = (column.fill_nan(None) if kind.is_float() else column).drop_nulls()
        return bool((whole == whole.round(0)).all()) and bool((whole.abs() < 2**53).all())
    if isinstance(kind, pl.Datetime):
        return bool((column.drop_nulls().dt.time() == datetime.time()).all()) if column.len() else True
    return True


def as_text(column: pl.Series, where: str, shorten: bool | None = None) -> pl.Series:
    """A typed column, or a part of one, as text, the way a person would write it in a CSV file.

    Whole numbers stored as floating point (as a file with gaps often has them) lose their ``.0``, dates are written
    ``YYYY-MM-DD``, and a time of day that is midnight throughout is left out. `shorten` is whether the whole column can
    be written so (`can_shorten`); None: this is the whole. Raises `GemelError`: SOURCE for a type that has no one text,
    such as a list or bytes.
    """
    kind = column.dtype
    if kind == pl.String:
        return trimmed(column)
    if kind in (pl.Categorical, pl.Enum) or kind.is_integer() or kind in (pl.Boolean, pl.Null):
        return trimmed(column.cast(pl.String))
    if shorten is None:
        shorten = can_shorten(column)
    if kind.is_float() or isinstance(kind, pl.Decimal):
        column = column.fill_nan(None) if kind.is_float() else column
        return column.cast(pl.Int64).cast(pl.String) if shorten else column.cast(pl.String)
    if kind == pl.Date:
        return column.dt.to_string("%Y-%m-%d")
    if isinstance(kind, pl.Datetime):
        return column.dt.to_string("%Y-%m-%d" if shorten else "%Y-%m-%dT%H:%M:%S")
    if kind == pl.Time:
        return column.dt.to_string("%H:%M:%S")
    what = f"column '{column.name}' is of a type that has no text form"
    remedy = "store it as text, number or date"
    raise GemelError(ErrorCode.SOURCE, what, where=where, got=str(kind.base_type().__name__), remedy=remedy)


def numbers_of(column: pl.Series) -> pl.Series:
    """A text column as whole or floating-point numbers, where all its values are written as such."""
    there = column.drop_nulls()
    if not len(there) or not there.str.contains(r"^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$").all():
        return column
    whole = column.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == column.null_count() else column.cast(pl.Float64)


def require_columns(
    available: Sequence[str], selected: Sequence[str] | None, where: str, none_found: str = NO_COLUMN_FOUND
) -> Sequence[str]:
    """The selected columns, or all; refuses a source in which some are missing or ambiguous, with the remedy
    `none_found` if all are missing. Raises `GemelError`: FIELD_MISSING for every missing column at once; SOURCE for a
    selected name that occurs twice."""
    selected = available if selected is None else selected
    present = set(available)
    missing = [name for name in selected if name not in present]
    # If no selected name was found, the first line may hold a record instead of names, and no part of it may be shown.
    has_header = len(missing) < len(set(selected))
    errors: list[GemelError] = []
    for name in missing:
        near = closest(name, sorted(present)) if has_header else None
        remedy = f"did you mean '{near}'?" if near else "name a column that is there"
        errors.append(GemelError(ErrorCode.FIELD_MISSING, f"there is no column '{name}'", where=where, remedy=remedy))
    if missing and not has_header:
        what = f"none of the columns of the specification was found ({', '.join(map(repr, missing))})"
        got = f"{len(available)} other columns"
        raise GemelError(ErrorCode.FIELD_MISSING, what, where=where, got=got, remedy=none_found)
    for name in dict.fromkeys(selected):
        if (count := list(available).count(name)) > 1:
            what, remedy = f"column '{name}' occurs {count} times", "rename all but one of them"
            errors.append(GemelError(ErrorCode.SOURCE, what, where=where, remedy=remedy))
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise GemelErrors(errors[0].code, errors, where=where)
    return selected


def no_records(where: str) -> GemelError:
    """The error (EMPTY_SOURCE) for a source without records."""
    remedy = "check that the right file or query is configured"
    return GemelError(ErrorCode.EMPTY_SOURCE, "the source has column names but no records", where=where, remedy=remedy)


def check_identifiers(table: SourceTable, column: str) -> pl.Series:
    """The custodian's own identifiers, shape (n_rows,), none missing and none repeated. Raises `GemelError`:
    DUPLICATE_IDENTIFIER, with counts and positions and never the identifier."""
    identifiers = table.frame.get_column(column)
    missing = identifiers.is_null().to_numpy()
    repeated = identifiers.is_duplicated().to_numpy() & ~missing
    without, twice = Found(), Found()
    without.add(table.places, missing)
    twice.add(table.places, repeated)
    refuse_identifiers(column, table.where, without, twice, identifiers.filter(pl.Series(repeated)).n_unique())
    return identifiers


def refuse_identifiers(column: str, where: str, without: Found, repeated: Found, distinct: int) -> None:
    """Refuse a source with rows without an identifier, or with so many identifiers that several rows have. Raises
    `GemelError`: DUPLICATE_IDENTIFIER."""
    problems = []
    if without.count:
        problems.append(f"{without.count} rows without one ({without})")
    if repeated.count:
        problems.append(f"{distinct} identifiers on {repeated.count} rows ({repeated})")
    if problems:
        what = f"every row needs an identifier of its own in column '{column}'"
        remedy = "give every record one row with its own identifier, or name another column as the identifier"
        raise GemelError(ErrorCode.DUPLICATE_IDENTIFIER, what, where=where, got=" and ".join(problems), remedy=remedy)


def frame_parts(read: Callable[[int, int], pl.DataFrame], at_once: int) -> Iterator[pl.DataFrame]:
    """The frames that `read` gives from a row on, of so many rows; one without rows for a file without any."""
    begin, height = 0, at_once
    while height == at_once:
        frame = read(begin, at_once)
        height = frame.height
        if height or not begin:
            yield frame
        begin += height


Frames = Callable[[Sequence[str]], Iterator[pl.DataFrame]]
"""Reads some columns of a file from its beginning, in parts: one at least, which may be without rows."""


def text_tables(
    stored: Sequence[str], undecided: Collection[str], frames: Frames, columns: Sequence[str] | None, where: str
) -> Iterator[SourceTable]:
    """The selected columns of a file, or all, as text; `undecided` ones are read twice."""
    names = [name.strip() for name in stored]
    columns = require_columns(names, columns, where)
    own: Mapping[str, str] = dict(zip(names, stored, strict=True))
    used = [own[name] for name in columns]
    twice = [name for name in used if name in undecided]
    shorten = dict.fromkeys(used, True)
    for frame in frames(twice) if twice else ():
        shorten |= {name: shorten[name] and can_shorten(frame[name]) for name in twice}
    before = 0
    for frame in frames(used):
        text = pl.DataFrame([as_text(frame[own[name]], where, shorten[own[name]]).alias(name) for name in columns])
        yield SourceTable(text, np.arange(before + 1, before + frame.height + 1, dtype=np.int64), "row", where)
        before += frame.height
