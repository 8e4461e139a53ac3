"""Samples of each field's values in mode block_keyed, from which chance agreement is estimated, in small groups.

A field's sample is cut into `GROUPS` groups under a key each: values of Alice's group g compare with values of Bob's
group g, and with nothing else. Under one key 2,000 values of a field show how similar they are to each other, and
public counts of names read nearly all of them from that; of 32 they read none (``python -m benchmarks leakage
--sections samples``).

Every field is drawn in an order of its own, from the custodian's own key: the values in one row of the sample belong to
different people. The draw goes by values and not by places in the file, and is the same in every upload and epoch; the
places of values are drawn for each group and epoch by itself, since equal places would show which signatures under two
keys are of one value. A record comes into one group, or, in files of fewer records than the groups hold, in as few as
can be, and never twice in one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from gemel.common.arrays import I64, U64
from gemel.common.keys.bulk import numbers
from gemel.common.signatures.intervals import interval_of
from gemel.common.signatures.layout import GROUPS, group_rows, sample_rows
from gemel.custodian.encoding.columns import Drawing

_PART_ROWS = 1 << 20
"""Records whose values are counted at a time."""


def value_key(name: str, drawing: Drawing) -> bytes:
    """The key of the digests by which a field's sample is drawn."""
    return drawing.key(f"values of {name}")


def grouped(records: int, order: Callable[[int], I64]) -> I64:
    """Records in each group, shape (GROUPS, group_rows(records)); what does not fill a group is left out of its round.

    `order` makes the records' order in each round, of which the groups are parts; rounds count from 0. It may leave out
    those that no group takes: the first `sample_rows(records)` are enough.
    """
    size = group_rows(records)
    of_round = min(GROUPS, records // size) if records else GROUPS
    rounds = range(-(-GROUPS // of_round))
    drawn = [order(number)[: of_round * size].reshape(of_round, size) for number in rounds]
    return np.concatenate(drawn)[:GROUPS]


def drawn_groups(digests: U64, name: str, epoch: int, drawing: Drawing) -> I64:
    """Records in each group of a field's sample, all equally likely, by their values and not by their places.

    Each occurrence of a value has a number of its own in each round, and the records follow each other by these. The
    digests are uint64, shape (n_records,), equal for equal values. O(n_records); besides the digests memory for a few
    million records, whatever their number.
    """
    occurrence: dict[int, int] = {}

    def order(number: int) -> I64:
        key = drawing.key(f"sample of {name}, round {number}")
        draw = partial(numbers, key, suite=drawing.suite)
        rows, its = _first_drawn(digests, sample_rows(len(digests)), draw)
        occurrence.update(zip(rows.tolist(), its.tolist(), strict=True))
        return rows

    rows = grouped(len(digests), order)
    for number, group in enumerate(rows):
        its = np.array([occurrence[row] for row in group.tolist()], dtype=np.int64)
        places = drawing.draw(f"places in group {number} of the sample of {name}, epoch {epoch}", digests[group], its)
        rows[number] = group[np.argsort(places, kind="stable")]
    return rows


def _first_drawn(digests: U64, count: int, draw: Callable[[U64, I64], U64]) -> tuple[I64, I64]:
    """The records with the least numbers drawn, ascending, and which occurrence of its value each is.

    Values are counted some at a time, by the first bits of their digests.
    """
    kept = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64)
    for rows, occurrence in _occurrences(digests):
        drawn = draw(digests[rows], occurrence)
        if len(kept[0]) == count and count:
            near = drawn <= kept[2][-1]
            rows, occurrence, drawn = rows[near], occurrence[near], drawn[near]
        every, its, values_drawn = (np.concatenate(pair) for pair in zip(kept, (rows, occurrence, drawn), strict=True))
        first = np.lexsort([every, values_drawn])[:count]
        kept = every[first], its[first], values_drawn[first]
    return kept[0], kept[1]


def _occurrences(digests: U64) -> Iterator[tuple[I64, I64]]:
    """Some records and which occurrence of its value each is, from 0 in the order of the file; in the end all."""
    parts = 1 << max(0, -(-len(digests) // _PART_ROWS) - 1).bit_length()
    for part in range(parts):
        known, counts = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
        for rows in _rows_of_part(digests, part, parts):
            here = digests[rows]
            by_value = np.argsort(here, kind="stable")
            values, first, its_count = np.unique(here[by_value], return_index=True, return_counts=True)
            before = np.zeros(len(values), dtype=np.int64)
            if len(known):
                place = np.minimum(np.searchsorted(known, values), len(known) - 1)
                before = np.where(known[place] == values, counts[place], 0)
            occurrence = np.empty(len(rows), dtype=np.int64)
            occurrence[by_value] = np.arange(len(rows)) - np.repeat(first - before, its_count)
            yield rows, occurrence
            # A value that many records have comes again in the part's next rows.
            known = np.concatenate([known, values])
            counts = np.concatenate([counts, before + its_count])
            order = np.lexsort([counts, known])
            last = np.append(known[order][1:] != known[order][:-1], True)
            known, counts = known[order][last], counts[order][last]


def _rows_of_part(digests: U64, part: int, parts: int) -> Iterator[I64]:
    """The records whose digests begin with the bits of a number, in their order, up to `4 * _PART_ROWS` at a time."""
    held: list[I64] = []
    for begin in range(0, len(digests), _PART_ROWS):
        inside = interval_of(digests[begin : begin + _PART_ROWS], parts) == part
        held.append(begin + np.flatnonzero(inside))
        if sum(map(len, held)) > 3 * _PART_ROWS:
            yield np.concatenate(held)
            held = []
    if sum(map(len, held)):
        yield np.concatenate(held)
