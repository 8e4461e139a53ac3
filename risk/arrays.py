"""Arrays by what they hold, and numbers for JSON."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
"""Numbers of levels or categories; -1 where a value is missing."""
Mask = NDArray[np.bool_]


def finite(value: float | None) -> float | None:
    """A number as JSON can hold it: None where it is infinite, no number or not known."""
    return float(value) if value is not None and math.isfinite(value) else None
