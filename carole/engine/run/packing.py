"""A pair's comparison vector as one integer: mixed radix, the level of field q a digit, missing the last digit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.carole.fellegi_sunter.patterns import MISSING
from gemel.common.errors import parameter


class Packing:
    """How the levels of the compared fields are packed.

    Parameters
    ----------
    names : sequence of str
        Fields, for the error.
    n_levels : sequence of int
        Levels of each field; the digit `n_levels[q]` means missing.

    Raises
    ------
    GemelError
        PARAMETER if there are 2**63 vectors or more.
    """

    def __init__(self, names: Sequence[str], n_levels: Sequence[int]) -> None:
        self.n_levels = tuple(n_levels)
        strides = [1]
        for levels in self.n_levels:
            strides.append(strides[-1] * (levels + 1))
        if strides[-1] >= 2**63:
            fields = ", ".join(f"{name} {levels}" for name, levels in zip(names, n_levels, strict=True))
            raise parameter(
                "fields",
                "there must be fewer than 2**63 possible comparison vectors",
                f"2**{np.log2(float(strides[-1])):.0f} from these fields' levels (and missing): {fields}",
                "compare fewer fields, or give some of them fewer levels",
            )
        self.strides = tuple(strides[:-1])

    def unpack(self, codes: NDArray[np.int64]) -> NDArray[np.int8]:
        """Comparison vectors of packed codes; shape (n, n_fields), with `MISSING` where a value is missing."""
        gamma = np.empty((len(codes), len(self.strides)), dtype=np.int8)
        for q, (stride, levels) in enumerate(zip(self.strides, self.n_levels, strict=True)):
            digit = codes // stride % (levels + 1)
            gamma[:, q] = np.where(digit == levels, MISSING, digit)
        return gamma
