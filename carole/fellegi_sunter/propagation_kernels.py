"""What belief propagation computes in each pass: messages of strong pairs, and sums over weak ones."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from gemel.common.arrays import F64, I32, I64, Flags

MAX_FACTOR = 1e3
"""By how much records are made more or less free at once, lest their pairs' claims leave the range of numbers."""

MANY_WAITING = 1 / 32
"""Share of a file's records from which those that wait are listed again, in the order in which memory has them."""

SERIES = 1e-3
"""Strength below which a series replaces the square root: its error is below 1e-13."""


class Side(NamedTuple):
    """One file's records: their pairs, and what is known of them.

    A record is active while something moves in its component; nothing of another is worked out again.
    """

    first: I64  # (n_records + 1,): edges of each record, which are consecutive here
    other: I32  # (n_edges,): the other file's record of each
    ratio: F64  # (n_edges,): likelihood ratio, 0 of strong ones
    free: F64  # (n_records,): probability that it has no link
    weak: F64  # (n_records,): what its weak pairs claim
    strong: F64  # (n_records,): what its strong pairs claim
    waits: Flags  # (n_records,): whether it has something to say
    active: Flags
    moved: Flags  # (n_records,): whether what its weak pairs claim has changed


class Strong(NamedTuple):
    """Strong edges, ascending, with their messages; and those of each record."""

    edge: I32
    row: I32
    column: I32
    to_a: F64
    to_b: F64
    row_first: I64
    row_edge: I32
    column_first: I64
    column_edge: I32


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def rivals_share(strength: float) -> float:
    """1 / (1 - P) of a pair that is no link more often than one, of this strength.

    At the fixed point ``strength = P * (1 - P)``. While messages still move it may exceed 1/4, and counts as that.
    """
    if strength < SERIES:
        return 1.0 + strength * (1.0 + strength * (2.0 + strength * (5.0 + 14.0 * strength)))
    if strength >= 0.25:
        return 2.0
    return 2.0 / (1.0 + math.sqrt(1.0 - 4.0 * strength))


@njit(nogil=True, cache=True, error_model="numpy")
def sum_weak(
    start: int, stop: int, side: Side, other_free: F64, scale: float, tolerance: float
) -> tuple[int, float, int]:
    """What the weak pairs of the active records `start` to `stop` claim, given how free the other file's records are.

    Returns how many records' sums have changed by more than the tolerance, relative to all that the record's pairs
    weigh, the greatest strength of a weak pair, and the terms summed.
    """
    changed, terms = 0, 0
    strongest = 0.0
    for i in range(start, stop):
        side.moved[i] = False
        if not side.active[i]:
            continue
        terms += side.first[i + 1] - side.first[i]
        total = 0.0
        mine = side.free[i]
        for e in range(side.first[i], side.first[i + 1]):
            claim = side.ratio[e] * scale * other_free[side.other[e]]
            strength = claim * mine
            strongest = max(strongest, strength)
            total += claim * rivals_share(strength)
        if abs(total - side.weak[i]) * mine > tolerance:
            side.waits[i] = side.moved[i] = True
            changed += 1
        side.weak[i] = total
        side.free[i] = 1.0 / (1.0 + total + side.strong[i])
    return changed, strongest, terms


@njit(nogil=True, cache=True, error_model="numpy")
def rest(component_row: I64, component_column: I64, a: Side, b: Side) -> None:
    """Leave the records of those components active in which a sum has changed or a record waits."""
    for c in range(len(component_row) - 1):
        if not a.active[component_row[c]]:
            continue
        moving = False
        for i in range(component_row[c], component_row[c + 1]):
            moving |= a.moved[i] or a.waits[i]
        for j in range(component_column[c], component_column[c + 1]):
            moving |= b.moved[j] or b.waits[j]
        if not moving:
            a.active[component_row[c] : component_row[c + 1]] = False
            b.active[component_column[c] : component_column[c + 1]] = False


@njit(nogil=True, cache=True, error_model="numpy")
def exchange(weight: F64, scale: float, strong: Strong, a: Side, b: Side, tolerance: float, max_rounds: int) -> float:
    """Messages along strong pairs, the weak ones' sums held, until none changes; how many messages are worked out."""
    worked_out = 0.0
    rounds = 0
    # Those that wait, so that a round costs what it changes.
    rows, columns = np.empty(len(a.waits), dtype=np.int32), np.empty(len(b.waits), dtype=np.int32)
    n_rows, n_columns = _listed(a.waits, rows), _listed(b.waits, columns)
    while n_rows + n_columns > 0 and rounds < max_rounds:
        rounds += 1
        for k in range(n_rows):
            i = rows[k]
            worked_out += strong.row_first[i + 1] - strong.row_first[i]
            n_columns = _answer(
                i, strong.row_edge[strong.row_first[i] : strong.row_first[i + 1]], weight, scale, strong.to_a,
                strong.to_b, strong.column, a, b.waits, columns, n_columns, tolerance,
            )  # fmt: skip
        n_rows = 0
        if n_columns > MANY_WAITING * len(columns):
            n_columns = _listed(b.waits, columns)
        for k in range(n_columns):
            j = columns[k]
            worked_out += strong.column_first[j + 1] - strong.column_first[j]
            n_rows = _answer(
                j, strong.column_edge[strong.column_first[j] : strong.column_first[j + 1]], weight, scale, strong.to_b,
                strong.to_a, strong.row, b, a.waits, rows, n_rows, tolerance,
            )  # fmt: skip
        n_columns = 0
        if n_rows > MANY_WAITING * len(rows):
            n_rows = _listed(a.waits, rows)
    return worked_out


