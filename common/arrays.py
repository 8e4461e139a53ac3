"""Short names of array types, by what an element is and how many bits it has, and of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

F64 = NDArray[np.float64]
F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
I16 = NDArray[np.int16]
I8 = NDArray[np.int8]
U64 = NDArray[np.uint64]
U32 = NDArray[np.uint32]
U8 = NDArray[np.uint8]
Ints = NDArray[np.integer]
"""Integers of any width."""

Flags = NDArray[np.bool_]
Columns = Mapping[str, "pl.Series"]
"""A column of each field or variable."""
