"""Bounds and feasibility by integer programming (HiGHS): exact, for any release.

Each solution found is a feasible table, and witnesses every cell's value in it: a cell whose outer bound has been seen
in some solution needs no programme of its own. That saves most of the work, since one table touches many bounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, milp

from common.errors import ErrorCode, TrystError
from risk.attribution.constraints import System, system
from risk.attribution.laws import INFINITE
from risk.attribution.release import Release

_SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class Programmed:
    """Bounds of sums of cells, and which of them are proven attained."""

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    lower_tight: NDArray[np.bool_]
    upper_tight: NDArray[np.bool_]
    programmes: int


@dataclass(frozen=True, eq=False)
class _Answer:
    table: NDArray[np.int64] | None
    bound: float
    status: str  # optimal, limit, infeasible, unbounded


def _solve(rules: System, objective: NDArray[np.float64], seconds: float | None) -> _Answer:
    upper = np.where(rules.upper >= INFINITE, np.inf, rules.upper)
    constraints = [LinearConstraint(rules.matrix, rules.lower, upper)] if rules.matrix.shape[0] else []
    ceiling = np.where(rules.ceiling >= INFINITE, np.inf, rules.ceiling)
    if (rules.floor > rules.ceiling).any():
        return _Answer(None, np.nan, "infeasible")
    # No relative gap: with counts in the thousands the default one would stop short of the integer optimum.
    options = {"mip_rel_gap": 0.0} | ({} if seconds is None else {"time_limit": max(seconds, 0.01)})
    result = milp(
        objective,
        constraints=constraints,
        bounds=Box(rules.floor, ceiling),
        integrality=np.ones(rules.cells),
        options=options,
    )
    table = None if result.x is None else np.rint(result.x).astype(np.int64)
    if result.status == 0:
        return _Answer(table, float(result.fun), "optimal")
    if result.status == 2:
        return _Answer(None, np.nan, "infeasible")
    if result.status == 3 or (result.status == 4 and result.x is None and "unbounded" in str(result.message).lower()):
        return _Answer(table, -np.inf, "unbounded")
    bound = result.mip_dual_bound if getattr(result, "mip_dual_bound", None) is not None else -np.inf
    return _Answer(table, float(bound), "limit")


def feasible_table(rules: System, seconds: float | None = None) -> NDArray[np.int64] | None:
    """Some table that satisfies the constraints, or None when there is none."""
    answer = _solve(rules, np.zeros(rules.cells), seconds)
    if answer.status == "limit" and answer.table is None:
        raise TrystError(
            ErrorCode.PARAMETER,
            "no feasible table was found in the time allowed, nor proven not to exist",
            remedy="allow more time",
        )
    return answer.table


def conflict(release: Release) -> list[str]:
    """Names of a smallest-by-inclusion set of tables that no population satisfies; empty when there is one.

    Deletion filter: leave a table out whenever the rest still conflicts. One programme per table.
    """
    kept = list(range(len(release.tables)))
    if feasible_table(system(release)) is not None:
        return []
    for number in list(kept):
        fewer = [k for k in kept if k != number]
        if feasible_table(system(release, fewer)) is None:
            kept = fewer
    return [release.tables[k].name for k in kept]


def require_feasible(release: Release) -> NDArray[np.int64]:
    """A feasible base table, or an error that names the tables in conflict."""
    table = feasible_table(system(release))
    if table is not None:
        return table
    names = conflict(release)
    raise contradiction(release, names)


def contradiction(release: Release, names: Sequence[str]) -> TrystError:
    """The error of a release that no population satisfies."""
    listed = ", ".join(repr(n) for n in names)
    if len(names) == 1:
        what = f"table {listed} contradicts itself"
    else:
        what = f"no population satisfies tables {listed} together"
    return TrystError(
        ErrorCode.PARAMETER,
        what,
        where=release.name,
        remedy="check their counts, totals and the protection each is said to have",
    )


def programme_bounds(
    rules: System,
    targets: Sequence[NDArray[np.int64]] | None = None,
    *,
    outer: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    witnesses: NDArray[np.int64] | None = None,
    seconds: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Programmed:
    """Least and largest value of sums of cells over all feasible tables.

    Parameters
    ----------
    rules
        A feasible system.
    targets
        Blocks of cells (flat numbers); by default each cell by itself.
    outer
        Valid bounds already known, for example from the shuttle algorithm: a programme is only run where they have not
        been seen attained.
    witnesses : ndarray of int64, shape (n, n_cells)
        Feasible tables already known.
    seconds
        For all programmes together; what is left unproven keeps its outer bound and is reported as not tight.
    progress
        Told the share of the bounds that is settled.

    Returns
    -------
    Programmed

    Raises
    ------
    TrystError
        If the system has no solution.
    """
    count = rules.cells if targets is None else len(targets)
    blocks = [np.asarray([c]) for c in range(rules.cells)] if targets is None else list(targets)
    ends = None if seconds is None else time.monotonic() + seconds
    if outer is None:
        outer = (
            np.asarray([rules.floor[b].sum() for b in blocks], dtype=np.int64),
            np.asarray([min(int(rules.ceiling[b].sum()), INFINITE) for b in blocks], dtype=np.int64),
        )
    low, high = outer[0].astype(np.int64).copy(), np.minimum(outer[1], INFINITE).astype(np.int64)
    least, most = np.full(count, INFINITE, dtype=np.int64), np.full(count, -1, dtype=np.int64)

    def witness(table: NDArray[np.int64]) -> None:
        values = table if targets is None else np.asarray([table[b].sum() for b in blocks], dtype=np.int64)
        np.minimum(least, values, out=least)
        np.maximum(most, values, out=most)

    if witnesses is not None:
        for table in witnesses:
            witness(table)
    programmes = 0
    for k in range(count):
        objective = np.zeros(rules.cells)
        objective[blocks[k]] = 1.0
        for sign in (1.0, -1.0):
            if (least[k] <= low[k]) if sign > 0 else (most[k] >= high[k]):
                continue
            left = None if ends is None else ends - time.monotonic()
            if left is not None and left <= 0:
                continue
            answer = _solve(rules, sign * objective, left)
            programmes += 1
            if answer.status == "infeasible":
                raise TrystError(ErrorCode.PARAMETER, "the constraints contradict one another")
            if answer.table is not None:
                witness(answer.table)
            if sign > 0 and np.isfinite(answer.bound):
                low[k] = max(low[k], int(np.ceil(answer.bound - _SLACK)))
            elif sign < 0 and np.isfinite(answer.bound):
                high[k] = min(high[k], int(np.floor(-answer.bound + _SLACK)))
            elif sign < 0 and answer.status == "unbounded":
                most[k] = INFINITE
        if progress is not None:
            progress((k + 1) / count)
    return Programmed(low, high, least <= low, most >= high, programmes)
