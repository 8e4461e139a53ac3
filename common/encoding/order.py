"""The order in which a custodian's rows leave it."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray


def random_order(n: int) -> NDArray[np.int64]:
    """Draw an order of n rows from the operating system's random source, all n! equally likely.

    Each row gets 64 random bits and the rows are sorted by them. As long as no two are equal every order
    has the same chance; if two are (once in 30 million times for a million rows), all are drawn again.
    """
    while True:
        draws = np.frombuffer(os.urandom(8 * n), dtype=np.uint64)
        order = np.argsort(draws).astype(np.int64, copy=False)
        drawn = draws[order]
        if (drawn[1:] != drawn[:-1]).all():
            return order


def file_order(n: int) -> NDArray[np.int64]:
    """Leave the rows as they are; for fixed public test records only."""
    return np.arange(n, dtype=np.int64)
