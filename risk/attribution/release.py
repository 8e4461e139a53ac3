"""A release: what the public has of a population, and what an intruder who knows the schemes can deduce per cell.

Contingency tables over named variables: the thing that is protected, released and attacked.

A table is an array of counts with an axis for each variable. Records are the same thing written out: a table over all
variables holds as much as the list of records, so protections of records work on tables too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError, GemelErrors, parameter
from gemel.risk.arrays import Integers
from gemel.risk.attribution.laws import UNPUBLISHED, Exact, Law, Sampled

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Variable:
    name: str
    levels: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.levels or len(set(self.levels)) != len(self.levels):
            raise parameter(f"variable {self.name!r}", "a variable needs one or more levels, all different")

    @property
    def size(self) -> int:
        return len(self.levels)


@dataclass(frozen=True, eq=False)
class Table:
    """Counts cross-classified by variables.

    `variables`: one for each axis, with different names; `counts` (int64, shape (levels of the first variable, levels
    of the second, ...)): not negative.
    """

    variables: tuple[Variable, ...]
    counts: Counts

    def __post_init__(self) -> None:
        names = [v.name for v in self.variables]
        if len(set(names)) != len(names):
            raise parameter("", "a table's variables must have different names", ", ".join(names))
        counts = np.asarray(self.counts)
        shape = tuple(v.size for v in self.variables)
        if counts.shape != shape:
            what = f"counts must have the shape {shape} of the variables {', '.join(names) or '(none)'}"
            raise parameter("", what, str(counts.shape))
        if not np.all(np.equal(np.floor(counts), counts)) or (counts < 0).any():
            raise parameter(" x ".join(names), "counts must be whole numbers, not negative")
        object.__setattr__(self, "counts", counts.astype(np.int64))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(v.name for v in self.variables)

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def over(self, names: Sequence[str]) -> Table:
        """The margin over some of the variables, in the order requested."""
        axes = [axis_of(self.variables, name) for name in names]
        kept = self.counts.sum(axis=tuple(a for a in range(len(self.variables)) if a not in axes))
        return Table(tuple(self.variables[a] for a in axes), np.transpose(kept, [sorted(axes).index(a) for a in axes]))

    def records(self) -> Integers:
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
            raise parameter("", "records need a column for each variable", str(records.shape))
        if (records < 0).any() or (records >= np.asarray(shape, dtype=np.int64)).any():
            raise parameter("", "records hold a level number that its variable does not have")
        cells = np.ravel_multi_index(tuple(records.T), shape) if shape else np.zeros(len(records), dtype=np.int64)
        counts = np.bincount(np.asarray(cells), minlength=math.prod(shape))
        return cls(tuple(variables), counts.reshape(shape))


def axis_of(variables: Sequence[Variable], name: str) -> int:
    for axis, variable in enumerate(variables):
        if variable.name == name:
            return axis
    known = ", ".join(v.name for v in variables)
    raise parameter("", f"there is no variable {name!r}", remedy=f"use one of: {known}")


# Every published count is the (protected) sum of a block of cells of the *base table*, the table over all variables
# that appear anywhere in the release. A block is a product of sets of levels, one set for each variable: all levels
# where the published table does not have the variable, one level where it has it in full, a group of levels where it
# is recoded.


@dataclass(frozen=True)
class Axis:
    """A published table's axis: a variable, and which of its base levels each published level covers."""

    variable: str
    labels: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]

    @classmethod
    def full(cls, variable: Variable) -> Axis:
        return cls(variable.name, variable.levels, tuple((k,) for k in range(variable.size)))

    @classmethod
    def recoded(cls, variable: Variable, groups: Mapping[str, Sequence[str]]) -> Axis:
        """Groups of levels; levels in no group are outside the table's population."""
        place = {level: k for k, level in enumerate(variable.levels)}
        listed = [level for group in groups.values() for level in group]
        if set(listed) - set(place) or len(set(listed)) != len(listed) or not all(groups.values()):
            what = "a recoding puts each level in at most one group, and no group is empty"
            raise parameter(f"variable {variable.name!r}", what, remedy=f"the levels are: {', '.join(variable.levels)}")
        members = tuple(tuple(sorted(place[level] for level in group)) for group in groups.values())
        return cls(variable.name, tuple(groups), members)

    @property
    def simple(self) -> bool:
        """Whether every published level is one base level."""
        return all(len(m) == 1 for m in self.members)


@dataclass(frozen=True, eq=False)
class Published:
    """One published table.

    `name`: how errors and reports call it; `axes`: one for each of its variables; none for a published total; `counts`
    (int64): published counts, `UNPUBLISHED` where withheld; `intervals`: where the table publishes ranges (interval
    publication): lower and upper bounds, shaped as `counts`.
    """

    name: str
    axes: tuple[Axis, ...]
    counts: Integers
    law: Law = field(default_factory=Exact)
    intervals: tuple[Integers, Integers] | None = None

    def __post_init__(self) -> None:
        counts = np.asarray(self.counts)
        shape = tuple(len(a.labels) for a in self.axes)
        where = f"table {self.name!r}"
        if counts.shape != shape:
            what = f"its variables ({', '.join(self.names) or 'none'}) require counts of shape {shape}"
            raise parameter(where, what, str(counts.shape))
        if not np.all(np.equal(np.floor(counts), counts)) or (counts < UNPUBLISHED).any():
            got, remedy = f"{int((counts < UNPUBLISHED).sum())} negative", "leave a withheld count out (null)"
            raise parameter(where, "published counts must be whole numbers, not negative", got, remedy)
        object.__setattr__(self, "counts", counts.astype(np.int64))
        if self.intervals is not None:
            low, high = self.intervals
            if np.shape(low) != shape or np.shape(high) != shape or (np.asarray(low) > np.asarray(high)).any():
                raise parameter(where, "intervals need a lower bound no larger than the upper")
        try:
            self.law.bounds(self.counts)
        except GemelError as error:
            raise GemelError(error.code, error.what, where=where, got=error.got, remedy=error.remedy) from error

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(a.variable for a in self.axes)

    @cached_property
    def box(self) -> tuple[Integers, Integers]:
        """Trivial bounds of the true counts of its cells."""
        lower, upper = self.law.bounds(self.counts)
        if self.intervals is not None:
            lower, upper = np.maximum(lower, self.intervals[0]), np.minimum(upper, self.intervals[1])
        return lower, upper

    @property
    def exact(self) -> bool:
        """Whether every cell's true count is known from it."""
        lower, upper = self.box
        return bool(np.array_equal(lower, upper))

    @property
    def simple(self) -> bool:
        return all(a.simple for a in self.axes)

    @property
    def sample(self) -> bool:
        return isinstance(self.law, Sampled)


