"""Attacks on suppressed cells, as linear programmes over how far the withheld cells can move.

What is known of the cells beforehand, and how far each can therefore move from its true value.

Everyone knows that values are not negative, unless some are; and, where that is assumed, each withheld cell within a
share of its value (by last year's table, for example). Intruders who contribute themselves also know that a cell is at
least what they have in it, and the whole of a cell that is theirs alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import OptimizeResult, linprog
from scipy.sparse import csr_array, hstack
from scipy.sparse.csgraph import connected_components

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.arrays import Floats, Integers, Mask
from gemel.risk.magnitude.tables import LinkedTables


@dataclass(frozen=True)
class Intruder:
    """What someone knows beside the published values."""

    units: tuple[int, ...] = ()
    own: Mapping[int, float] = field(default_factory=dict)
    known: frozenset[int] = frozenset()


OUTSIDER = Intruder()


@dataclass(frozen=True, eq=False)
class Rooms:
    """How far cells may move from a table, by what an outsider knows.

    `down`, `up` (float64, shape (n,)): 0 for a published cell; `above_zero` (float64, shape (n,)): how far a withheld
    cell lies above 0, of which contributors know a part; infinite where values may be negative, and for published
    cells, of which nothing is to be learnt.
    """

    down: Floats
    up: Floats
    above_zero: Floats

    def narrowed(self, cells: Integers, intruder: Intruder) -> tuple[Floats, Floats]:
        """How far some cells may move down and up for an intruder, each of shape (n,)."""
        down, up = self.down[cells], self.up[cells]
        if not intruder.units:
            return down, up
        own = np.asarray([intruder.own.get(cell, 0.0) for cell in cells.tolist()])
        known = np.asarray([cell in intruder.known for cell in cells.tolist()], dtype=bool)
        down = np.minimum(down, np.maximum(0.0, self.above_zero[cells] - own))
        return np.where(known, 0.0, down), np.where(known, 0.0, up)


@dataclass(frozen=True, eq=False)
class Limits:
    """What a reader of the published values can say of each cell by itself.

    `lower`, `upper` (float64, shape (n_cells,)): equal where the cell is published; 0, or minus infinity where values
    may be negative, and infinity where not; `floor` (float64, shape (n_cells,)): 0 for withheld cells that are not
    negative; minus infinity for others.
    """

    lower: Floats
    upper: Floats
    floor: Floats

    @classmethod
    def of(cls, values: Floats, suppressed: Mask, *, signed: bool, rounding: float = 0.0) -> Limits:
        """By the published values, each rounded to a multiple of `rounding`."""
        half = rounding / 2
        lowest = values - half if signed else np.maximum(values - half, np.minimum(values, 0.0))
        lower = np.where(suppressed, -np.inf if signed else 0.0, lowest)
        floor = np.where(suppressed & (not signed), 0.0, -np.inf)
        return cls(lower, np.where(suppressed, np.inf, values + half), floor)

    def known_within(self, values: Floats, suppressed: Mask, share: float) -> Limits:
        """The same for someone who knows each withheld cell within a share of its true value beforehand."""
        if np.isinf(share):
            return self
        within = share * np.abs(values)
        lower = np.where(suppressed, np.maximum(self.lower, values - within), self.lower)
        return Limits(lower, np.where(suppressed, np.minimum(self.upper, values + within), self.upper), self.floor)

    def rooms(self, table: Floats) -> Rooms:
        """How far cells may move from a table that agrees with what is published."""
        down, up = np.maximum(0.0, table - self.lower), np.maximum(0.0, self.upper - table)
        return Rooms(down, up, np.maximum(0.0, table - self.floor))


# What is published fixes the sums of what is withheld. An attacker can therefore take for true any table that differs
# from the true one in withheld cells only and adds up as it does; how far a cell can move up or down in such a table is
# what the attacker is left in doubt of. What is known beforehand (`Rooms`) bounds each cell by itself.
#
# Programmes are solved in units of the reach that is asked for, so that a small cell beside large ones is found
# exactly.

TOLERANCE = 1e-6  # share of a reach that rounding may take


@dataclass(frozen=True)
class Attack:
    """The question whether an intruder's doubt of a cell reaches far enough.

    `sense`: 1: its upper bound; -1: its lower bound.
    """

    cell: int
    sense: int
    reach: float
    intruder: Intruder = OUTSIDER


def cheapest_sums(costs: Floats, equations: csr_array, low: Floats, high: Floats) -> OptimizeResult:
    """Numbers of least cost between bounds that add up: their product with the equations is 0."""
    sums = {"A_eq": equations, "b_eq": np.zeros(equations.shape[0])} if equations.shape[0] else {}
    return linprog(costs, **sums, bounds=np.stack([low, high], axis=1), method="highs")


@dataclass(frozen=True, eq=False)
class Moved:
    """An answer to an attack.

    `prices` (float64, shape (n_cells,), optional): reduced costs: no movement of the cells that adds up moves the
    target by more than the sum of -price * move.
    """

    reach: float
    cells: Integers
    moves: Floats
    prices: Floats | None = None


UNMOVED = Moved(0.0, np.zeros(0, np.int64), np.zeros(0))


class Suppressed:
    """The linear programmes of one pattern of suppression."""

    def __init__(self, tables: LinkedTables, rooms: Rooms) -> None:
        self.tables, self.rooms = tables, rooms
        self.free = np.flatnonzero((rooms.down > 0) | (rooms.up > 0))
        # Cells that share no chain of equations with the target cannot matter: each component is a programme by itself.
        matrix = csr_array(tables.equations[:, self.free])
        rows = np.flatnonzero(np.diff(matrix.indptr))
        used = csr_array(matrix[rows])
        total = len(self.free) + len(rows)
        entries = used.tocoo()
        graph = csr_array((np.ones(entries.nnz), (entries.row, entries.col + len(rows))), shape=(total, total))
        _, self._labels = connected_components(graph, directed=False)
        self._matrix, self._rows = used, rows
        self._parts: dict[int, tuple[Integers, Integers, csr_array]] = {}

    def _part(self, cell: int) -> tuple[Integers, Integers, csr_array]:
        """Free cells and equations of the component of a cell, and the equations over them."""
        position = int(np.searchsorted(self.free, cell))
        if position >= len(self.free) or self.free[position] != cell:
            raise parameter("cell", "the attacked cell is published")
        label = int(self._labels[len(self._rows) + position])
        if label not in self._parts:
            rows = np.flatnonzero(self._labels[: len(self._rows)] == label)
            columns = np.flatnonzero(self._labels[len(self._rows) :] == label)
            self._parts[label] = columns, self._rows[rows], csr_array(self._matrix[rows][:, columns])
        return self._parts[label]

    def component(self, cell: int) -> Integers:
        """The suppressed cells that a cell's bounds depend on, itself among them."""
        return self.free[self._part(cell)[0]]

    def moved(self, cell: int, sense: int, scale: float, intruder: Intruder = OUTSIDER, *, capped: bool) -> Moved:
        """How far a cell can move up (sense 1) or down (-1)."""
        columns, rows, matrix = self._part(cell)
        cells = self.free[columns]
        down, up = self.rooms.narrowed(cells, intruder)
        low, high = -down / scale, up / scale
        target = int(np.searchsorted(cells, cell))
        if cell in intruder.known:
            return UNMOVED
        if capped:
            if sense > 0:
                high[target] = min(high[target], 1.0)
            else:
                low[target] = max(low[target], -1.0)
        costs = np.zeros(len(cells))
        costs[target] = -float(sense)
        found = cheapest_sums(costs, matrix, low, high)
        if found.status == 3 or (found.x is None and not capped):
            return replace(UNMOVED, reach=np.inf)
        if found.x is None:
            raise GemelError(ErrorCode.INTERNAL, f"a linear programme ended without an answer: {found.message}")
        # Reduced costs of all cells, the published ones too, from the dual values of the equations.
        prices = np.zeros(self.tables.n_cells)
        if len(rows):
            prices -= self.tables.equations[rows].T @ found.eqlin.marginals
        prices[cell] -= float(sense)
        moving = np.abs(found.x) > 1e-9
        return Moved(max(0.0, -float(found.fun)) * scale, cells[moving], found.x[moving] * scale, prices)

    def withstands(self, attack: Attack) -> Moved | None:
        """A table that leaves the intruder in doubt as required, or None when there is none.

        Of all such tables the one that moves other cells the least: it is likely to serve against others, too.
        """
        cells = self.component(attack.cell)
        return minimum_move(self._part(attack.cell)[2], cells, self.rooms, np.ones(len(cells)), attack)


