"""Circuits on plain words, which define what shares are computed of."""

from __future__ import annotations

import numpy as np

from tryst.common.sharing.gates import Shared

PLAIN_ONES = np.full((1, 1), np.uint64(0xFFFFFFFFFFFFFFFF))
"""Ones of circuits on plain words."""


def plain_all_of(requests: list[tuple[Shared, Shared]]) -> list[Shared]:
    """`and` of each pair."""
    return [x & y for x, y in requests]
