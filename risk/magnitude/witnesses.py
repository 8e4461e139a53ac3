"""Tables that show an attack withstood, kept for other attacks: one table often answers many of them.

A movement of the withheld cells that adds up and takes a cell as far as asked is proof, whoever found it: scaled, or
turned round, it serves against another intruder, for another cell that moves in it, and under any pattern that
withholds the cells that move. Checking one is a comparison of numbers; a linear programme would take milliseconds.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from gemel.risk.magnitude.attacks import Attack, Moved, Suppressed

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
        """Keep a movement."""
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


def _possible(moves: NDArray[np.float64], down: NDArray[np.float64], up: NDArray[np.float64]) -> bool:
    """Whether cells can move so far, but for what rounding makes of it."""
    return bool((moves >= -down * (1 + _ROUNDING)).all() and (moves <= up * (1 + _ROUNDING)).all())