def minimum_move(matrix: csr_array, cells: Integers, rooms: Rooms, prices: Floats, attack: Attack) -> Moved | None:
    """Move the attacked cell by its reach at the least price of what others move; None if it cannot.

    `matrix` (sparse, shape (n_equations, n)): equations over the cells; `cells` (int64, shape (n,)): which cells may
    move; `prices` (float64, shape (n,)): of moving each by 1, in either direction.
    """
    n = len(cells)
    target = int(np.searchsorted(cells, attack.cell))
    down, up = rooms.narrowed(cells, attack.intruder)
    if (up if attack.sense > 0 else down)[target] < attack.reach * (1 - TOLERANCE):
        return None
    # Two unknowns a cell: how far it moves up, and how far down. The target moves by its reach, in its sense alone.
    low, high = np.zeros(2 * n), np.concatenate([up, down]) / attack.reach
    low[[target, target + n]] = high[[target, target + n]] = (1.0, 0.0) if attack.sense > 0 else (0.0, 1.0)
    found = cheapest_sums(np.tile(prices / prices.max(), 2), hstack([matrix, -matrix], format="csr"), low, high)
    if found.x is None:
        return None
    moves = found.x[:n] - found.x[n:]
    moving = np.abs(moves) > 1e-9
    return Moved(attack.reach, cells[moving], moves[moving] * attack.reach)


