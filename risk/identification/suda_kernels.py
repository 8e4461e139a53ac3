"""The search for minimal sample uniques, compiled.

Subsets of the keys are visited as a tree: a subset's children add one key that is lower than all its own. A node holds
its classes of records that agree on the subset; a class of one record makes it unique there. What makes the search fast
is how soon records leave:

- a record that is alone goes (it is unique here, and on every superset not minimally);
- two records of a class that agree on every key that may still be added below can never be distinguished there: they
  become one item, which is no candidate any more but still makes others non-unique. Records are sorted, and classes
  are split stably, so that such records stay neighbours: one comparison each;
- a class without candidates goes.

A record is found by every subset on whose parent it is not unique; some of these subsets contain others. All proper
subsets of a subset are visited before it, so `minimal` sorts what was found by record, and keeps of each record's list
what contains nothing that was kept before: one pass, in the order of memory.

A missing value that agrees with everything puts its record into every class of the split, where it is no candidate:
adding that key distinguishes it from no one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from gemel.risk.arrays import Codes, Integers

_WORD = 63  # bits of a signed word that are used


def packed(codes: Integers, levels: Integers) -> tuple[Integers, Integers]:
    """Combinations as words of bits, and where each key lies.

    `codes` (int64, shape (n_cells, n_keys)): level numbers; a number of `levels[key]` agrees with everything; `levels`
    (int64, shape (n_keys,)).

    Returns `rows` (int64, shape (n_cells, n_words)); `layout` (int64, shape (n_keys, 3)): word, shift and mask of each
    key; a key lies in one word.
    """
    layout = np.zeros((len(levels), 3), dtype=np.int64)
    word, shift = 0, 0
    for key, n in enumerate(levels.tolist()):
        width = int(n).bit_length()
        if shift + width > _WORD:
            word, shift = word + 1, 0
        layout[key] = word, shift, (1 << width) - 1
        shift += width
    rows = np.zeros((len(codes), word + 1), dtype=np.int64)
    for key, (w, by, _) in enumerate(layout):
        rows[:, w] |= codes[:, key] << by
    return rows, layout


@njit(cache=True, nogil=True)
def _grown(array: Any, size: int) -> Any:
    larger = np.empty(max(size, 2 * len(array)), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def _lower_keys(layout: Any, n_words: int) -> Any:
    """For each key, the bits of all lower ones, shape (n_keys, n_words)."""
    below = np.zeros((len(layout), n_words), dtype=np.int64)
    for key in range(1, len(layout)):
        below[key] = below[key - 1]
        below[key, layout[key - 1, 0]] |= layout[key - 1, 2] << layout[key - 1, 1]
    return below


class _Values(NamedTuple):
    """Working arrays about the values of the key that splits a class, an entry for each value."""

    tally: Codes  # items of the class that have the value
    hopeful: Codes  # candidates among them
    place: Codes  # first the one candidate, where there is only one; then where the value's items begin
    top: Codes  # where its next item is placed
    touched: Codes  # the values that occur, without gaps


@njit(cache=True, nogil=True)
def _count(rows, field, items, alone, s, e, values):  # type: ignore[no-untyped-def]  # compiled
    """Count a class's values, which are then `touched`, and those that agree with every value."""
    word, shift, bits, any_value = field
    tally, hopeful, place, _, touched = values
    n_touched, wild = 0, 0
    for t in range(s, e):
        v = (rows[items[t], word] >> shift) & bits
        if v == any_value:
            wild += 1
            continue
        if tally[v] == 0:
            touched[n_touched] = v
            n_touched += 1
            hopeful[v] = 0
        tally[v] += 1
        if alone[t]:
            hopeful[v] += 1
            place[v] = items[t]  # the only one, where there is only one
    return n_touched, wild


@njit(cache=True, nogil=True)
def _split(rows, field, items, alone, s, e, values, splitting, below, key):  # type: ignore[no-untyped-def]  # compiled
    """Place a class's items by value, in order; neighbours who agree on the keys below become one."""
    word, shift, bits, any_value = field
    tally, _, place, top, touched = values
    for t in range(s, e):
        i = items[t]
        v = (rows[i, word] >> shift) & bits
        once, lone = 1, alone[t]
        if v == any_value:
            once, lone = splitting, np.uint8(0)
        elif tally[v] == 0:
            continue
        for k in range(once):
            w = touched[k] if v == any_value else v
            at = top[w]
            if at > place[w] and _agree(rows, i, items[at - 1], below, key):
                alone[at - 1] = 0
            else:
                items[at], alone[at] = i, lone
                top[w] = at + 1


@njit(cache=True, nogil=True)
def _agree(rows, i, j, below, key):  # type: ignore[no-untyped-def]  # compiled
    """Whether two combinations agree on every key below one."""
    for x in range(rows.shape[1]):  # noqa: SIM110  compiled
        if (rows[i, x] ^ rows[j, x]) & below[key, x]:
            return False
    return True


