"""Rules, bounds and cheapest suppression by their plain definitions: loops over records, tables and patterns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Record = tuple[tuple[str, ...], float, str, float]
"""Levels, value, unit, weight."""
TIE = 1e-9
"""Share of a cell that decides nothing: 504 of 720 are 70 per cent, whatever the last digit of .7 makes of it."""
Cell = tuple[str, ...]


def cells_of(levels: Sequence[Sequence[str]]) -> list[Cell]:
    """Every cell of a table, with its totals."""
    return list(product(*(["Total", *own] for own in levels)))


def within(record: Sequence[str], cell: Cell) -> bool:
    """Whether a record, or an inner cell, is part of a cell."""
    return all(c in (r, "Total") for r, c in zip(record, cell, strict=True))


def amounts(records: Sequence[Record], cell: Cell) -> list[float]:
    """Each contributor's amount, the largest first; a unit of weight 3 is three contributors."""
    units: dict[str, list[tuple[float, float]]] = {}
    for levels, value, unit, weight in records:
        if within(levels, cell):
            units.setdefault(unit, []).append((value, weight))
    found = []
    for own in units.values():
        smallest = min(w for _, w in own)
        amount = abs(sum(v * w for v, w in own)) / smallest
        if amount > 0:
            found += [amount] * max(1, int(np.floor(smallest + 0.5)))
    return sorted(found, reverse=True)


def size(records: Sequence[Record], cell: Cell) -> float:
    """The cell as the rules see it: the sum of its units' absolute weighted sums."""
    units: dict[str, float] = {}
    for levels, value, unit, weight in records:
        if within(levels, cell):
            units[unit] = units.get(unit, 0.0) + value * weight
    return sum(map(abs, units.values()))


def risky_by_p(records: Sequence[Record], cell: Cell, p: float, coalition: int = 1, q: float = 100.0) -> bool:
    """The largest contribution can be estimated within p per cent by the next ones, who know the rest within q."""
    found = amounts(records, cell)
    if not found:
        return False
    rest = size(records, cell) - sum(found[: coalition + 1])
    return p / 100 * found[0] - q / 100 * max(0.0, rest) > TIE * size(records, cell)


def risky_by_dominance(records: Sequence[Record], cell: Cell, n: int, k: float) -> bool:
    """The n largest have more than k per cent."""
    found = amounts(records, cell)
    return bool(found) and sum(found[:n]) - k / 100 * size(records, cell) > TIE * size(records, cell)


def bounds_by_programme(
    inner: Sequence[Cell],
    published: Mapping[Cell, float],
    target: Cell,
    floors: Mapping[Cell, float] | None = None,
    ceilings: Mapping[Cell, float] | None = None,
) -> tuple[float, float]:
    """Smallest and largest value of a cell, over inner cells that are not negative and add up to what is published.

    `floors` and `ceilings` are known limits of cells, inner or sums.
    """
    rows = np.asarray([[float(within(c, cell)) for c in inner] for cell in published]).reshape(-1, len(inner))
    aim = np.asarray([float(within(c, target)) for c in inner])
    known = [(cell, -1.0, x) for cell, x in (floors or {}).items()] + [(c, 1.0, x) for c, x in (ceilings or {}).items()]
    limits = np.asarray([[sign * within(c, cell) for c in inner] for cell, sign, _ in known]) if known else None
    ends = []
    for sign in (1.0, -1.0):
        found = linprog(
            sign * aim,
            A_ub=limits,
            b_ub=None if limits is None else np.asarray([sign * x for _, sign, x in known]),
            A_eq=rows,
            b_eq=np.asarray(list(published.values())),
            bounds=(0, None),
        )
        ends.append(np.inf if found.status == 3 else abs(sign * float(found.fun)))
    return ends[0], ends[1]


def whole_tables(inner: Sequence[Cell], published: Mapping[Cell, int], largest: int) -> NDArray[np.int64]:
    """Every table of whole numbers from 0 to `largest` that agrees with what is published, a row for each."""
    possible = np.indices([largest + 1] * len(inner)).reshape(len(inner), -1).T
    for cell, value in published.items():
        possible = possible[possible[:, [within(c, cell) for c in inner]].sum(axis=1) == value]
    return possible


def cheapest(
    cells: Sequence[Cell],
    inner: Sequence[Cell],
    values: Mapping[Cell, float],
    required: Mapping[Cell, float],
    candidates: Sequence[Cell],
    known_within: float = np.inf,
) -> float | None:
    """The least sum of values of further cells whose suppression leaves an outsider far enough from each primary cell.

    By trying every set of candidates. Each withheld cell is known within a share of its value beforehand.
    """
    best = None
    for number in range(len(candidates) + 1):
        for chosen in combinations(candidates, number):
            cost = sum(values[c] for c in chosen)
            if best is not None and cost >= best:
                continue
            published = {c: values[c] for c in cells if c not in required and c not in chosen}
            hidden = [c for c in cells if c not in published and np.isfinite(known_within)]
            floors = {c: values[c] * (1 - known_within) for c in hidden}
            ceilings = {c: values[c] * (1 + known_within) for c in hidden}
            for cell, reach in required.items():
                low, high = bounds_by_programme(inner, published, cell, floors, ceilings)
                if high < values[cell] + reach * (1 - 1e-6) or low > max(0.0, values[cell] - reach) + 1e-6:
                    break
            else:
                best = cost
    return best
