"""Sources of pairs: the whole product of two files, or the union of their blocks, in parts of bounded size.

A source numbers its pairs without storing them, so that any part can be written again at any time, by any
thread: linkage goes over the pairs twice, and its results do not depend on who computed which part. Under
blocking a pair is written by the first rule it satisfies; whether it satisfies another is seen from the keys of
its two rows, so nothing needs to be remembered between parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gemel.carole.blocking.kernels import Blocks, all_pairs, block_pairs
from gemel.common.errors import parameter
from gemel.common.signatures.signature_sets import NO_KEY

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
        """Pairs in the block."""
        return self.rows_a * self.rows_b


class PairSource(Protocol):
    """Pairs of rows, written part by part."""

    @property
    def n_pairs(self) -> int:
        """Pairs the parts go over: at least as many as they write."""

    def parts(self, size: int) -> Iterator[Part]:
        """Split the source into parts of at most `size` pairs."""

    def write(self, part: Part, row_a: NDArray[np.int32], row_b: NDArray[np.int32], mask: NDArray[np.uint32]) -> int:
        """Write a part's pairs and the rules they satisfy; return how many there are."""


class AllPairs:
    """Every pair of a row of A with a row of B; the mask is 0.

    Parameters
    ----------
    n_a, n_b : int
        Rows of the two files.
    """

    def __init__(self, n_a: int, n_b: int) -> None:
        self._n_b = n_b
        self.n_pairs = n_a * n_b

    def parts(self, size: int) -> Iterator[Part]:
        """Split the product into parts of at most `size` pairs."""
        return stretches(0, 0, self.n_pairs, size)

    def write(self, part: Part, row_a: NDArray[np.int32], row_b: NDArray[np.int32], mask: NDArray[np.uint32]) -> int:
        """Write a part's pairs; return how many there are."""
        n = all_pairs(part.start, part.stop, self._n_b, row_a, row_b)
        mask[:n] = 0
        return n


class AscendingPairs:
    """Those pairs of a source of which A's row comes before B's: where both files are one, each pair of its rows once.

    Parameters
    ----------
    source : PairSource
    """

    def __init__(self, source: PairSource) -> None:
        self._source = source
        self.n_pairs = source.n_pairs
        self.parts = source.parts

    def write(self, part: Part, row_a: NDArray[np.int32], row_b: NDArray[np.int32], mask: NDArray[np.uint32]) -> int:
        """Write a part's ascending pairs; return how many there are."""
        n = self._source.write(part, row_a, row_b, mask)
        ascending = np.flatnonzero(row_a[:n] < row_b[:n])
        for column in (row_a, row_b, mask):
            column[: len(ascending)] = column[ascending]
        return len(ascending)


