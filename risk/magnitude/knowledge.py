"""What is known of the cells beforehand, and how far each can therefore move from its true value.

Everyone knows that values are not negative, unless some are; and, where that is assumed, each withheld cell within a
share of its value (by last year's table, for example). Intruders who contribute themselves also know that a cell is at
least what they have in it, and the whole of a cell that is theirs alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Intruder:
    """What someone knows beside the published values.

    Parameters
    ----------
    units
        The contributors who attack together; none for an outsider.
    own
        What they have in each cell where they have something.
    known
        Cells that are theirs alone.
    """

    units: tuple[int, ...] = ()
    own: Mapping[int, float] = field(default_factory=dict)
    known: frozenset[int] = frozenset()


OUTSIDER = Intruder()


@dataclass(frozen=True, eq=False)
class Rooms:
    """How far cells may move from a table, by what an outsider knows.

    Parameters
    ----------
    down, up : ndarray of float64, shape (n,)
        0 for a published cell.
    above_zero : ndarray of float64, shape (n,)
        How far a withheld cell lies above 0, of which contributors know a part; infinite where values may be negative,
        and for published cells, of which nothing is to be learnt.
    """

    down: Numbers
    up: Numbers
    above_zero: Numbers

    @classmethod
    def of(cls, values: Numbers, suppressed: NDArray[np.bool_], *, signed: bool, known_within: float = np.inf) -> Rooms:
        """Of the true table.

        Parameters
        ----------
        values : ndarray of float64, shape (n_cells,)
            True values.
        suppressed : ndarray of bool, shape (n_cells,)
            What is withheld.
        signed
            Whether values may be negative.
        known_within
            Share of its absolute value within which each withheld cell is known beforehand.
        """
        sizes = np.abs(values)
        within = np.full(len(values), np.inf) if np.isinf(known_within) else known_within * sizes
        zero = np.full(len(values), np.inf) if signed else np.maximum(values, 0.0)
        return cls(
            np.where(suppressed, np.minimum(zero, within), 0.0),
            np.where(suppressed, within, 0.0),
            np.where(suppressed, zero, np.inf),
        )

    def at(self, cells: Indices) -> Rooms:
        """Of some cells."""
        return Rooms(self.down[cells], self.up[cells], self.above_zero[cells])

    def narrowed(self, cells: Indices, intruder: Intruder) -> tuple[Numbers, Numbers]:
        """How far some cells may move down and up for an intruder, each of shape (n,)."""
        down, up = self.down[cells], self.up[cells]
        if not intruder.units:
            return down, up
        own = np.asarray([intruder.own.get(cell, 0.0) for cell in cells.tolist()])
        known = np.asarray([cell in intruder.known for cell in cells.tolist()], dtype=bool)
        down = np.minimum(down, np.maximum(0.0, self.above_zero[cells] - own))
        return np.where(known, 0.0, down), np.where(known, 0.0, up)
