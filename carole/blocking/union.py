"""The union of rules of any kind, each pair once, with a bit for every rule it satisfies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gemel.carole.blocking.candidates import MAX_RULES, Block, Part
from gemel.carole.blocking.rules import Rule
from gemel.common.errors import parameter


class UnionPairs:
    """The pairs that satisfy at least one rule.

    Parameters
    ----------
    rules : sequence of Rule
        At most `MAX_RULES`.

    Notes
    -----
    As `CandidatePairs` does for rules with one key each: a pair is written by the first rule it satisfies, which every
    other rule tests, so that nothing is remembered between parts.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        if not 1 <= len(rules) <= MAX_RULES:
            raise parameter("blocking", f"1 to {MAX_RULES} blocking rules expected", str(len(rules)), "use fewer")
        self._rules = list(rules)
        self.n_pairs = sum(rule.n_pairs for rule in rules)

    @property
    def pairs_per_rule(self) -> tuple[int, ...]:
        """Pairs in the blocks of each rule; a pair may be in several blocks, and in those of several rules."""
        return tuple(rule.n_pairs for rule in self._rules)

    @property
    def rows_without_key(self) -> tuple[int, int]:
        """Rows of A and of B that no rule can pair with any row."""
        sides = [rule.without_key() for rule in self._rules]
        return (
            int(np.logical_and.reduce([a for a, _ in sides]).sum()),
            int(np.logical_and.reduce([b for _, b in sides]).sum()),
        )

    def blocks_above(self, pairs: int) -> list[Block]:
        """Blocks of more than `pairs` pairs, the largest first. Their keys are not reported."""
        blocks = [block for number, rule in enumerate(self._rules) for block in rule.blocks_above(number, pairs)]
        return sorted(blocks, key=lambda block: (-block.pairs, block))

    def parts(self, size: int) -> Iterator[Part]:
        """Split the rules' pairs into parts of at most `size`."""
        for number, rule in enumerate(self._rules):
            for start in range(0, rule.n_pairs, size):
                yield Part(number, start, min(start + size, rule.n_pairs))

    def write(self, part: Part, row_a: NDArray[np.int32], row_b: NDArray[np.int32], mask: NDArray[np.uint32]) -> int:
        """Write those pairs of a part that satisfy no earlier rule; return how many there are."""
        n = self._rules[part.rule].write(part.start, part.stop, row_a, row_b)
        self.mark(row_a, row_b, n, mask)
        return int(_without(n, np.uint32((1 << part.rule) - 1), row_a, row_b, mask))

    def mark(self, row_a: NDArray[np.int32], row_b: NDArray[np.int32], n: int, mask: NDArray[np.uint32]) -> None:
        """Write the rules that each of the first `n` pairs satisfies."""
        mask[:n] = 0
        for number, rule in enumerate(self._rules):
            rule.mark(row_a, row_b, n, np.uint32(1 << number), mask)


@njit(nogil=True, cache=True)
def _without(
    n: int, bits: np.uint32, row_a: NDArray[np.int32], row_b: NDArray[np.int32], mask: NDArray[np.uint32]
) -> int:
    """Drop those of the first `n` pairs that have any of some bits; return how many are left."""
    left = 0
    for i in range(n):
        if mask[i] & bits == 0:
            row_a[left] = row_a[i]
            row_b[left] = row_b[i]
            mask[left] = mask[i]
            left += 1
    return left