@njit(nogil=True, cache=True)
def _listed(waits: Flags, records: I32) -> int:
    """Write the records that wait, ascending; returns how many."""
    n = 0
    for i in range(len(waits)):
        if waits[i]:
            records[n] = i
            n += 1
    return n


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _answer(
    record: int, edges: I32, weight: F64, scale: float, heard: F64, message: F64, other: I32, side: Side, waits: Flags,
    waiting: I32, n_waiting: int, tolerance: float,
) -> int:  # fmt: skip
    """Send a record's changed messages to its strong candidates; returns how many records of the other file wait then.

    Each message is 1 / (1 + sum over the *other* candidates). The heaviest term is left out of the running sum and
    added separately, so that nothing is ever subtracted from a sum it dominates. A message that would move a link's
    probability by less than the tolerance is not sent: small changes add up until they are sent.
    """
    side.waits[record] = False
    top = 0.0
    heaviest = -1
    others = 0.0
    for k in range(len(edges)):
        x = weight[edges[k]] * scale * heard[edges[k]]
        if heaviest < 0 or x > top:
            others += top
            top = x
            heaviest = k
        else:
            others += x
    rest = 1.0 + side.weak[record] + others
    side.strong[record] = top + others
    side.free[record] = 1.0 / (top + rest)
    for k in range(len(edges)):
        e = edges[k]
        x = weight[e] * scale * heard[e]
        new = 1.0 / rest if k == heaviest else 1.0 / (top + (rest - x))
        # The change of the link's probability, from that of its odds.
        odds, before = x * new, x * message[e]
        if abs(odds - before) > tolerance * (1.0 + odds) * (1.0 + before):
            message[e] = new
            if not waits[other[e]]:
                waits[other[e]] = True
                waiting[n_waiting] = other[e]
                n_waiting += 1
    return n_waiting


@njit(nogil=True, cache=True, error_model="numpy")
def balance(
    component_row: I64, component_column: I64, a: Side, b: Side, tolerance: float, factor_a: F64, factor_b: F64
) -> int:
    """Write factors of how free the records of A, and of B, of active components are; returns of how many not 1.

    Each link takes a record of either file: as many must be taken of both.
    """
    changed = 0
    for c in range(len(component_row) - 1):
        if not a.active[component_row[c]]:
            continue
        n_a = component_row[c + 1] - component_row[c]
        n_b = component_column[c + 1] - component_column[c]
        of_a = 0.0
        for i in range(component_row[c], component_row[c + 1]):
            of_a += a.free[i]
        of_b = 0.0
        for j in range(component_column[c], component_column[c + 1]):
            of_b += b.free[j]
        more = float(n_a - n_b)
        if abs(of_a - of_b - more) <= tolerance * (n_a + n_b):
            continue
        # The root of of_a * x - of_b / x = more, in the form that subtracts nothing.
        root = np.sqrt(more * more + 4.0 * of_a * of_b)
        factor = (more + root) / (2.0 * of_a) if more >= 0 else 2.0 * of_b / (root - more)
        factor = min(max(factor, 1.0 / MAX_FACTOR), MAX_FACTOR)
        changed += 1
        factor_a[component_row[c] : component_row[c + 1]] = factor
        factor_b[component_column[c] : component_column[c + 1]] = 1.0 / factor
    return changed


@njit(nogil=True, cache=True, error_model="numpy")
def stronger(ratio: F64, scale: float, row_first: I64, column: I32, free_a: F64, free_b: F64, minimum: float) -> I32:
    """The pairs whose strength exceeds a minimum, ascending."""
    edges = []
    for i in range(len(row_first) - 1):
        at_least = minimum / (scale * free_a[i])
        for e in range(row_first[i], row_first[i + 1]):
            if ratio[e] * free_b[column[e]] > at_least:
                edges.append(np.int32(e))
    return np.array(edges, dtype=np.int32)


@njit(nogil=True, cache=True, error_model="numpy")
def weak_probabilities(
    ratio: F64, scale: float, row: I32, column: I32, free_a: F64, free_b: F64, strong: I32, probability: F64
) -> float:
    """Write P(link) of each pair as a weak one, and return the sum of -log(1 - P) over those that are."""
    total = 0.0
    for e in range(len(ratio)):
        strength = min(ratio[e] * scale * free_a[row[e]] * free_b[column[e]], 0.25)
        share = rivals_share(strength)
        probability[e] = strength * share
        total += np.log(share) if strength >= SERIES else strength * (1.0 + strength * (1.5 + strength * 10.0 / 3.0))
    for e in strong:
        total += np.log1p(-probability[e])
    return total
