"""The pairs of block-keyed mode, in which each rule has its own rows and a record is a different row under each rule.

A rule's blocks hold rows of that rule only, and the keys of the other rules are tags, equal within a block where two
rows agree on the other rule too. So a pair is written by the first rule that it satisfies, with all rules it satisfies,
although it is not known which rows are the same record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.carole.blocking.candidates import Block, Part, blocks_of, by_row, stretches
from gemel.carole.blocking.kernels import block_pairs


class BlockKeyedPairs:
    """The pairs of two sets within the blocks of their rule, but for those that satisfy an earlier rule.

    Parameters
    ----------
    rule : int
        The number of the rule whose rows these are.
    keys_a, keys_b : sequence of ndarray of uint64
        Per rule the keys of A's and of B's rows: digests of blocks for the rule itself, tags for the others.
    start, stop : int
        The stretch of the pairs to write, in the order of the digests, A's rows and B's rows; None: to the end.

    Raises
    ------
    GemelError
        PARAMETER if the arrays of a side differ in length.
    """

    def __init__(
        self,
        rule: int,
        keys_a: Sequence[NDArray[np.uint64]],
        keys_b: Sequence[NDArray[np.uint64]],
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        self._rule, self._start = rule, start
        self._blocks = blocks_of(keys_a[rule], keys_b[rule])
        self._stop = self._blocks.n_pairs if stop is None else stop
        self._keys_a, self._keys_b = by_row(keys_a), by_row(keys_b)

    @property
    def of_blocks(self) -> int:
        """Pairs within all blocks of the two sets."""
        return self._blocks.n_pairs

    @property
    def n_pairs(self) -> int:
        """Pairs of the stretch, those that satisfy an earlier rule among them."""
        return self._stop - self._start

    def parts(self, size: int) -> Iterator[Part]:
        """Split the stretch into parts of at most `size` pairs."""
        return stretches(self._rule, self._start, self._stop, size)

    def write(self, part: Part, row_a: NDArray[np.int32], row_b: NDArray[np.int32], mask: NDArray[np.uint32]) -> int:
        """Write those pairs of a part that satisfy no earlier rule; return how many there are."""
        return block_pairs(
            part.start, part.stop, part.rule, self._blocks, self._keys_a, self._keys_b, row_a, row_b, mask
        )


def shared_blocks(
    rule: int, digests_a: NDArray[np.uint64], digests_b: NDArray[np.uint64], above: int
) -> tuple[int, list[Block]]:
    """The number of pairs within the blocks of two sets of a rule, and the blocks of more than `above` pairs."""
    blocks = blocks_of(digests_a, digests_b)
    large = np.flatnonzero(blocks.size_a * blocks.size_b > above)
    return blocks.n_pairs, [Block(rule, int(blocks.size_a[k]), int(blocks.size_b[k])) for k in large]
