"""Survey weights: how many people each record stands for, and the sampling fraction that they imply."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemel.common.errors import ErrorCode, GemelError, parameter

Weights = NDArray[np.float64]


def check_weights(weights: ArrayLike, where: str = "weights", n_records: int | None = None) -> Weights:
    """Weights as numbers, or an error that counts what is missing, zero or negative.

    Parameters
    ----------
    weights : array of float, shape (n_records,)
        NaN where one is missing.
    where
        The file and column, for the error.
    n_records
        How many there must be.
    """
    found = np.asarray(weights, dtype=np.float64)
    if found.ndim != 1 or (n_records is not None and len(found) != n_records):
        raise parameter(
            where,
            "there must be one survey weight for each record",
            f"shape {found.shape}" + ("" if n_records is None else f" for {n_records} records"),
        )
    missing, zero, negative = int((~np.isfinite(found)).sum()), int((found == 0).sum()), int((found < 0).sum())
    if missing or zero or negative:
        kinds = ((missing, "missing or no numbers"), (zero, "zero"), (negative, "negative"))
        raise GemelError(
            ErrorCode.SOURCE,
            "survey weights must be numbers above 0: the people each record stands for",
            where=where,
            got=", ".join(f"{n:,} {kind}" for n, kind in kinds if n),
            remedy="leave out records of weight zero, which stand for no one, and mend the others",
        )
    return found


def implied_fraction(weights: Weights, where: str = "weights") -> float:
    """Records over the sum of their weights: the sampling fraction where none is given."""
    fraction = len(weights) / float(weights.sum())
    if fraction > 1.0:
        raise parameter(
            where,
            "survey weights sum to fewer people than there are records, so that no sampling fraction follows from them",
            f"a sum of {weights.sum():.6g} for {len(weights):,} records",
            "give weights that raise the file to its population, not weights scaled to a mean of 1",
        )
    return fraction
