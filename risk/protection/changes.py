"""The methods for single values, applied to a file's columns: keys redrawn or swapped, numbers changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tryst.common.errors import ErrorCode, TrystError
from tryst.risk.identification.coding import Codes
from tryst.risk.protection.hierarchies import whole_numbers
from tryst.risk.protection.key_table import KeyTable, Node, value_codes
from tryst.risk.protection.numbers import add_noise, microaggregate, round_to
from tryst.risk.protection.perturbation import (
    grouped_matrix,
    invariant_matrix,
    neighbour_matrix,
    pram,
    pram_matrix,
    swap,
)
from tryst.risk.protection.request import Methods

Kept = Callable[[Node, NDArray[np.bool_]], NDArray[np.float64]]


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


def perturbed_keys(
    table: KeyTable, methods: Methods, strata: NDArray[np.int64] | None, generator: np.random.Generator
) -> tuple[Codes, list[Change], Kept | None]:
    """Keys redrawn and swapped, before anything is recoded.

    Parameters
    ----------
    strata : ndarray of int64, shape (n_records,), optional
        Of swapping.

    Returns
    -------
    ndarray of int32, list of Change, function or None
        The new codes; what was done; and of a node, with what is suppressed there, the probability that each record's
        published keys are its true ones: the diagonal of the matrices between the groups of the node.
    """
    codes = table.codes.copy()
    changes, parts = [], []
    for name, rate in methods.pram.items():
        q = table.names.index(name)
        counts = table.value_counts[q]
        ordered = whole_numbers(table.hierarchies[q].levels[0]) is not None and len(counts) > 2
        # A number that moves stays near; a category goes wherever others are.
        theta = invariant_matrix(neighbour_matrix(len(counts), rate), counts) if ordered else pram_matrix(counts, rate)
        codes[:, q] = pram(table.codes[:, q], theta, generator)
        parameter = {"rate": rate, "to": "neighbouring values" if ordered else "all values", "invariant": True}
        changes.append(_change(table, codes, q, "PRAM", parameter))
        parts.append((q, _diagonals(table, q, theta)))
    for name, rate in methods.swap.items():
        q = table.names.index(name)
        codes[:, q] = swap(table.codes[:, q], rate, generator, strata)
        changes.append(_change(table, codes, q, "swapping", {"rate": rate, "within": list(methods.within)}))
        parts.append((q, _shares(table, q, rate, strata)))
    if not parts:
        return codes, [], None

    def kept(node: Node, suppressed: NDArray[np.bool_]) -> NDArray[np.float64]:
        found = np.ones(len(codes))
        for q, diagonal in parts:
            own = diagonal(node[q], codes[:, q])
            found *= np.where(suppressed[:, q] | (codes[:, q] < 0), 1.0, own)
        return found

    return codes, changes, kept


Diagonal = Callable[[int, NDArray[np.int32]], NDArray[np.float64]]


def _diagonals(table: KeyTable, q: int, theta: NDArray[np.float64]) -> Diagonal:
    def of(level: int, values: NDArray[np.int32]) -> NDArray[np.float64]:
        groups = table.hierarchies[q].groups[level]
        return np.asarray(np.diag(grouped_matrix(theta, groups, table.value_counts[q]))[groups[values]])

    return of


def _shares(table: KeyTable, q: int, rate: float, strata: NDArray[np.int64] | None) -> Diagonal:
    """Who takes part receives a value of the stratum at random: theta is 1 - rate + rate times the group's share."""
    where = np.zeros(len(table.codes), dtype=np.int64) if strata is None else strata

    def of(level: int, values: NDArray[np.int32]) -> NDArray[np.float64]:
        groups = table.hierarchies[q].groups[level]
        size = int(groups.max()) + 1
        there = table.codes[:, q] >= 0
        counts = np.bincount(
            where[there] * size + groups[table.codes[there, q]], minlength=(int(where.max()) + 1) * size
        ).reshape(-1, size)
        total = counts.sum(axis=1)[where]
        return np.asarray(1.0 - rate + rate * counts[where, groups[values]] / np.maximum(total, 1))

    return of


def _change(table: KeyTable, codes: Codes, q: int, method: str, parameter: dict[str, Any]) -> Change:
    return Change(table.names[q], method, parameter, int((codes[:, q] != table.codes[:, q]).sum()))


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
