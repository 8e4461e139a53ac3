"""What the thesis prints of its chapter 8: tables 2 and 3, and what it says of the models found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

COUNT_BANDS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 10), (11, 20), (21, 10**9))
"""Counts that tables 2 and 3 put together; 0 comes before them."""

BAND_NAMES = ("0", *(str(a) if a == b else (f"{a}-{b}" if b < 10**9 else f"{a}+") for a, b in COUNT_BANDS))

TABLE_2: NDArray[np.int64] = np.array(
    [
        [3_639_639_605, 26_604, 5_327, 2_275, 1_256, 822, 1_647, 824, 527],
        [0, 280, 102, 73, 53, 47, 141, 104, 219],
        [0, 0, 1, 1, 0, 1, 0, 9, 47],
        [0, 0, 0, 0, 0, 0, 0, 0, 21],
        [0, 0, 0, 0, 0, 0, 0, 0, 9],
        [0, 0, 0, 0, 0, 0, 0, 0, 4],
        [0, 0, 0, 0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0],
    ]
)
"""Combinations by sample count (rows) and population count (columns), 1 % sample of twelve variables."""

TABLE_3: NDArray[np.int64] = np.array(
    [
        [3_639_639_605, 25_567, 4_938, 2_016, 1_042, 671, 1_195, 447, 125],
        [0, 1_317, 479, 319, 243, 179, 499, 333, 214],
        [0, 0, 13, 14, 24, 19, 86, 126, 173],
        [0, 0, 0, 0, 0, 1, 8, 27, 122],
        [0, 0, 0, 0, 0, 0, 0, 4, 53],
        [0, 0, 0, 0, 0, 0, 0, 0, 40],
        [0, 0, 0, 0, 0, 0, 0, 0, 75],
        [0, 0, 0, 0, 0, 0, 0, 0, 25],
        [0, 0, 0, 0, 0, 0, 0, 0, 1],
    ]
)
"""The same for the 5 % sample."""

TABLES = {0.01: (2, TABLE_2), 0.05: (3, TABLE_3)}
"""By sampling fraction: the table's number, and the table."""


@dataclass(frozen=True)
class Stated:
    """What the thesis says of one of its runs; None where it says nothing.

    `visited` are models that MC3 visited after burn-in, `weight` the share of the samples at the model visited
    longest; `edges`, `annealed_edges` and `common_edges` of the best model by MC3, by annealing, and of both.
    """

    visited: int
    weight: float | None
    edges: int | None
    annealed_edges: int | None
    common_edges: int | None
    annealing_better: bool


STATED = {
    (12, 0.01): Stated(2, 0.995, 11, 14, 8, False),
    (12, 0.05): Stated(4, 0.920, None, None, None, False),
    (16, 0.01): Stated(8, None, None, None, None, True),
    (8, 0.05): Stated(2, None, None, None, None, True),
}
"""By number of variables and sampling fraction; the other two runs are not described."""
