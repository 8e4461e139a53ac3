"""Contingency tables over named variables: the thing that is protected, released and attacked.

A table is an array of counts with an axis for each variable. Records are the same thing written out: a table over all
variables holds as much as the list of records, so protections of records work on tables too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError, parameter

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Variable:
    """A categorical variable and its levels in order."""

    name: str
    levels: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.levels or len(set(self.levels)) != len(self.levels):
            raise parameter(f"variable {self.name!r}", "a variable needs one or more levels, all different")

    @property
    def size(self) -> int:
        """Number of levels."""
        return len(self.levels)


@dataclass(frozen=True, eq=False)
class Table:
    """Counts cross-classified by variables.

    Parameters
    ----------
    variables
        One for each axis, with different names.
    counts : ndarray of int64, shape (levels of the first variable, levels of the second, ...)
        Not negative.
    """

    variables: tuple[Variable, ...]
    counts: Counts

    def __post_init__(self) -> None:
        names = [v.name for v in self.variables]
        if len(set(names)) != len(names):
            raise GemelError(ErrorCode.PARAMETER, "a table's variables must have different names", got=", ".join(names))
        counts = np.asarray(self.counts)
        shape = tuple(v.size for v in self.variables)
        if counts.shape != shape:
            raise GemelError(
                ErrorCode.PARAMETER,
                f"counts must have the shape {shape} of the variables {', '.join(names) or '(none)'}",
                got=str(counts.shape),
            )
        if not np.all(np.equal(np.floor(counts), counts)) or (counts < 0).any():
            raise parameter(" x ".join(names), "counts must be whole numbers, not negative")
        object.__setattr__(self, "counts", counts.astype(np.int64))

    @property
    def names(self) -> tuple[str, ...]:
        """The variables' names, in the order of the axes."""
        return tuple(v.name for v in self.variables)

    @property
    def total(self) -> int:
        """Number of units."""
        return int(self.counts.sum())

    def over(self, names: Sequence[str]) -> Table:
        """The margin over some of the variables, in the order requested."""
        axes = [axis_of(self.variables, name) for name in names]
        kept = self.counts.sum(axis=tuple(a for a in range(len(self.variables)) if a not in axes))
        return Table(tuple(self.variables[a] for a in axes), np.transpose(kept, [sorted(axes).index(a) for a in axes]))

    def records(self) -> NDArray[np.int64]:
        """The units written out: a row of level numbers for each, shape (total, number of variables)."""
        cells = np.repeat(np.arange(self.counts.size), self.counts.ravel())
        if not self.variables:
            return np.empty((self.total, 0), dtype=np.int64)
        return np.stack(np.unravel_index(cells, self.counts.shape), axis=1).astype(np.int64)

    @classmethod
    def of_records(cls, variables: Sequence[Variable], records: NDArray[np.integer]) -> Table:
        """Count records given as level numbers, shape (n_records, n_variables)."""
        shape = tuple(v.size for v in variables)
        if records.ndim != 2 or records.shape[1] != len(shape):
            raise GemelError(ErrorCode.PARAMETER, "records need a column for each variable", got=str(records.shape))
        if (records < 0).any() or (records >= np.asarray(shape, dtype=np.int64)).any():
            raise GemelError(ErrorCode.PARAMETER, "records hold a level number that its variable does not have")
        cells = np.ravel_multi_index(tuple(records.T), shape) if shape else np.zeros(len(records), dtype=np.int64)
        counts = np.bincount(np.asarray(cells), minlength=math.prod(shape))
        return cls(tuple(variables), counts.reshape(shape))


def axis_of(variables: Sequence[Variable], name: str) -> int:
    """The axis of a variable, or a clear error."""
    for axis, variable in enumerate(variables):
        if variable.name == name:
            return axis
    known = ", ".join(v.name for v in variables)
    raise GemelError(ErrorCode.PARAMETER, f"there is no variable {name!r}", remedy=f"use one of: {known}")


def cell_label(variables: Sequence[Variable], index: Sequence[int]) -> str:
    """A cell in words: ``region=North, age=old``."""
    return ", ".join(f"{v.name}={v.levels[i]}" for v, i in zip(variables, index, strict=True)) or "total"
