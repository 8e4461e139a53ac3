"""Compiled steps of the extended shuttle algorithm: propagation, depth-first search, random descent.

Bounds are flat arrays over recoded cells; `deps` holds a dependency in each row (whole, part, other part), and
`touching[starts[c] : starts[c + 1]]` are the dependencies that recoded cell c takes part in.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def propagate(low, high, deps, starts, touching, queue, queued, head, tail):  # type: ignore[no-untyped-def]
    """Work the queue of dependencies off; False at a contradiction (the queue is emptied then, too)."""
    size = len(queue)
    sound = True
    while head != tail:
        d = queue[head]
        head = head + 1 if head + 1 < size else 0
        queued[d] = False
        if not sound:
            continue
        c, a, b = deps[d, 0], deps[d, 1], deps[d, 2]
        for turn in range(6):
            if turn == 0:
                node, bound, raises = c, low[a] + low[b], True
            elif turn == 1:
                node, bound, raises = c, high[a] + high[b], False
            elif turn == 2:
                node, bound, raises = a, low[c] - high[b], True
            elif turn == 3:
                node, bound, raises = a, high[c] - low[b], False
            elif turn == 4:
                node, bound, raises = b, low[c] - high[a], True
            else:
                node, bound, raises = b, high[c] - low[a], False
            if raises and bound > low[node]:
                low[node] = bound
            elif not raises and bound < high[node]:
                high[node] = bound
            else:
                continue
            if low[node] > high[node]:
                sound = False
                break
            for k in range(starts[node], starts[node + 1]):
                other = touching[k]
                if not queued[other]:
                    queued[other] = True
                    queue[tail] = other
                    tail = tail + 1 if tail + 1 < size else 0
    return sound


@njit(cache=True)
def fix(low, high, node, minimum, maximum, deps, starts, touching, queue, queued):  # type: ignore[no-untyped-def]
    """Narrow one recoded cell to least..most and propagate."""
    if minimum > low[node]:
        low[node] = minimum
    if maximum < high[node]:
        high[node] = maximum
    if low[node] > high[node]:
        return False
    tail = 0
    for k in range(starts[node], starts[node + 1]):
        queued[touching[k]] = True
        queue[tail] = touching[k]
        tail += 1
    return propagate(low, high, deps, starts, touching, queue, queued, 0, tail)


@njit(cache=True)
def explore(low, high, base, deps, starts, touching, found, steps):  # type: ignore[no-untyped-def]
    """Depth-first search from propagated bounds; fills `found` with feasible base tables.

    Returns (tables found, steps taken, whether the search was cut short).
    """
    cells, nodes = len(base), len(low)
    lows, highs = np.empty((cells + 1, nodes), np.int64), np.empty((cells + 1, nodes), np.int64)
    queue, queued = np.empty(len(deps) + 1, np.int32), np.zeros(len(deps), np.bool_)
    branch, value = np.empty(cells + 1, np.int64), np.empty(cells + 1, np.int64)
    lows[0], highs[0] = low, high
    depth, count, taken, entering = 0, 0, 0, True
    while depth >= 0:
        if entering:
            # The undecided cell with the fewest values: contradictions show early.
            best, narrow = -1, np.int64(0)
            for i in range(cells):
                width = highs[depth, base[i]] - lows[depth, base[i]]
                if width > 0 and (best < 0 or width < narrow):
                    best, narrow = i, width
            if best < 0:
                if count == len(found):
                    return count, taken, 1
                for i in range(cells):
                    found[count, i] = lows[depth, base[i]]
                count += 1
                depth -= 1
                entering = False
                continue
            branch[depth] = base[best]
            value[depth] = lows[depth, base[best]]
        else:
            value[depth] += 1
        node = branch[depth]
        entering = False
        if value[depth] > highs[depth, node]:
            depth -= 1
            continue
        taken += 1
        if taken > steps:
            return count, taken, 1
        lows[depth + 1] = lows[depth]
        highs[depth + 1] = highs[depth]
        if fix(
            lows[depth + 1], highs[depth + 1], node, value[depth], value[depth], deps, starts, touching, queue, queued
        ):
            depth += 1
            entering = True
    return count, taken, 0
