"""Methods that change the numbers of a file's columns, and what was done, for the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.arrays import Floats, Integers
from gemel.risk.protection.key_table import value_codes
from gemel.risk.protection.numbers import add_noise, microaggregate, round_to

# How the levels of keys are made, and which methods change values.

STRENGTHS = (0.0, 0.05, 0.1, 0.2, 0.4)
"""Shares of the records, of which one is chosen where it is searched how many values to redraw or swap."""


@dataclass(frozen=True)
class Levels:
    """How the levels of keys are made; a key that is not named has those of `default_hierarchy`.

    Parameters
    ----------
    rows
        By key: rows of a hierarchy, and what errors call its source.
    widths, bottom, top
        By key: widths of intervals, and coded ends.
    quantiles
        By key: numbers of intervals with about as many records each.
    fixed
        By key: the level at which it is published; others are searched.
    found
        Expected correct matches with sample uniques, as a share of the records, for which `minimal_recoding` looks for
        a recoding; its groups are the one level of the keys that have none by the other ways.
    """

    rows: Mapping[str, tuple[Sequence[Sequence[str]], str]] = field(default_factory=dict)
    widths: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    bottom: Mapping[str, int] = field(default_factory=dict)
    top: Mapping[str, int] = field(default_factory=dict)
    quantiles: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    fixed: Mapping[str, int] = field(default_factory=dict)
    found: float | None = None


@dataclass(frozen=True)
class Methods:
    """Methods that change values."""

    pram: Mapping[str, float] = field(default_factory=dict)
    swap: Mapping[str, float] = field(default_factory=dict)
    within: tuple[str, ...] = ()
    pram_searched: tuple[str, ...] = ()
    swap_searched: tuple[str, ...] = ()
    microaggregate: tuple[str, ...] = ()
    group: int = 3
    noise: Mapping[str, float] = field(default_factory=dict)
    rounding: Mapping[str, float] = field(default_factory=dict)

    @property
    def searched(self) -> tuple[str, ...]:
        return (*self.pram_searched, *self.swap_searched)

    def at(self, strength: float) -> Methods:
        """The methods with this share for the keys that are searched; at 0 those are left as they are."""
        given = replace(self, pram_searched=(), swap_searched=())
        if not strength:
            return given
        pram, swap = (dict.fromkeys(names, strength) for names in (self.pram_searched, self.swap_searched))
        return replace(given, pram={**self.pram, **pram}, swap={**self.swap, **swap})

    @property
    def numeric(self) -> tuple[str, ...]:
        """Columns whose numbers are changed."""
        return tuple(dict.fromkeys((*self.microaggregate, *self.noise, *self.rounding)))


MISSING_VALUES = ("", "NA")
"""Texts that mean a missing value where none are named."""

_LARGEST = 1e100  # of a number that is changed: its square, and sums of squares, are numbers too


@dataclass(frozen=True)
class Change:
    """One thing that was done, for the log, and how many values of the column differ by it."""

    variable: str
    method: str
    parameter: dict[str, Any] = field(default_factory=dict)
    values: int = 0


def changed_numbers(
    frame: pl.DataFrame, methods: Methods, generator: np.random.Generator, missing_values: Sequence[str]
) -> tuple[pl.DataFrame, list[Change]]:
    """Numeric columns averaged, with noise, rounded, in this order; what a method cannot change it suppresses."""
    made = _Made(frame, missing_values)
    if methods.microaggregate:
        names = list(methods.microaggregate)
        numbers, groups = microaggregate(made.numbers(names, "--microaggregate"), methods.group)
        number = len(np.unique(groups[groups >= 0]))
        parameter = {"group": methods.group, "groups": number, "together": names}
        why = f"fewer than {methods.group} records have it"
        made.put(names, numbers, "microaggregation", parameter, why)
    for share in dict.fromkeys(methods.noise.values()):
        names = [n for n, own in methods.noise.items() if own == share]
        numbers = add_noise(made.numbers(names, "--noise"), share, generator)
        why = "no noise can be added to it"
        made.put(names, numbers, "correlated noise", {"share": share, "together": names}, why)
    for name, base in methods.rounding.items():
        numbers = round_to(made.numbers([name], "--round"), base)
        made.put([name], numbers, "rounding", {"base": base})
    return made.frame, made.changes


class _Made:
    """A frame whose columns are changed one method after the other, and what was done so far."""

    def __init__(self, frame: pl.DataFrame, missing_values: Sequence[str]) -> None:
        self.frame = frame
        self.changes = list[Change]()
        self._missing = missing_values

    def numbers(self, names: Sequence[str], where: str) -> Floats:
        found = numeric(self.frame, names, where, self._missing)
        large = int((np.abs(found) > _LARGEST).sum())
        if large:
            what, place = f"numbers that are changed are at most {_LARGEST:g}", f"{where}, columns {', '.join(names)}"
            remedy = "mark what is no measurement as missing, or give the column in another unit"
            raise GemelError(ErrorCode.SOURCE, what, where=place, got=f"{large} larger ones", remedy=remedy)
        return found

    def put(self, names: Sequence[str], numbers: Floats, method: str, parameter: dict[str, Any], why: str = "") -> None:
        before = numeric(self.frame, names, method, self._missing)
        gone = np.isnan(numbers) & ~np.isnan(before)
        different = (before != numbers) & ~np.isnan(numbers)
        columns = []
        for i, name in enumerate(names):
            self.changes.append(Change(name, method, parameter, int(different[:, i].sum())))
            if lost := int(gone[:, i].sum()):
                more = {"instead of": method, "because": why}
                self.changes.append(Change(name, "suppression of numbers", more, lost))
            column = pl.Series(name, numbers[:, i]).fill_nan(None)
            whole = column.drop_nulls()
            if len(whole) and bool((whole == whole.round(0)).all()) and bool((whole.abs() < 2**53).all()):
                column = column.cast(pl.Int64)
            # A file of text stays one, so that what is read back is what was written.
            columns.append(column.cast(pl.String) if self.frame[name].dtype == pl.String else column)
        self.frame = self.frame.with_columns(columns)


def numeric(
    frame: pl.DataFrame, names: Sequence[str], where: str, missing_values: Sequence[str] = MISSING_VALUES
) -> Floats:
    """Columns as numbers, shape (n_records, n_columns), NaN where missing or where the text means so."""
    found = []
    for name in names:
        column = frame[name]
        text = column.dtype == pl.String
        if text:
            column = column.str.strip_chars()
            column = column.set(column.is_in(["", *missing_values]), None)
        numbers = column.cast(pl.Float64, strict=False)
        wrong = numbers.null_count() - column.null_count() + int(numbers.is_infinite().sum() or 0)
        if wrong:
            got = f"{wrong} values that are none"
            raise GemelError(ErrorCode.SOURCE, "the column must hold numbers", where=f"{where}, column {name}", got=got)
        found.append(numbers.fill_null(float("nan")).to_numpy())
    return np.stack(found, axis=1).astype(np.float64)


def without_missing_texts(frame: pl.DataFrame, missing_values: Sequence[str]) -> pl.DataFrame:
    """The frame with nulls in place of the texts that mean missing."""
    texts = pl.col(pl.String)
    return frame.with_columns(pl.when(~texts.str.strip_chars().is_in(["", *missing_values])).then(texts))


def strata_of(frame: pl.DataFrame, names: Sequence[str]) -> Integers | None:
    """A number for each record, the same for records that agree on the columns."""
    if not names:
        return None
    _, codes = value_codes({n: frame[n] for n in names}, ())
    _, which = np.unique(codes, axis=0, return_inverse=True)
    return which.reshape(-1).astype(np.int64)
