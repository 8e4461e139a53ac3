"""Local suppression as sdcMicro documents it (`localSuppression`, `kAnon`), written again for comparison.

sdcMicro itself needs R, which is not among the packages of this project. Its manual and the notes of its code describe:
keys with more categories are less important; records of which more than k are alike are left aside but for k; the
records that too few agree with are taken in the order of their risk; of each, one value is suppressed, in the less
important keys first, in which it differs from one of the records nearest to it; this is repeated until all agree with
k. A missing value agrees with every value. Here a record that agrees with k by then is passed over, as older versions
did: fewer values are suppressed so.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gemel.risk.models.counts import distinct_rows


def documented_suppression(codes: NDArray[np.int32], sizes: list[int], k: int) -> NDArray[np.bool_]:
    """Which values the documented algorithm suppresses, shape (n_records, n_keys)."""
    _, which = distinct_rows(codes + 1, [s + 1 for s in sizes])
    order = np.argsort(which, kind="stable")
    start = np.flatnonzero(np.r_[True, np.diff(which[order]) > 0])
    place = np.arange(len(order)) - np.repeat(start, np.diff(np.r_[start, len(order)]))
    kept = np.sort(order[place < k])
    now = codes[kept].copy()
    levels = np.array([len(np.unique(codes[codes[:, q] >= 0, q])) for q in range(codes.shape[1])])
    keys = np.argsort(-levels, kind="stable")
    f = _frequencies(now)
    while (f < k).any():
        short = np.flatnonzero(f < k)
        _round(now, short[np.argsort(f[short], kind="stable")], keys, k)
        f = _frequencies(now)
    mask = np.zeros(codes.shape, dtype=bool)
    mask[kept] = (now < 0) & (codes[kept] >= 0)
    return mask


@njit(cache=True)
def _frequencies(now: NDArray[np.int32]) -> NDArray[np.int64]:
    n, width = now.shape
    f = np.zeros(n, dtype=np.int64)
    for i in range(n):
        for j in range(n):
            agrees = True
            for q in range(width):
                if now[i, q] != now[j, q] and now[i, q] >= 0 and now[j, q] >= 0:
                    agrees = False
                    break
            f[i] += agrees
    return f


@njit(cache=True)
def _round(now: NDArray[np.int32], short: NDArray[np.int64], keys: NDArray[np.int64], k: int) -> None:
    n, width = now.shape
    distance = np.empty(n, dtype=np.int64)
    for i in short:
        nearest, agree = width, 0
        for j in range(n):
            d = 0
            for q in range(width):
                if now[i, q] != now[j, q] and now[i, q] >= 0 and now[j, q] >= 0:
                    d += 1
            distance[j] = d
            agree += d == 0
            if 0 < d < nearest:
                nearest = d
        if agree >= k:
            continue
        done = False
        for q in keys:
            for j in range(n):
                if distance[j] == nearest and now[i, q] != now[j, q] and now[i, q] >= 0 and now[j, q] >= 0:
                    now[i, q] = -1
                    done = True
                    break
            if done:
                break