class CandidatePairs:
    """The pairs that share a blocking key under at least one rule, each of them once.

    Parameters
    ----------
    keys_a, keys_b : sequence of ndarray of uint64
        Per rule the keys of A's and of B's rows; `NO_KEY` matches nothing.
    max_rules : int
        More than `MAX_RULES` only for callers that do not use the masks, which have no bits for them.

    Raises
    ------
    GemelError
        PARAMETER if there are no rules, more than `MAX_RULES`, or arrays of different length on one side.

    Notes
    -----
    Building sorts each rule's keys. Memory: see `index_bytes`.
    """

    def __init__(
        self, keys_a: Sequence[NDArray[np.uint64]], keys_b: Sequence[NDArray[np.uint64]], max_rules: int = MAX_RULES
    ) -> None:
        if not 1 <= len(keys_a) <= max_rules or len(keys_a) != len(keys_b):
            raise parameter(
                "blocking",
                f"1 to {max_rules} blocking rules expected, the same on both sides",
                f"{len(keys_a)} and {len(keys_b)}",
                "give both sides the specification's rules",
            )
        self._keys_a = by_row(keys_a)
        self._keys_b = by_row(keys_b)
        self._rules = [blocks_of(in_a, in_b) for in_a, in_b in zip(keys_a, keys_b, strict=True)]

    @staticmethod
    def index_bytes(n_a: int, n_b: int, n_rules: int) -> int:
        """Memory of the index in bytes, at most: keys and order of every row, and the blocks."""
        return n_rules * ((n_a + n_b) * (8 + 4) + min(n_a, n_b) * 4 * 8)

    @property
    def keys_by_row(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Keys of A's and of B's rows, shape (n_rows, n_rules)."""
        return self._keys_a, self._keys_b

    @property
    def pairs_per_rule(self) -> tuple[int, ...]:
        """Pairs that satisfy each rule, known from the sizes of its blocks; a pair may satisfy several."""
        return tuple(rule.n_pairs for rule in self._rules)

    @property
    def n_pairs(self) -> int:
        """Pairs of all rules, those that satisfy several counted several times."""
        return sum(self.pairs_per_rule)

    @property
    def rows_without_key(self) -> tuple[int, int]:
        """Rows of A and of B that have no key under any rule and so can never be linked."""
        return (
            int((self._keys_a == NO_KEY).all(axis=1).sum()),
            int((self._keys_b == NO_KEY).all(axis=1).sum()),
        )

    def blocks_above(self, pairs: int) -> list[Block]:
        """Blocks of more than `pairs` pairs, the largest first. Their keys are not reported."""
        blocks = [
            Block(number, int(rule.size_a[k]), int(rule.size_b[k]))
            for number, rule in enumerate(self._rules)
            for k in np.flatnonzero(rule.size_a * rule.size_b > pairs)
        ]
        return sorted(blocks, key=lambda block: (-block.pairs, block))

    def parts(self, size: int) -> Iterator[Part]:
        """Split the rules' pairs into parts of at most `size`."""
        for number, rule in enumerate(self._rules):
            yield from stretches(number, 0, rule.n_pairs, size)

    def mark(self, row_a: NDArray[np.int32], row_b: NDArray[np.int32], n: int, mask: NDArray[np.uint32]) -> None:
        """Write the rules that each of the first `n` pairs satisfies."""
        mask[:n] = 0
        for rule in range(self._keys_a.shape[1]):
            key = self._keys_a[row_a[:n], rule]
            shared = (key == self._keys_b[row_b[:n], rule]) & (key != NO_KEY)
            mask[:n] |= shared.astype(np.uint32) << np.uint32(rule)

    def write(self, part: Part, row_a: NDArray[np.int32], row_b: NDArray[np.int32], mask: NDArray[np.uint32]) -> int:
        """Write those pairs of a part that satisfy no earlier rule; return how many there are."""
        return block_pairs(
            part.start, part.stop, part.rule, self._rules[part.rule], self._keys_a, self._keys_b, row_a, row_b, mask
        )


def blocks_of(keys_a: NDArray[np.uint64], keys_b: NDArray[np.uint64]) -> Blocks:
    """The blocks of one rule: rows in the order of their keys, and where each shared key begins."""
    order_a, values_a, first_a, size_a = _grouped(keys_a)
    order_b, values_b, first_b, size_b = _grouped(keys_b)
    _, in_a, in_b = np.intersect1d(values_a, values_b, assume_unique=True, return_indices=True)
    size_a, size_b = size_a[in_a], size_b[in_b]
    ends = np.cumsum(size_a * size_b, dtype=np.int64)
    return Blocks(ends, first_a[in_a], first_b[in_b], size_a, size_b, order_a, order_b)


def _grouped(
    keys: NDArray[np.uint64],
) -> tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Rows in the order of their keys; each key but `NO_KEY`, where it begins, and its number of rows."""
    order = np.argsort(keys, kind="stable").astype(np.int32)
    values, first, size = np.unique(keys[order], return_index=True, return_counts=True)
    present = values != NO_KEY
    return order, values[present], first[present].astype(np.int64), size[present].astype(np.int64)


def by_row(keys: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Keys of each row beside each other, shape (n_rows, n_rules)."""
    if len({len(column) for column in keys}) != 1:
        raise parameter(
            "blocking",
            "every blocking rule must have one key per row",
            f"arrays of {sorted({len(column) for column in keys})} keys",
            "contribute again",
        )
    return np.ascontiguousarray(np.stack(keys, axis=1))


def stretches(rule: int, start: int, stop: int, size: int) -> Iterator[Part]:
    """The pairs from `start` up to `stop` of a rule, in parts of at most `size`."""
    for first in range(start, stop, size):
        yield Part(rule, first, min(first + size, stop))
