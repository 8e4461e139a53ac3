"""Combinations of key values as a key file, whose levels are the codes that occur."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.risk.identification.coding import MISSING_LABEL
from gemel.risk.identification.key_file import KeyFile


def key_file(codes: NDArray[np.int32], names: Sequence[str], fraction: float) -> KeyFile | None:
    """The records as an intruder sees them; None where there is no record or no key.

    A missing value is a separate level. A level's label is the number of its code, counted from 1.
    """
    if not len(codes) or not len(names):
        return None
    columns, labels = [], []
    for q in range(len(names)):
        there, which = np.unique(codes[:, q], return_inverse=True)
        columns.append(which.reshape(-1).astype(np.int32))
        labels.append(tuple(MISSING_LABEL if code < 0 else str(code + 1) for code in there.tolist()))
    return KeyFile(tuple(names), tuple(labels), np.stack(columns, axis=1), fraction)
