"""Sources of pairs: the whole product of two files, or the union of their blocks, in parts of bounded size.

A source numbers its pairs without storing them, so that any part can be written again at any time, by any
thread: linkage goes over the pairs twice, and its results do not depend on who computed which part. Under
blocking a pair is written by the first rule it satisfies; whether it satisfies another is seen from the keys of
its two rows, so nothing needs to be remembered between parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numba import njit

from gemel.common.arrays import I32, I64, U32, U64
from gemel.common.errors import parameter
from gemel.common.signatures.signature_sets import NO_KEY


@njit(nogil=True, cache=True)
def all_pairs(start: int, stop: int, n_b: int, row_a: I32, row_b: I32) -> int:
    """Write the pairs `start` to `stop` of the whole product, B's rows varying fastest; return their number."""
    i = start // n_b
    j = start % n_b
    n = stop - start
    for k in range(n):
        row_a[k] = i
        row_b[k] = j
        j += 1
        if j == n_b:
            j = 0
            i += 1
    return n


class Blocks(NamedTuple):
    """The blocks of a rule.

    `ends` (int64, shape (n_blocks,)): number of pairs in each block and all before it; `first_a`, `first_b` (int64,
    shape (n_blocks,)): where each block begins in `order_a` and `order_b`; `size_a`, `size_b` (int64, shape
    (n_blocks,)): rows in each block; `order_a`, `order_b` (int32, shape (n_rows,)): row numbers in the order of the
    rule's keys.
    """

    ends: I64
    first_a: I64
    first_b: I64
    size_a: I64
    size_b: I64
    order_a: I32
    order_b: I32

    @property
    def n_pairs(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def blocks_above(self, rule: int, pairs: int) -> list[Block]:
        """The blocks of more than `pairs` pairs, as those of the rule of that number."""
        large = np.flatnonzero(self.size_a * self.size_b > pairs)
        return [Block(rule, int(self.size_a[k]), int(self.size_b[k])) for k in large]


@njit(nogil=True, cache=True)
def block_pairs(
    start: int, stop: int, rule: int, blocks: Blocks, keys_a: U64, keys_b: U64, row_a: I32, row_b: I32, mask: U32
) -> int:
    """Write those of a rule's pairs `start` to `stop` that satisfy no earlier rule; return their number.

    `start`, `stop`: a stretch of the rule's pairs, block after block, B's rows varying fastest; `keys_a`, `keys_b`
    (uint64, shape (n_rows, n_rules)): blocking keys of the rows under all rules; `row_a`, `row_b`, `mask`: receive the
    pairs and the rules they satisfy; at least `stop - start` long.
    """
    n_rules = keys_a.shape[1]
    n = 0
    block = np.searchsorted(blocks.ends, start, side="right")
    at = start
    while at < stop:
        before = blocks.ends[block - 1] if block > 0 else 0
        end = min(stop, blocks.ends[block])
        i = (at - before) // blocks.size_b[block]
        j = (at - before) % blocks.size_b[block]
        a = blocks.order_a[blocks.first_a[block] + i]
        while at < end:
            b = blocks.order_b[blocks.first_b[block] + j]
            seen = False
            for earlier in range(rule):
                if keys_a[a, earlier] != 0 and keys_a[a, earlier] == keys_b[b, earlier]:
                    seen = True
                    break
            if not seen:
                satisfied = np.uint32(1) << np.uint32(rule)
                for later in range(rule + 1, n_rules):
                    if keys_a[a, later] != 0 and keys_a[a, later] == keys_b[b, later]:
                        satisfied |= np.uint32(1) << np.uint32(later)
                row_a[n] = a
                row_b[n] = b
                mask[n] = satisfied
                n += 1
            at += 1
            j += 1
            if j == blocks.size_b[block] and at < end:
                j = 0
                i += 1
                a = blocks.order_a[blocks.first_a[block] + i]
        block += 1
    return n


MAX_RULES = 32
"""Maximum number of rules in the bit mask of a pair."""


class Part(NamedTuple):
    """A stretch of a source's pairs: those numbered `start` to `stop` of one rule."""

    rule: int
    start: int
    stop: int


class Block(NamedTuple):
    """Sizes of one block: the rule's number, A's rows, B's rows."""

    rule: int
    rows_a: int
    rows_b: int

    @property
    def pairs(self) -> int:
        return self.rows_a * self.rows_b


def largest_first(blocks: Iterable[Block]) -> list[Block]:
    """Blocks by the number of their pairs."""
    return sorted(blocks, key=lambda block: (-block.pairs, block))


class PairSource(Protocol):
    """Pairs of rows, written part by part."""

    @property
    def n_pairs(self) -> int:
        """Pairs the parts go over: at least as many as they write."""

    def parts(self, size: int) -> Iterator[Part]:
        """Split the source into parts of at most `size` pairs."""

    def write(self, part: Part, row_a: I32, row_b: I32, mask: U32) -> int:
        """Write a part's pairs and the rules they satisfy; return how many there are."""


class AllPairs:
    """Every pair of a row of A with a row of B; the mask is 0."""

    def __init__(self, n_a: int, n_b: int) -> None:
        self._n_b = n_b
        self.n_pairs = n_a * n_b

    def parts(self, size: int) -> Iterator[Part]:
        return stretches(0, 0, self.n_pairs, size)

    def write(self, part: Part, row_a: I32, row_b: I32, mask: U32) -> int:
        n = all_pairs(part.start, part.stop, self._n_b, row_a, row_b)
        mask[:n] = 0
        return n


class AscendingPairs:
    """Pairs of a source of which A's row comes before B's: where both files are one, each pair of its rows once."""

    def __init__(self, source: PairSource) -> None:
        self._source = source
        self.n_pairs = source.n_pairs
        self.parts = source.parts

    def write(self, part: Part, row_a: I32, row_b: I32, mask: U32) -> int:
        n = self._source.write(part, row_a, row_b, mask)
        ascending = np.flatnonzero(row_a[:n] < row_b[:n])
        for column in (row_a, row_b, mask):
            column[: len(ascending)] = column[ascending]
        return len(ascending)


class NumberedPairs(Protocol):
    """Pairs of one rule, block after block."""

    @property
    def n_pairs(self) -> int:
        """Pairs it numbers: at least as many as it writes."""

    def blocks_above(self, rule: int, pairs: int) -> list[Block]:
        """Blocks of more than `pairs` pairs, as those of the rule of that number."""


class PairsByRule:
    """Pairs numbered rule by rule.

    `pairs_per_rule`: pairs in the blocks of each rule; a pair may be in several blocks, and in those of several rules;
    `n_pairs`: their sum.
    """

    def __init__(self, rules: Sequence[NumberedPairs]) -> None:
        self._numbered = rules
        self.pairs_per_rule = tuple(rule.n_pairs for rule in rules)
        self.n_pairs = sum(self.pairs_per_rule)

    def blocks_above(self, pairs: int) -> list[Block]:
        """Blocks of more than `pairs` pairs, the largest first. Their keys are not reported."""
        return largest_first(block for n, rule in enumerate(self._numbered) for block in rule.blocks_above(n, pairs))

    def parts(self, size: int) -> Iterator[Part]:
        for number, pairs in enumerate(self.pairs_per_rule):
            yield from stretches(number, 0, pairs, size)


class CandidatePairs(PairsByRule):
    """The pairs that share a blocking key under at least one rule, each of them once.

    `keys_a`, `keys_b` (sequence of uint64): per rule the keys of A's and of B's rows; `NO_KEY` matches nothing. More
    rules than `MAX_RULES` (`max_rules`) only for callers that do not use the masks, which have no bits for them. Raises
    PARAMETER for no rules, too many, or arrays of different length on one side. Memory: `index_bytes`. `keys_by_row`:
    the keys of A's and of B's rows, each of shape (n_rows, n_rules).
    """

    def __init__(self, keys_a: Sequence[U64], keys_b: Sequence[U64], max_rules: int = MAX_RULES) -> None:
        if not 1 <= len(keys_a) <= max_rules or len(keys_a) != len(keys_b):
            what = f"1 to {max_rules} blocking rules expected, the same on both sides"
            got = f"{len(keys_a)} and {len(keys_b)}"
            raise parameter("blocking", what, got, "give both sides the specification's rules")
        self.keys_by_row = by_row(keys_a), by_row(keys_b)
        self._rules = [blocks_of(in_a, in_b) for in_a, in_b in zip(keys_a, keys_b, strict=True)]
        super().__init__(self._rules)

    @staticmethod
    def index_bytes(n_a: int, n_b: int, n_rules: int) -> int:
        """Memory of the index in bytes, at most: keys and order of every row, and the blocks."""
        return n_rules * ((n_a + n_b) * (8 + 4) + min(n_a, n_b) * 4 * 8)

    @property
    def rows_without_key(self) -> tuple[int, int]:
        """Rows of A and of B that have no key under any rule and so can never be linked."""
        in_a, in_b = (int((keys == NO_KEY).all(axis=1).sum()) for keys in self.keys_by_row)
        return in_a, in_b

    def mark(self, row_a: I32, row_b: I32, n: int, mask: U32) -> None:
        """Write the rules that each of the first `n` pairs satisfies."""
        mask[:n] = 0
        keys_a, keys_b = self.keys_by_row
        for rule in range(keys_a.shape[1]):
            key = keys_a[row_a[:n], rule]
            shared = (key == keys_b[row_b[:n], rule]) & (key != NO_KEY)
            mask[:n] |= shared.astype(np.uint32) << np.uint32(rule)

    def write(self, part: Part, row_a: I32, row_b: I32, mask: U32) -> int:
        """Write those pairs of a part that satisfy no earlier rule; return how many there are."""
        blocks = self._rules[part.rule]
        return block_pairs(part.start, part.stop, part.rule, blocks, *self.keys_by_row, row_a, row_b, mask)


def blocks_of(keys_a: U64, keys_b: U64) -> Blocks:
    """The blocks of one rule: rows in the order of their keys, and where each shared key begins."""
    order_a, values_a, first_a, size_a = _grouped(keys_a)
    order_b, values_b, first_b, size_b = _grouped(keys_b)
    _, in_a, in_b = np.intersect1d(values_a, values_b, assume_unique=True, return_indices=True)
    size_a, size_b = size_a[in_a], size_b[in_b]
    ends = np.cumsum(size_a * size_b, dtype=np.int64)
    return Blocks(ends, first_a[in_a], first_b[in_b], size_a, size_b, order_a, order_b)


def _grouped(keys: U64) -> tuple[I32, U64, I64, I64]:
    """Rows in the order of their keys; each key but `NO_KEY`, where it begins, and its number of rows."""
    order = np.argsort(keys, kind="stable").astype(np.int32)
    values, first, size = np.unique(keys[order], return_index=True, return_counts=True)
    present = values != NO_KEY
    return order, values[present], first[present].astype(np.int64), size[present].astype(np.int64)


def by_row(keys: Sequence[U64]) -> U64:
    """Keys of each row beside each other, shape (n_rows, n_rules)."""
    lengths = {len(column) for column in keys}
    if len(lengths) != 1:
        got = f"arrays of {sorted(lengths)} keys"
        raise parameter("blocking", "every blocking rule must have one key per row", got, "contribute again")
    return np.ascontiguousarray(np.stack(keys, axis=1))


def stretches(rule: int, start: int, stop: int, size: int) -> Iterator[Part]:
    """The pairs from `start` up to `stop` of a rule, in parts of at most `size`."""
    for first in range(start, stop, size):
        yield Part(rule, first, min(first + size, stop))


# The pairs of block-keyed mode, in which each rule has its own rows and a record is a different row under each rule.
#
# A rule's blocks hold rows of that rule only, and the keys of the other rules are tags, equal within a block where
# two rows agree on the other rule too. So a pair is written by the first rule that it satisfies, with all rules it
# satisfies, although it is not known which rows are the same record.


class BlockKeyedPairs:
    """The pairs of two sets within the blocks of their rule, but for those that satisfy an earlier rule.

    `keys_a`, `keys_b` (sequence of uint64): per rule the keys of A's and of B's rows: digests of blocks for the rule
    itself, tags for the others; `start`, `stop`: the stretch of the pairs to write, in the order of the digests, A's
    rows and B's rows; `of_blocks`: pairs within all blocks of the two sets; `n_pairs`: those of the stretch, those that
    satisfy an earlier rule among them. Raises PARAMETER if the arrays of a side differ in length.
    """

    def __init__(self, rule: int, keys_a: Sequence[U64], keys_b: Sequence[U64], start: int, stop: int) -> None:
        self._rule, self._start, self._stop = rule, start, stop
        self._blocks = blocks_of(keys_a[rule], keys_b[rule])
        self.of_blocks = self._blocks.n_pairs
        self.n_pairs = stop - start
        self._keys = by_row(keys_a), by_row(keys_b)

    def parts(self, size: int) -> Iterator[Part]:
        return stretches(self._rule, self._start, self._stop, size)

    def write(self, part: Part, row_a: I32, row_b: I32, mask: U32) -> int:
        return block_pairs(part.start, part.stop, part.rule, self._blocks, *self._keys, row_a, row_b, mask)


def shared_blocks(rule: int, digests_a: U64, digests_b: U64, above: int) -> tuple[int, list[Block]]:
    """The number of pairs within the blocks of two sets of a rule, and the blocks of more than `above` pairs."""
    blocks = blocks_of(digests_a, digests_b)
    return blocks.n_pairs, blocks.blocks_above(rule, above)