# A movement of the withheld cells that adds up and takes a cell as far as asked is proof, whoever found it: scaled, or
# turned round, it serves against another intruder, for another cell that moves in it, and under any pattern that
# withholds the cells that move. Checking one is a comparison of numbers; a linear programme would take milliseconds.

_TRIED = 24  # recent witnesses of a cell that are tried before a programme is solved
_ROUNDING = 1e-9


class Witnesses:
    """Movements found so far, of one set of cells and equations."""

    def __init__(self) -> None:
        self._by_cell: dict[int, deque[Moved]] = {}

    def withstands(self, pattern: Suppressed, attack: Attack) -> Moved | None:
        """A table that leaves the intruder in doubt as required, or None when there is none."""
        for known in self._by_cell.get(attack.cell, ()):
            fitted = self._fitted(pattern, attack, known)
            if fitted is not None:
                return fitted
        found = pattern.withstands(attack)
        if found is not None:
            self.add(found)
        return found

    def add(self, found: Moved) -> None:
        for cell in found.cells.tolist():
            self._by_cell.setdefault(cell, deque(maxlen=_TRIED)).appendleft(found)

    def _fitted(self, pattern: Suppressed, attack: Attack, known: Moved) -> Moved | None:
        """A known movement, scaled to the reach, if it is possible for this intruder under this pattern."""
        position = int(np.searchsorted(known.cells, attack.cell))
        moves = known.moves * (attack.sense * attack.reach / known.moves[position])
        rooms = pattern.rooms
        if not _possible(moves, rooms.down[known.cells], rooms.up[known.cells]):
            return None
        if attack.intruder.units and not _possible(moves, *rooms.narrowed(known.cells, attack.intruder)):
            return None
        return Moved(attack.reach, known.cells, moves)


def _possible(moves: Floats, down: Floats, up: Floats) -> bool:
    """Whether cells can move so far, but for what rounding makes of it."""
    return bool((moves >= -down * (1 + _ROUNDING)).all() and (moves <= up * (1 + _ROUNDING)).all())
