"""Special uniques: the smallest combinations of key values that single a record out.

A minimal sample unique (MSU) of a record is a set of keys on which no other record agrees with it, while on every
proper subset some other does. The smaller and the more numerous, the more easily someone who knows a little recognises
the record: the widow of sixteen. `suda_scores` turns them into numbers.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.processes import processors
from gemel.risk.arrays import Codes, Integers
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.suda_kernels import minimal, packed, uniques

_MAX_KEYS = 62  # bits of a subset

_PARTS = 4  # tasks for each highest key

LIMIT = 2**26  # what may be found before `minimal` sorts it out: some 4 GB

_FOUND_BYTES = 64  # of one found, in the list of its task, which may be half empty, and in those that `minimal` makes

_CELL_BYTES = 48  # of a combination, in a task


@dataclass(frozen=True, eq=False)
class MinimalUniques:
    """The minimal sample uniques of every record.

    `uniques` (int64, shape (n_uniques,)): the sample uniques: records alone on all keys together; `offsets` (int64,
    shape (n_uniques + 1,)): where the minimal uniques of each begin; `subsets` (int64, shape (n_msu,)): sets of keys;
    bit q is key q.
    """

    names: tuple[str, ...]
    uniques: Integers = field(repr=False)
    offsets: Integers = field(repr=False)
    subsets: Integers = field(repr=False)
    max_size: int

    @property
    def n_keys(self) -> int:
        return len(self.names)

    @property
    def complete(self) -> bool:
        return self.max_size >= self.n_keys

    @cached_property
    def sizes(self) -> Integers:
        """Number of keys of each minimal unique, shape (n_msu,)."""
        return np.bitwise_count(self.subsets).astype(np.int64)

    @cached_property
    def of_unique(self) -> Integers:
        """For each minimal unique, the position of its record in `uniques`."""
        return np.repeat(np.arange(len(self.uniques)), np.diff(self.offsets))

    @property
    def by_size(self) -> Integers:
        """How many there are of each size, shape (n_keys + 1,)."""
        return np.bincount(self.sizes, minlength=self.n_keys + 1).astype(np.int64)

    def place(self, record: int) -> slice:
        """Where the minimal uniques of a record stand in `subsets`; nowhere where it is no sample unique."""
        at = int(np.searchsorted(self.uniques, record))
        if at == len(self.uniques) or self.uniques[at] != record:
            return slice(0, 0)
        return slice(self.offsets[at], self.offsets[at + 1])

    def of_record(self, record: int) -> list[tuple[str, ...]]:
        """The minimal uniques of a record, the smallest first."""
        own = self.subsets[self.place(record)].tolist()
        named = [tuple(n for q, n in enumerate(self.names) if subset >> q & 1) for subset in own]
        return sorted(named, key=lambda keys: (len(keys), [self.names.index(k) for k in keys]))


def minimal_uniques(
    file: KeyFile, max_size: int | None = None, threads: int | None = None, limit: int = LIMIT
) -> MinimalUniques:
    """All minimal sample uniques of a file.

    `file`: the records. Where missing values agree with everything, a record is unique on some keys when no other
    agrees with it there, and a missing value of its own is never part of a minimal unique. `limit`: of what may be
    found before it is known to be minimal, by all tasks together; `largest_within` gives it for a size of memory.

    With a single record, the empty set of keys singles it out.

    Refused: a size under 1, more than 62 keys, or more found than the limit: give a largest size then.

    A pruned search of the subsets of keys (see `suda_kernels`); the cost is about that of the records that are still
    neither unique nor alike at each subset, and grows with the number of minimal uniques. For each highest key
    a few tasks; within a task, memory for a few numbers a record. Whether the limit is kept does not depend on the
    threads.

    References
    ----------
    .. [1] Manning, Haglin and Keane, A recursive search algorithm for statistical disclosure assessment, 2008.
       doi:10.1007/s10618-007-0078-6
    """
    if file.n_keys > _MAX_KEYS:
        raise parameter("", f"at most {_MAX_KEYS} keys are searched", str(file.n_keys))
    maximum = file.n_keys if max_size is None else max_size
    if maximum < 1:
        raise parameter("max_size", "a minimal unique has at least one key", str(maximum))
    maximum = min(maximum, file.n_keys)
    records = file.uniques
    if file.n_records == 1:
        return MinimalUniques(file.names, records, np.array([0, 1]), np.zeros(1, dtype=np.int64), maximum)
    if not len(records):
        return MinimalUniques(file.names, records, np.zeros(1, dtype=np.int64), records, maximum)
    offsets, subsets = _searched(file, maximum, threads or processors(), limit)
    begins, taken = _chosen(offsets, file.of_record[records])
    return MinimalUniques(file.names, records, begins, subsets[taken], maximum)


def largest_within(file: KeyFile, memory_bytes: int, threads: int) -> int:
    """How many may be found within a size of memory: the limit for `minimal_uniques`; 0 where nothing is to spare."""
    cells = len(file.cells) * (threads + 2) * _CELL_BYTES
    return max(0, memory_bytes - cells) // _FOUND_BYTES


def _searched(file: KeyFile, maximum: int, threads: int, limit: int) -> tuple[Integers, Integers]:
    """Minimal uniques of each cell: offsets and subsets, in the file's order of cells and keys."""
    levels = np.array(file.levels, dtype=np.int64)
    occurring = [len(np.unique(file.cells[:, q])) for q in range(file.n_keys)]
    # A key with many values singles out soonest: as the highest key, it empties half of all subsets at once.
    order = np.argsort(occurring, kind="stable")
    codes = np.where(file.cells < 0, levels, file.cells)[:, order].astype(np.int64)
    arranged = np.lexsort(codes.T[::-1])
    rows, layout = packed(codes[arranged], levels[order])
    candidate = ((file.sizes == 1) & (file.counts == 1))[arranged].astype(np.uint8)

    held = np.zeros(file.n_keys * _PARTS, dtype=np.int64)

    def search(highest: int, part: int) -> tuple[Codes, Integers]:
        task = highest * _PARTS + part
        of_cell, found, whole = uniques(
            rows, layout, candidate, levels[order], highest, part, _PARTS, maximum, held, task, limit
        )
        if not whole or held.sum() > limit:
            raise GemelError(
                ErrorCode.MEMORY,
                "there are too many minimal sample uniques to be held",
                where=f"{file.n_keys} keys",
                got=f"more than {limit:,} found",
                remedy="give a largest size of a minimal unique, such as 4, or use fewer keys",
            )
        return of_cell, found

    offsets, kept = np.zeros(len(arranged) + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    with ThreadPoolExecutor(threads) as pool:
        # The long tasks first; of what they find, the small subsets before those that may contain them.
        tasks = [
            [pool.submit(search, highest, part) for part in range(_PARTS)] for highest in reversed(range(file.n_keys))
        ]
        try:
            while tasks:
                found = [task.result() for task in tasks.pop()]
                of_cell, subsets = (np.concatenate(column) for column in zip(*found, strict=True))
                offsets, kept = minimal(offsets, kept, of_cell, subsets)
        except BaseException:  # a signal that ends the program, too
            pool.shutdown(cancel_futures=True)
            raise
    place = np.empty(len(arranged), dtype=np.int64)
    place[arranged] = np.arange(len(arranged))
    begins, taken = _chosen(offsets, place)
    subsets = np.zeros(len(kept), dtype=np.int64)
    for bit, key in enumerate(order):
        subsets |= (kept[taken] >> bit & 1) << int(key)
    return begins, subsets


def _chosen(offsets: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """Of lists one after the other: where those of some rows begin when only they are kept, and their entries."""
    lengths = np.diff(offsets)[rows]
    begins = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return begins, np.repeat(offsets[rows] - begins[:-1], lengths) + np.arange(begins[-1])
