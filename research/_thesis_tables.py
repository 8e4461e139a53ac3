"""Tables as T11 has them: exact margins, and its closed form of SAP for a table with a protected total."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.arrays import Floats
from gemel.risk.attribution.release import Release, Table, Variable, publish
from gemel.risk.attribution.sap import exhausted, sap


def anonymous(shape: Sequence[int], prefix: str = "V") -> tuple[Variable, ...]:
    """Variables called V1, V2, ... with levels 1, 2, ...: for examples and generated tables."""
    return tuple(Variable(f"{prefix}{i + 1}", tuple(str(k + 1) for k in range(n))) for i, n in enumerate(shape))


def exact_margins(truth: Table, sets: Sequence[Sequence[str]], name: str = "margins") -> Release:
    """Release exact margins of a table over some sets of its variables."""
    tables = tuple(publish(" x ".join(s) or "total", truth.over(s)) for s in sets)
    return Release(truth.variables, tables, truth, name)


def total_sap(counts: ArrayLike, lower: ArrayLike, upper: ArrayLike, total_upper: int) -> Floats:
    """SAP(0..N) for one table with a protected total, against the attacker who tightens again; closed form.

    `lower`, `upper` and `total_upper` are trivial bounds from what is published. After subtraction of s, cell j is
    bare when s_j = c_j and either c_j is its upper bound (as in `sap`), or the total leaves no room: total_upper =
    N and every other cell is exhausted or sits at its lower bound. The latter needs all cells above their lower
    bound exhausted; when there are none, any one cell. This is the thesis's algorithm (T11 chapter 3), its
    exception for S = T put right, and cells published exactly allowed for. O(N * (N + cells)).
    """
    cells = np.asarray(counts, dtype=np.int64).ravel()
    low, high = (np.asarray(b, dtype=np.int64).ravel() for b in (lower, upper))
    n = int(cells.sum())
    if (low > cells).any() or (high < cells).any() or total_upper < n:
        raise GemelError(ErrorCode.PARAMETER, "the bounds must hold for the true counts")
    first = sap(cells, high)
    if total_upper > n:
        return first
    above = cells > low
    if not above.any():
        return sap(cells)
    size = int(cells[above].sum())
    everyone = exhausted(n, size)
    if (above & (cells == high)).any():
        return first  # to exhaust all cells above their lower bound is to exhaust one at its upper bound
    # Cells at their upper bound are published exactly: none of them exhausted, and all of `above` exhausted.
    k = np.arange(n + 1) - size
    rest_bare = sap(cells[~above], np.where(cells == high, cells, cells + 1)[~above])
    neither = np.where(k >= 0, 1.0 - rest_bare[np.clip(k, 0, n - size)], 0.0)
    return np.asarray(first + everyone * neither)
