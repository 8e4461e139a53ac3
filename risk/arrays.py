"""Arrays by what they hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
"""Numbers of levels or categories; -1 where a value is missing."""
Mask = NDArray[np.bool_]
