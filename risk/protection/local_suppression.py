"""Single values suppressed until every record agrees with enough others: few values, the less important first.

What a suppressed value means afterwards decides what has to be done. ``any``: it agrees with every value, so that
suppressing never takes an agreement away, and a record for which some set of keys is suppressed agrees with all who
agree on the others. ``level``: it agrees with suppressed values only, so that a record leaves its old combination and
needs company in the new one.

Sets of keys are tried in the order of their cost. Of records that agree on all other keys, only as many are suppressed
as the rest needs. With ``any``, values that turn out not to be needed are given back, the costliest first: no
suppressed value can be restored alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numba import njit

from gemel.common.errors import parameter
from gemel.risk.arrays import Codes, Floats, Integers, Mask
from gemel.risk.identification.coding import Counts, Missing, agreeing, tally
from gemel.risk.protection.key_table import cell_frequencies

_GIVEN_BACK = 4 * 10**9  # comparisons of records to which values are given back


def suppress(
    codes: Codes,
    sizes: Sequence[int] | Counts,
    needed: int | Integers,
    *,
    costs: Sequence[float] | None = None,
    missing: Missing = "any",
    give_back: bool = True,
) -> Mask:
    """Which values to suppress so that each record agrees with `needed` records, itself among them.

    Parameters
    ----------
    codes : ndarray of int32, shape (n_records, n_keys)
        Group numbers, -1 where missing.
    sizes
        Number of groups of each key.
    needed
        k, or a number for each record (with ``any`` only).
    costs
        Of suppressing one value of each key, above 0; 1 by default. At equal cost keys of more groups go first.
    give_back
        With ``any``: restore what is not needed. O(n_records) for each suppressed value.

    Raises
    ------
    GemelError
        PARAMETER: more records are needed than there are, or a cost is not positive.

    Notes
    -----
    A heuristic; the problem is NP-hard already for k = 3. At most 2^n_keys rounds, each sorts what is left.

    References
    ----------
    .. [1] Meyerson and Williams, On the complexity of optimal k-anonymity, 2004.
    """
    n = len(codes)
    k = np.broadcast_to(np.asarray(needed, dtype=np.int64), (n,))
    weights = np.ones(codes.shape[1]) if costs is None else np.asarray(costs, dtype=np.float64)
    if weights.shape != (codes.shape[1],) or not (weights > 0).all() or not np.isfinite(weights).all():
        raise parameter("importance of keys", "each key needs a cost above 0")
    if k.max() > n:
        what = "records cannot agree with more records than there are"
        raise parameter("k", what, f"{int(k.max())} of {n} records", "give a smaller k, or a higher threshold of risk")
    if missing == "level":
        return _by_level(codes, sizes, int(k.max()), weights)
    mask = np.zeros(codes.shape, dtype=bool)
    _by_any(codes, sizes, k, weights, mask)
    if give_back and n * int(mask.sum()) <= _GIVEN_BACK:
        _give_back(codes, sizes, k, weights, mask)
    return mask


def _subsets(sizes: Sequence[int] | Counts, weights: Floats) -> list[list[int]]:
    """Every set of keys, the cheapest first, at equal cost the one of more groups."""
    keys = range(len(weights))
    found = [list(s) for r in range(1, len(weights) + 1) for s in combinations(keys, r)]
    return sorted(found, key=lambda s: (round(float(weights[s].sum()), 9), -sum(int(sizes[q]) for q in s)))


def _by_any(codes: Codes, sizes: Sequence[int] | Counts, k: Integers, weights: Floats, mask: Mask) -> None:
    levels = [int(s) for s in sizes]
    values = [range(n) for n in levels]
    now = codes.copy()
    f = cell_frequencies(now, np.ones(len(now), dtype=np.int64), sizes, "any")
    left = np.flatnonzero(f < k)
    for subset in _subsets(sizes, weights):
        if not len(left):
            return
        candidates = left[(now[left][:, subset] >= 0).all(axis=1)]
        if not len(candidates):
            continue
        rows = now[candidates].copy()
        rows[:, subset] = -1
        # Combinations of the file, counted once a round: records are many more.
        cells, counts, _ = tally(now, values)
        after, _, which = tally(rows, values)
        reached = agreeing(after, cells, counts, levels)[which]
        _, _, cell = tally(now[candidates], values)
        order = np.lexsort((cell, f[candidates], which))
        ranked = candidates[order]
        chosen = ranked[_chosen(which[order], cell[order], f[ranked], reached[order], k[ranked])]
        if not len(chosen):
            continue
        before = now[chosen].copy()
        place = np.ix_(chosen, np.array(subset))
        now[place] = -1
        mask[place] = True
        left = np.setdiff1d(left, chosen, assume_unique=True)
        if len(left):
            own, _, at = tally(now[left], values)
            gained, lost = (agreeing(own, *tally(rows, values)[:2], levels) for rows in (now[chosen], before))
            f[left] += (gained - lost)[at]
            left = left[f[left] < k[left]]


@njit(cache=True)
def _chosen(group: Counts, cell: Counts, f: Counts, reached: Counts, k: Counts) -> Mask:  # pragma: no cover
    """Of records sorted by group, frequency and cell, those to suppress; the rest of a group agrees with them."""
    found = np.zeros(len(group), dtype=np.bool_)
    in_group, in_cell = 0, 0
    for i in range(len(group)):
        if i == 0 or group[i] != group[i - 1]:
            in_group, in_cell = 0, 0
        elif cell[i] != cell[i - 1]:
            in_cell = 0
        if f[i] + in_group - in_cell >= k[i] or reached[i] < k[i]:
            continue
        found[i] = True
        in_group += 1
        in_cell += 1
    return found


def _give_back(codes: Codes, sizes: Sequence[int] | Counts, k: Integers, weights: Floats, mask: Mask) -> None:
    """Restore suppressed values, one by one, wherever all records still agree with enough others."""
    now = np.where(mask, -1, codes).astype(np.int32)
    f = cell_frequencies(now, np.ones(len(now), dtype=np.int64), sizes, "any")
    rows, keys = np.nonzero(mask)
    order = np.lexsort((rows, -mask.sum(axis=1)[rows], -weights[keys]))
    restored = _restored(now, codes, f, k, rows[order], keys[order])
    mask[rows[order][restored], keys[order][restored]] = False


@njit(cache=True)
def _restored(now: Codes, codes: Codes, f: Counts, k: Counts, rows: Counts, keys: Counts) -> Mask:  # pragma: no cover
    n, width = now.shape
    found = np.zeros(len(rows), dtype=np.bool_)
    lost = np.zeros(n, dtype=np.int64)
    for i in range(len(rows)):
        r, q = rows[i], keys[i]
        slack = f[r] - k[r]
        value, number, possible = codes[r, q], 0, True
        for j in range(n):
            if now[j, q] == value or now[j, q] < 0:
                continue
            agrees = True
            for v in range(width):
                if v != q and now[j, v] >= 0 and now[r, v] >= 0 and now[j, v] != now[r, v]:
                    agrees = False
                    break
            if agrees:
                if number >= slack or f[j] <= k[j]:
                    possible = False
                    break
                lost[number] = j
                number += 1
        if possible:
            found[i] = True
            now[r, q] = value
            f[r] -= number
            for j in range(number):
                f[lost[j]] -= 1
    return found


def _by_level(codes: Codes, sizes: Sequence[int] | Counts, k: int, weights: Floats) -> Mask:
    now = codes.copy()
    values = [range(int(s)) for s in sizes]
    ones = np.ones(len(now), dtype=np.int64)
    left = np.flatnonzero(cell_frequencies(now, ones, sizes, "level") < k)
    subsets = _subsets(sizes, weights)
    for subset in (*subsets, *subsets):  # once more: records of the first round may be joined
        if not len(left):
            break
        rows = now[left].copy()
        rows[:, subset] = -1
        there = np.ones(len(now), dtype=bool)
        there[left] = False
        both = np.concatenate([rows, now[there]])
        _, _, which = tally(both, values)
        company = np.bincount(which)[which[: len(left)]]
        moved = company >= k
        now[left[moved]] = rows[moved]
        left = left[~moved]
    if len(left):  # fewer than k records, whatever is suppressed of them: others keep them company
        now[left] = -1
        short = k - int((now < 0).all(axis=1).sum())
        f = cell_frequencies(now, ones, sizes, "level")
        while short > 0:
            shown = np.flatnonzero(~(now < 0).all(axis=1))
            largest = shown[np.argmax(f[shown])]
            mates = np.flatnonzero((now == now[largest]).all(axis=1))
            taken = mates[:short] if len(mates) >= k + short else mates
            now[taken] = -1
            short -= len(taken)
            f = cell_frequencies(now, ones, sizes, "level")
    return (now < 0) & (codes >= 0)