@dataclass(frozen=True, eq=False)
class Release:
    """Published tables over one population.

    `tables`: what is published, names all different. `truth`: the true base table, where the assessor has it. Bounds
    and posteriors never look at it.
    """

    variables: tuple[Variable, ...]
    tables: tuple[Published, ...]
    truth: Table | None = None
    name: str = "release"

    def __post_init__(self) -> None:
        issues: list[GemelError] = []
        names = [t.name for t in self.tables]
        for name in sorted({n for n in names if names.count(n) > 1}):
            issues.append(parameter("", f"two tables are called {name!r}", remedy="rename one"))
        for table in self.tables:
            issues.extend(self._issues(table))
        sizes = {t.law.population: t.name for t in self.tables if isinstance(t.law, Sampled)}
        if len(sizes) > 1:
            where, got = ", ".join(f"table {name!r}" for name in sizes.values()), ", ".join(str(s) for s in sizes)
            issues.append(parameter(where, "samples of one population must agree on its size", got))
        if self.truth is not None and self.truth.variables != self.variables:
            issues.append(parameter("", "the true table must have the release's variables, in order"))
        if len(issues) == 1:
            raise issues[0]
        if issues:
            raise GemelErrors(ErrorCode.PARAMETER, issues, where=self.name)

    def _issues(self, table: Published) -> list[GemelError]:
        where, found = f"table {table.name!r}", []
        if len(set(table.names)) != len(table.names):
            found.append(parameter(where, "a variable appears twice"))
        for axis in table.axes:
            try:
                size = self.variable(axis.variable).size
            except GemelError as error:
                found.append(GemelError(error.code, error.what, where=where, remedy=error.remedy))
                continue
            used = [k for m in axis.members for k in m]
            if len(set(used)) != len(used) or any(not 0 <= k < size for k in used):
                what = f"variable {axis.variable!r} has {size} levels in the release"
                remedy = "tables that share a variable must share its levels, or be recodings of them"
                found.append(parameter(where, what, f"{len(used)} in this table", remedy))
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(v.size for v in self.variables)

    @property
    def cells(self) -> int:
        return math.prod(self.shape)

    @property
    def population(self) -> int | None:
        """The population's size, where the release gives it exactly."""
        for table in self.tables:
            if isinstance(table.law, Sampled):
                return table.law.population
            if table.exact and all(self.covered(a) for a in table.axes):
                return int(table.box[0].sum())
        return None

    def variable(self, name: str) -> Variable:
        return self.variables[axis_of(self.variables, name)]

    def covered(self, axis: Axis) -> bool:
        """Whether every base level is in some published level of an axis."""
        return sum(len(m) for m in axis.members) == self.variable(axis.variable).size

    def table(self, name: str) -> Published:
        for table in self.tables:
            if table.name == name:
                return table
        raise parameter(self.name, f"there is no table {name!r}")

    def with_tables(self, *tables: Published) -> Release:
        return Release(self.variables, (*self.tables, *tables), self.truth, self.name)

    def members(self, table: Published, index: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """For each base variable, the levels that a published cell covers."""
        covered = [tuple(range(v.size)) for v in self.variables]
        for axis, place in zip(table.axes, index, strict=True):
            covered[axis_of(self.variables, axis.variable)] = axis.members[place]
        return tuple(covered)

    def block(self, table: Published, index: Sequence[int]) -> Integers:
        """The base cells (flat numbers) whose sum a published cell is."""
        return block_cells(self.shape, self.members(table, index))

    def label(self, cell: int) -> str:
        """A base cell in words."""
        index = np.unravel_index(cell, self.shape) if self.shape else ()
        return ", ".join(f"{v.name}={v.levels[i]}" for v, i in zip(self.variables, index, strict=True)) or "total"


def block_cells(shape: Sequence[int], members: Sequence[Sequence[int]]) -> Integers:
    """Flat numbers of the cells in a product of sets of levels."""
    if not shape:
        return np.zeros(1, dtype=np.int64)
    grid = np.ix_(*[np.asarray(m, dtype=np.int64) for m in members])
    return np.ravel_multi_index(tuple(np.broadcast_arrays(*grid)), tuple(shape)).ravel().astype(np.int64)


def publish(name: str, table: Table, law: Law | None = None, counts: Integers | None = None) -> Published:
    """A published table over a table's own variables: as it is, or with other counts under a law."""
    axes = tuple(Axis.full(v) for v in table.variables)
    return Published(name, axes, table.counts if counts is None else counts, law or Exact(), None)
