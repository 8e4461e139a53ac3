"""Two passes over the pairs of a run, part by part: count their comparison vectors, then keep the best pairs.

The pairs themselves are never stored. Where memory allows, the packed vector of each is stored, so that the second
pass need not compare again.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from gemel.carole.blocking.candidates import PairSource, Part
from gemel.carole.comparison.counting import Counts, PatternCounter, summed
from gemel.carole.engine.pairs.preparation import comparison_of, crosswise
from gemel.carole.engine.run.contribution import joined
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.resources import in_order, packing_of
from gemel.carole.extended_latent.variables import Result, Visit
from gemel.common.arrays import I8, I32, I64, U32
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.progress import StageProgress
from gemel.common.signatures.signature_sets import SignatureSet


class ComparisonVectors:
    """How the rows of two sets compare under a plan."""

    def __init__(self, a: SignatureSet, b: SignatureSet, plan: LinkagePlan, tables: Mapping[str, I8] = {}) -> None:
        self._packing = packing = packing_of(plan)
        self._fields = [comparison_of(a, b, field, tables.get(field.name)) for field in plan.fields]
        self._exchanges = [
            (comparison, fields, packing.strides[q])
            for comparison, fields, q in zip(crosswise(a, b, plan), plan.exchanged, plan.swapped, strict=True)
        ]
        places = [plan.position[name] for name in plan.present]
        self._presence = list(zip(places, packing.strides[plan.presence.start :], strict=True))

    def write(self, row_a: I32, row_b: I32, n: int, code: I64) -> None:
        """Write the packed vectors of the first `n` pairs of rows to `code`."""
        code[:n] = 0
        strides, n_levels = self._packing.strides, self._packing.n_levels
        for comparison, stride in zip(self._fields, strides, strict=False):
            comparison.add(row_a, row_b, n, stride, code)
        for q, stride in self._presence:
            digit = code[:n] // strides[q] % (n_levels[q] + 1)
            code[:n] += stride * (digit < n_levels[q])
        for exchange, (first, second), stride in self._exchanges:
            straight = (strides[first], n_levels[first]), (strides[second], n_levels[second])
            exchange.add(row_a, row_b, n, stride, straight, code)

    def distinct(self, row_a: I32, row_b: I32) -> tuple[I8, I64]:
        """The distinct vectors of some pairs of rows, shape (n, n_compared), and which of them each pair has."""
        code = np.empty(len(row_a), dtype=np.int64)
        self.write(row_a, row_b, len(code), code)
        packed, place = np.unique(code, return_inverse=True)
        return self._packing.unpack(packed), place


PART_PAIRS = 1 << 17
"""Pairs of a part: its working arrays fit into a core's cache."""

_PAIR_BYTES = 4 + 4 + 4 + 8 + 4 + 4
_TASKS_PER_THREAD = 4


@dataclass
class _Workspace:
    """One thread's working arrays."""

    row_a: I32 = field(default_factory=lambda: np.empty(PART_PAIRS, np.int32))
    row_b: I32 = field(default_factory=lambda: np.empty(PART_PAIRS, np.int32))
    mask: U32 = field(default_factory=lambda: np.empty(PART_PAIRS, np.uint32))
    code: I64 = field(default_factory=lambda: np.empty(PART_PAIRS, np.int64))
    position: I32 = field(default_factory=lambda: np.empty(PART_PAIRS, np.int32))
    pattern: I32 = field(default_factory=lambda: np.empty(PART_PAIRS, np.int32))


@dataclass(frozen=True)
class KeptPairs:
    """Pairs whose pattern was selected: rows of A and of B, and the pattern of each; where there is a check field also
    their agreement in it, int8: 1, 0, or -1 where a record lacks it."""

    row_a: I32
    row_b: I32
    pattern: I32
    agrees: I8 | None = None


NONE_KEPT = KeptPairs(*np.empty((3, 0), dtype=np.int32))


