"""Where in its source each row of a table was found, for messages: they name the line or row, never the value."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

SHOWN = 5
"""How many positions a message names."""


@dataclass(frozen=True)
class Positions:
    """Where the rows of a table are.

    Attributes
    ----------
    numbers : ndarray of int64, shape (n_rows,)
        1-based line or row of the source.
    unit
        What is counted: ``line`` or ``row``.
    """

    numbers: NDArray[np.int64] = field(repr=False)
    unit: str = "row"

    @classmethod
    def of_rows(cls, n_rows: int) -> Positions:
        """Rows by their own numbers."""
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
        """Add the chosen rows of a table."""
        here = positions.numbers[chosen]
        self.count += len(here)
        self._unit = positions.unit
        self._first += here[: SHOWN - len(self._first)].tolist()

    def __str__(self) -> str:
        shown = ", ".join(map(str, self._first))
        return f"{self._unit}{'s' if self.count > 1 else ''} {shown}{', ...' if self.count > SHOWN else ''}"
