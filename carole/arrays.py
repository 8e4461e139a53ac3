"""Short names of array types, by what an element is and how many bits it has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
I8 = NDArray[np.int8]
U64 = NDArray[np.uint64]
U32 = NDArray[np.uint32]
Ints = NDArray[np.integer]
"""Integers of any width."""

Flags = NDArray[np.bool_]