class PairStream:
    """The pairs of a run and their comparison vectors.

    `max_patterns`: distinct (vector, mask) that memory allows; `store`: whether to keep the packed vectors between the
    passes.
    """

    def __init__(
        self,
        source: PairSource,
        vectors: ComparisonVectors,
        pool: Executor,
        threads: int,
        *,
        max_patterns: int,
        store: bool,
    ) -> None:
        self._source, self._vectors, self._max_patterns = source, vectors, max_patterns
        self._pool, self._threads = pool, threads
        self._stored: dict[Part, I64] | None = {} if store else None
        self._workspaces: queue.SimpleQueue[_Workspace] = queue.SimpleQueue()
        for _ in range(threads):
            self._workspaces.put(_Workspace())

    @staticmethod
    def workspace_bytes(threads: int) -> int:
        return threads * PART_PAIRS * _PAIR_BYTES

    def count(self, progress: StageProgress) -> Counts:
        """First pass: distinct packed vectors with their masks, in ascending order, and their numbers of pairs.

        Raises MEMORY if there are more distinct vectors than memory allows.
        """
        tables: queue.SimpleQueue[PatternCounter] = queue.SimpleQueue()
        everything = [PatternCounter(self._max_patterns) for _ in range(self._threads)]
        for table in everything:
            tables.put(table)
        one = np.ones(1, dtype=np.int64)

        def count_part(part: Part) -> None:
            table = tables.get()
            try:
                with self._compared(part) as (work, n, codes):
                    if not table.add(codes, work.mask, one, n):
                        raise self.too_many_patterns(self._max_patterns)
                    if self._stored is not None:
                        self._stored[part] = codes[:n].copy()
            finally:
                tables.put(table)

        deque(self._each(count_part, progress), maxlen=0)
        code, mask, count = summed([table.items() for table in everything])
        if len(code) > self._max_patterns:
            raise self.too_many_patterns(self._max_patterns)
        return code, mask, count

    def keep(self, code: I64, mask: U32, pattern: I64, progress: StageProgress, *, last: bool = True) -> KeptPairs:
        """Second pass: the pairs that have one of some vectors.

        `code`, `mask` (int64, of uint32, shape (n,)): packed vectors and masks; `pattern` (int64, shape (n,)): the
        number of each in the result; `last`: no pass follows, and stored vectors are released on the way.
        """

        def kept(row_a: I32, row_b: I32, at: I32) -> KeptPairs:
            return KeptPairs(row_a.copy(), row_b.copy(), pattern[at].astype(np.int32))

        return joined(list(self.map(code, mask, kept, progress, last=last)) or [NONE_KEPT])

    def map(
        self, code: I64, mask: U32, visit: Visit[Result], progress: StageProgress, *, last: bool = False
    ) -> Iterator[Result]:
        """A further pass: visit all pairs that have one of some vectors, part by part.

        Not after a last pass, which releases the stored vectors.

        `code`, `mask` (int64, of uint32, shape (n,)): packed vectors and masks; `visit`: called with rows of A, rows of
        B and the position in `code` of each pair's vector; on the threads of the pool, and the arrays are valid during
        the call only.
        """
        selected = table_of(code, mask, np.arange(len(code), dtype=np.int64))

        def visit_part(part: Part) -> Result:
            with self._compared(part, release=last) as (work, n, codes):
                kept = selected.find(codes, work.mask, n, work.position, work.pattern)
                if kept == n:
                    return visit(work.row_a[:n], work.row_b[:n], work.pattern[:n])
                at = work.position[:kept]
                return visit(work.row_a[at], work.row_b[at], work.pattern[:kept])

        yield from self._each(visit_part, progress)

    @contextmanager
    def _compared(self, part: Part, *, release: bool = False) -> Iterator[tuple[_Workspace, int, I64]]:
        """A part's pairs, their number and their vectors, stored ones where there are any, in a working space."""
        work = self._workspaces.get()
        try:
            n = self._source.write(part, work.row_a, work.row_b, work.mask)
            if self._stored is not None and part in self._stored:
                yield work, n, self._stored.pop(part) if release else self._stored[part]
            else:
                self._vectors.write(work.row_a, work.row_b, n, work.code)
                yield work, n, work.code
        finally:
            self._workspaces.put(work)

    def _each(self, function: Callable[[Part], Result], progress: StageProgress) -> Iterator[Result]:
        """What a function, run by the pool, makes of each part, in the order of the source."""

        def sized(part: Part) -> tuple[int, Result]:
            return part.stop - part.start, function(part)

        total, done = max(1, self._source.n_pairs), 0
        parts = self._source.parts(PART_PAIRS)
        for n, result in in_order(self._pool, sized, parts, _TASKS_PER_THREAD * self._threads):
            yield result
            done += n
            progress(done / total)

    @staticmethod
    def too_many_patterns(maximum: int) -> GemelError:
        what = f"more than {maximum:,} distinct comparison vectors, the most that memory allows"
        remedy = "compare fewer fields, give them fewer levels, or grant more memory"
        return GemelError(ErrorCode.MEMORY, what, where="resources.memory_bytes", remedy=remedy)


@dataclass(frozen=True, repr=False)
class StreamedPairs:
    """The pairs of a stream that have one of some vectors, for repeated passes.

    `code`, `mask` (int64, of uint32, shape (n,)): packed vectors and masks, as returned by `PairStream.count`.
    """

    stream: PairStream
    code: I64
    mask: U32
    n_pairs: int

    def map(self, visit: Visit[Result], progress: StageProgress) -> Iterator[Result]:
        return self.stream.map(self.code, self.mask, visit, progress)


def table_of(code: I64, mask: U32, pattern: I64) -> PatternCounter:
    """A table from some vectors to their numbers."""
    table = PatternCounter(max(1, len(code)))
    if not table.add(code, mask, pattern + 1, len(code)):
        raise AssertionError("the table of selected patterns holds them all")
    return table
