"""Methods that change the numbers of a file's columns, and what was done, for the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tryst.common.errors import ErrorCode, TrystError
from tryst.risk.protection.key_table import value_codes
from tryst.risk.protection.methods import Methods
from tryst.risk.protection.numbers import add_noise, microaggregate, round_to


@dataclass(frozen=True)
class Change:
    """One thing that was done, for the log.

    Parameters
    ----------
    variable, method
        To which column, by which method.
    parameter
        With what.
    values
        How many values of the column differ by it.
    """

    variable: str
    method: str
    parameter: dict[str, Any] = field(default_factory=dict)
    values: int = 0


def changed_numbers(
    frame: pl.DataFrame, methods: Methods, generator: np.random.Generator
) -> tuple[pl.DataFrame, list[Change]]:
    """Numeric columns averaged, with noise, rounded, in this order."""
    changes: list[Change] = []
    found = frame
    if methods.microaggregate:
        names = list(methods.microaggregate)
        numbers, groups = microaggregate(numeric(found, names, "--microaggregate"), methods.group)
        made = int(groups.max()) + 1
        parameter = {"group": methods.group, "groups": made, "together": names}
        found = _put(found, names, numbers, "microaggregation", parameter, changes)
    for share in dict.fromkeys(methods.noise.values()):
        names = [n for n, own in methods.noise.items() if own == share]
        numbers = add_noise(numeric(found, names, "--noise"), share, generator)
        found = _put(found, names, numbers, "correlated noise", {"share": share, "together": names}, changes)
    for name, base in methods.rounding.items():
        numbers = round_to(numeric(found, [name], "--round"), base)
        found = _put(found, [name], numbers, "rounding", {"base": base}, changes)
    return found, changes


def _put(
    frame: pl.DataFrame,
    names: Sequence[str],
    numbers: NDArray[np.float64],
    method: str,
    parameter: dict[str, Any],
    changes: list[Change],
) -> pl.DataFrame:
    before = numeric(frame, names, method)
    different = ~((before == numbers) | (np.isnan(before) & np.isnan(numbers)))
    changes += [Change(n, method, parameter, int(different[:, i].sum())) for i, n in enumerate(names)]
    columns = []
    for i, name in enumerate(names):
        column = pl.Series(name, numbers[:, i]).fill_nan(None)
        whole = column.drop_nulls()
        if len(whole) and bool((whole == whole.round(0)).all()) and bool((whole.abs() < 2**53).all()):
            column = column.cast(pl.Int64)
        # A file of text stays one, so that what is read back is what was written.
        columns.append(column.cast(pl.String) if frame[name].dtype == pl.String else column)
    return frame.with_columns(columns)


def numeric(frame: pl.DataFrame, names: Sequence[str], where: str) -> NDArray[np.float64]:
    """Columns as numbers, shape (n_records, n_columns), NaN where missing.

    Raises
    ------
    TrystError
        SOURCE for a column with values that are no numbers.
    """
    found = []
    for name in names:
        column = frame[name]
        text = column.dtype == pl.String
        own = column.str.strip_chars().replace({"": None, "NA": None}) if text else column
        numbers = own.cast(pl.Float64, strict=False)
        wrong = numbers.null_count() - own.null_count()
        if wrong or numbers.is_infinite().any():
            raise TrystError(
                ErrorCode.SOURCE,
                "the column must hold numbers",
                where=f"{where}, column {name}",
                got=f"{wrong} values that are none",
            )
        found.append(numbers.fill_null(float("nan")).to_numpy())
    return np.stack(found, axis=1).astype(np.float64)


def strata_of(frame: pl.DataFrame, names: Sequence[str]) -> NDArray[np.int64] | None:
    """A number for each record, the same for records that agree on the columns."""
    if not names:
        return None
    _, codes = value_codes({n: frame[n] for n in names}, ())
    _, which = np.unique(codes, axis=0, return_inverse=True)
    return which.reshape(-1).astype(np.int64)