@njit(cache=True, nogil=True)
def uniques(rows, layout, candidate, levels, highest, part, parts, maximum, held, task, limit):  # type: ignore[no-untyped-def]  # compiled
    """Subsets on which combinations are unique, and not on their parents in the tree.

    `candidate` (uint8, shape (n_cells,)): 1 for a combination that one record has and no other agrees with; `levels`
    (int64, shape (n_keys,)); `held` (int64, shape (n_tasks,)): what each task has found, as far as it has reported:
    this one writes its own.

    Returns `cells` (int32, shape (n_found,)); `subsets` (int64, shape (n_found,)): keys as bits.
    """
    n_keys, n = len(levels), len(rows)
    items = np.empty(3 * n + 16, dtype=np.int32)
    alone = np.empty(3 * n + 16, dtype=np.uint8)
    starts = np.empty(n + 64, dtype=np.int32)
    for t in range(n):
        items[t] = t
        alone[t] = candidate[t]
    starts[0], starts[1] = 0, n
    below = _lower_keys(layout, rows.shape[1])
    # One entry for each depth: where its classes begin, how many, the key to add next, the lowest key it has.
    first_class = np.zeros(n_keys + 1, dtype=np.int64)
    n_classes = np.zeros(n_keys + 1, dtype=np.int64)
    end = np.zeros(n_keys + 1, dtype=np.int64)
    following = np.zeros(n_keys + 1, dtype=np.int64)
    lowest = np.zeros(n_keys + 1, dtype=np.int64)
    mask = np.zeros(n_keys + 1, dtype=np.int64)
    n_classes[0], end[0], following[0], lowest[0] = 1, n, highest, highest + 1

    widest = levels.max()
    tally = np.zeros(widest + 1, dtype=np.int32)
    place = np.zeros(widest + 1, dtype=np.int32)
    top = np.zeros(widest + 1, dtype=np.int32)
    hopeful = np.zeros(widest + 1, dtype=np.int32)
    touched = np.empty(widest + 1, dtype=np.int32)
    values = _Values(tally, hopeful, place, top, touched)
    found = np.empty(max(1024, n), dtype=np.int64)
    of_cell = np.empty(max(1024, n), dtype=np.int32)
    n_found = 0

    depth = 0
    while depth >= 0:
        key = following[depth]
        if key >= lowest[depth]:
            depth -= 1
            continue
        following[depth] += 1
        subset = mask[depth] | (np.int64(1) << key)
        leaf = key == 0 or depth + 1 == maximum
        field = layout[key, 0], layout[key, 1], layout[key, 2], levels[key]
        class_base = first_class[depth] + n_classes[depth] + 1
        made, out = 0, end[depth]
        for c in range(first_class[depth], first_class[depth] + n_classes[depth]):
            s, e = starts[c], starts[c + 1]
            n_touched, wild = _count(rows, field, items, alone, s, e, values)
            # Whoever is alone is unique here; a value without candidates is of no interest below.
            splitting = 0
            for k in range(n_touched):
                v = touched[k]
                if hopeful[v] and tally[v] == 1 and wild == 0:
                    tally[v] = 0
                    if depth == 0 and part > 0:
                        continue
                    if n_found == len(found):
                        held[task] = n_found
                        if held.sum() > limit:
                            return of_cell[:0], found[:0], False
                        found = _grown(found, 0)
                        of_cell = _grown(of_cell, 0)
                    found[n_found], of_cell[n_found] = subset, place[v]
                    n_found += 1
                elif leaf or hopeful[v] == 0:
                    tally[v] = 0
                else:
                    touched[splitting] = v
                    splitting += 1
            if splitting == 0:
                continue
            # Place the others by value, in order; neighbours who agree below become one.
            need = out
            for k in range(splitting):
                v = touched[k]
                place[v] = need
                top[v] = need
                need += tally[v] + wild
            if need > len(items):
                items = _grown(items, need)
                alone = _grown(alone, need)
            _split(rows, field, items, alone, s, e, values, splitting, below, key)
            # Keep the classes that still have a candidate, without gaps.
            for k in range(splitting):
                v = touched[k]
                a, b = place[v], top[v]
                tally[v] = 0
                if depth == 0 and k % parts != part:
                    continue
                if not alone[a:b].any():  # no candidate
                    continue
                if class_base + made + 2 > len(starts):
                    starts = _grown(starts, class_base + made + 2)
                starts[class_base + made] = out
                made += 1
                if a == out:
                    out = b
                else:
                    for t in range(a, b):
                        items[out], alone[out] = items[t], alone[t]
                        out += 1
        if made:
            starts[class_base + made] = out
            depth += 1
            first_class[depth], n_classes[depth], end[depth] = class_base, made, out
            following[depth], lowest[depth], mask[depth] = 0, key, subset
    held[task] = n_found
    return of_cell[:n_found].copy(), found[:n_found].copy(), True


@njit(cache=True, nogil=True)
def minimal(offsets, kept, of_cell, found):  # type: ignore[no-untyped-def]  # compiled
    """The minimal ones of what is known of each combination and what was found since.

    `offsets` (int64, shape (n_cells + 1,)): where the subsets of each combination begin in `kept`.
    """
    n = len(offsets) - 1
    begin = np.zeros(n + 1, dtype=np.int64)
    for i in of_cell:
        begin[i + 1] += 1
    for i in range(n):
        begin[i + 1] += begin[i]
    sorted_found = np.empty(len(found), dtype=np.int64)
    at = begin[:n].copy()
    for k in range(len(found)):
        sorted_found[at[of_cell[k]]] = found[k]
        at[of_cell[k]] += 1
    result = np.empty(len(kept) + len(found), dtype=np.int64)
    new_offsets = np.zeros(n + 1, dtype=np.int64)
    out = 0
    for i in range(n):
        start = out
        for k in range(offsets[i], offsets[i + 1]):
            result[out] = kept[k]
            out += 1
        for k in range(begin[i], begin[i + 1]):
            subset = sorted_found[k]
            contains = False
            for x in range(start, out):
                if result[x] & subset == result[x]:
                    contains = True
                    break
            if not contains:
                result[out] = subset
                out += 1
        new_offsets[i + 1] = out
    return new_offsets, result[:out].copy()
