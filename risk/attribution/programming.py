"""Bounds and feasibility by integer programming (HiGHS): exact, for any release."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import LinearConstraint
from scipy.sparse import csr_array

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.progress import StageProgress, silent
from gemel.risk.arrays import Floats, Integers, Mask
from gemel.risk.attribution.laws import INFINITE
from gemel.risk.attribution.release import Release
from gemel.risk.attribution.shuttle import Contradiction
from gemel.risk.whole_programmes import cheapest

# A release as a system of inequalities: lower <= A x <= upper over the base table's cells x >= 0, whole numbers.


@dataclass(frozen=True, eq=False)
class System:
    """Constraints on the base table.

    `matrix` (sparse, shape (n_constraints, n_cells)): ones where a published cell covers a base cell; `lower`, `upper`
    (int64, shape (n_constraints,)): bounds of the sums; `INFINITE` is no bound; `floor`, `ceiling` (int64, shape
    (n_cells,)): bounds of the single cells.
    """

    matrix: csr_array
    lower: Integers
    upper: Integers
    floor: Integers
    ceiling: Integers

    @property
    def cells(self) -> int:
        return int(self.matrix.shape[1])

    def satisfied(self, tables: Integers) -> Mask:
        """Which of the tables (n, n_cells) satisfy every constraint."""
        sums = (self.matrix @ tables.T).T
        inside = ((sums >= self.lower) & (sums <= self.upper)).all(axis=1)
        return np.asarray(inside & ((tables >= self.floor) & (tables <= self.ceiling)).all(axis=1))

    def at_least(self, floor: Integers) -> System:
        """The same system for an intruder who knows of so many units in each cell."""
        return replace(self, floor=np.maximum(self.floor, floor))


def system(release: Release, tables: list[int] | None = None) -> System:
    """Build the system of a release, or of some of its tables (by number).

    A published cell that is a single base cell becomes a bound of that cell, not a row. O(published cells x block).
    """
    floor, ceiling = np.zeros(release.cells, dtype=np.int64), np.full(release.cells, INFINITE, dtype=np.int64)
    sums: dict[bytes, tuple[Integers, int, int]] = {}
    for table in release.tables if tables is None else [release.tables[number] for number in tables]:
        low, high = table.box
        for index in np.ndindex(table.counts.shape):
            if low[index] <= 0 and high[index] >= INFINITE:
                continue
            block = release.block(table, index)
            if len(block) == 1:
                floor[block[0]] = max(floor[block[0]], low[index])
                ceiling[block[0]] = min(ceiling[block[0]], high[index])
            else:  # where two tables speak of the same sum: intersect
                _, minimum, maximum = sums.get(block.tobytes(), (block, 0, INFINITE))
                sums[block.tobytes()] = block, max(minimum, int(low[index])), min(maximum, int(high[index]))
    blocks = [block for block, _, _ in sums.values()]
    starts = np.concatenate([[0], np.cumsum([len(b) for b in blocks])]).astype(np.int64)
    columns = np.concatenate(blocks) if blocks else np.empty(0, dtype=np.int64)
    matrix = csr_array((np.ones(len(columns)), columns, starts), shape=(len(blocks), release.cells))
    lower, upper = np.asarray([ends for _, *ends in sums.values()], dtype=np.int64).reshape(-1, 2).T
    return System(matrix, lower, upper, floor, ceiling)


# Each solution found is a feasible table, and witnesses every cell's value in it: a cell whose outer bound has been
# seen in some solution needs no programme of its own. That saves most of the work, since one table touches many
# bounds.

_SLACK = 1e-6
_LARGE = 200  # base cells above which linear relaxations are tried first

LARGEST = 512  # base cells above which whole programmes are left out when there is a time limit


class Undecided(GemelError):
    """Time ran out before a feasible table was found, or proven not to exist."""

    def __init__(self) -> None:
        what = "no feasible table was found in the time allowed, nor proven not to exist"
        super().__init__(ErrorCode.PARAMETER, what, remedy="allow more time")

    def __reduce__(self) -> tuple[object, ...]:
        return (Undecided, ())


@dataclass(frozen=True, eq=False)
class Programmed:
    """Bounds of sums of cells, and which of them are proven attained."""

    lower: Integers
    upper: Integers
    lower_tight: Mask
    upper_tight: Mask
    programmes: int


@dataclass(frozen=True, eq=False)
class _Answer:
    table: Integers | None
    bound: float
    status: str  # optimal, limit, infeasible, unbounded


def _solve(rules: System, objective: Floats, seconds: float | None, *, whole: bool = True) -> _Answer:
    """Minimise; without `whole` the linear relaxation, whose solution counts as a table only if it is whole."""
    upper = np.where(rules.upper >= INFINITE, np.inf, rules.upper)
    constraints = [LinearConstraint(rules.matrix, rules.lower, upper)] if rules.matrix.shape[0] else []
    ceiling = np.where(rules.ceiling >= INFINITE, np.inf, rules.ceiling)
    if (rules.floor > rules.ceiling).any():
        return _Answer(None, np.nan, "infeasible")
    limit = None if seconds is None else max(seconds, 0.01)
    result = cheapest(objective, constraints, rules.floor, ceiling, limit, whole=whole)
    table = None if result.x is None else np.rint(result.x).astype(np.int64)
    if not whole and table is not None and not rules.satisfied(table[None, :])[0]:
        table = None
    if result.status == 0:
        return _Answer(table, float(result.fun), "optimal")
    if result.status == 2:
        return _Answer(None, np.nan, "infeasible")
    if result.status == 3 or (result.status == 4 and result.x is None and "unbounded" in str(result.message).lower()):
        return _Answer(table, -np.inf, "unbounded")
    bound = getattr(result, "mip_dual_bound", None) if whole else None
    bound = -np.inf if bound is None else bound
    return _Answer(table, float(bound), "limit")


def feasible_table(rules: System, seconds: float | None = None) -> Integers | None:
    """Some table that satisfies the constraints, or None when there is none."""
    if seconds is not None and rules.cells > LARGEST:
        relaxed = _solve(rules, np.zeros(rules.cells), seconds, whole=False)
        if relaxed.table is None and relaxed.status != "infeasible":
            raise Undecided
        return relaxed.table
    answer = _solve(rules, np.zeros(rules.cells), seconds)
    if answer.status == "limit" and answer.table is None:
        raise Undecided
    return answer.table


def conflict(release: Release) -> list[str]:
    """Names of a smallest-by-inclusion set of tables that no population satisfies; empty when there is one.

    Deletion filter: leave a table out whenever the rest still conflicts. One programme per table: linear ones where
    those conflict already, else whole ones.
    """
    for whole in (False, True):
        if _possible(release, None, whole):
            continue
        kept = list(range(len(release.tables)))
        for number in list(kept):
            fewer = [k for k in kept if k != number]
            if not _possible(release, fewer, whole):
                kept = fewer
        return [release.tables[k].name for k in kept]
    return []


def _possible(release: Release, tables: list[int] | None, whole: bool) -> bool:
    rules = system(release, tables)
    return _solve(rules, np.zeros(rules.cells), None, whole=whole).status != "infeasible"


def require_feasible(release: Release) -> Integers:
    """A feasible base table, or an error that names the tables in conflict."""
    table = feasible_table(system(release))
    if table is not None:
        return table
    raise contradiction(release)


def contradiction(release: Release) -> GemelError:
    names = conflict(release) or [t.name for t in release.tables]
    listed = ", ".join(repr(n) for n in names)
    if len(names) == 1:
        what = f"table {listed} contradicts itself"
    else:
        what = f"no population satisfies tables {listed} together"
    return parameter(release.name, what, remedy="check their counts, totals and the protection stated for each")


def programme_bounds(
    rules: System,
    targets: Sequence[Integers] | None = None,
    *,
    outer: tuple[Integers, Integers] | None = None,
    witnesses: Integers | None = None,
    seconds: float | None = None,
    progress: StageProgress = silent,
) -> Programmed:
    """Least and largest value of sums of cells over all feasible tables.

    `witnesses` (int64, shape (n, n_cells)): feasible tables already known.
    """
    ends = None if seconds is None else time.monotonic() + seconds
    known = _Known.of(rules, targets, outer)
    for table in () if witnesses is None else witnesses:
        known.witness(table)
    programmes = 0
    # In large tables the linear relaxation goes first: it is quick, gives a valid bound, and is often whole already.
    # Above some size whole programmes do not keep to their time limit: then the relaxation is all, if time is short.
    passes = (True,) if rules.cells <= _LARGE else (False, True)
    if rules.cells > LARGEST and seconds is not None:
        passes = (False,)
    count = len(known.blocks)
    for number, whole in enumerate(passes):
        for k in range(count):
            for sign in (1.0, -1.0):
                if known.is_tight(k, sign):
                    continue
                left = None if ends is None else ends - time.monotonic()
                if left is not None and left <= 0:
                    break
                # No single hard programme may use up the time of all others.
                share = None if left is None or seconds is None else min(left, max(seconds / 20, 0.5))
                known.learn(k, sign, _solve(rules, sign * known.objective(k), share, whole=whole))
                programmes += 1
            progress((number + (k + 1) / count) / len(passes))
    return Programmed(known.low, known.high, known.minimum <= known.low, known.maximum >= known.high, programmes)


@dataclass(eq=False)
class _Known:
    """What is known of sums of cells while programmes are run: valid bounds, and what feasible tables have shown."""

    cells: int
    blocks: list[Integers]  # the cells of each sum
    single: bool  # whether every sum is of one cell, in the order of the cells
    low: Integers
    high: Integers
    minimum: Integers
    maximum: Integers

    @classmethod
    def of(cls, rules: System, targets: Sequence[Integers] | None, outer: tuple[Integers, Integers] | None) -> _Known:
        blocks = [np.asarray([c]) for c in range(rules.cells)] if targets is None else list(targets)
        if outer is None:
            outer = (
                np.asarray([rules.floor[b].sum() for b in blocks], dtype=np.int64),
                np.asarray([min(int(rules.ceiling[b].sum()), INFINITE) for b in blocks], dtype=np.int64),
            )
        low, high = outer[0].astype(np.int64).copy(), np.minimum(outer[1], INFINITE).astype(np.int64)
        unseen = np.full(len(blocks), INFINITE, dtype=np.int64), np.full(len(blocks), -1, dtype=np.int64)
        return cls(rules.cells, blocks, targets is None, low, high, *unseen)

    def witness(self, table: Integers) -> None:
        """Take the sums of a feasible table into account."""
        values = table if self.single else np.asarray([table[b].sum() for b in self.blocks], dtype=np.int64)
        np.minimum(self.minimum, values, out=self.minimum)
        np.maximum(self.maximum, values, out=self.maximum)

    def is_tight(self, k: int, sign: float) -> bool:
        """Whether the lower bound (sign 1), or the upper one (-1), has been seen attained."""
        return bool(self.minimum[k] <= self.low[k] if sign > 0 else self.maximum[k] >= self.high[k])

    def objective(self, k: int) -> Floats:
        """Weights of the cells whose sum is the k-th."""
        found = np.zeros(self.cells)
        found[self.blocks[k]] = 1.0
        return found

    def learn(self, k: int, sign: float, answer: _Answer) -> None:
        """Take the answer of a programme for the lower (sign 1) or upper bound (-1) into account."""
        if answer.status == "infeasible":
            raise Contradiction("constraints")
        if answer.table is not None:
            self.witness(answer.table)
        if sign > 0 and np.isfinite(answer.bound):
            self.low[k] = max(self.low[k], int(np.ceil(answer.bound - _SLACK)))
        elif sign < 0 and np.isfinite(answer.bound):
            self.high[k] = min(self.high[k], int(np.floor(-answer.bound + _SLACK)))
        elif sign < 0 and answer.status == "unbounded":
            self.maximum[k] = INFINITE
