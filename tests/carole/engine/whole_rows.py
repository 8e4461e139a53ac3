"""Mode block_keyed by its plain definition: the rows of all rules in memory, and all pairs of every block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.pairs.stream import ComparisonVectors
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.common.signatures.signature_sets import NO_KEY, SignatureSet


class WholeComparison(NamedTuple):
    """Every pair by rows of the contributions, its packed comparison vector and the rules that it satisfies."""

    row_a: NDArray[np.int32]
    row_b: NDArray[np.int32]
    code: NDArray[np.int64]
    mask: NDArray[np.uint32]

    def counts(self) -> dict[tuple[int, int], int]:
        """Pairs by vector and mask."""
        both, count = np.unique(np.stack([self.code, self.mask.astype(np.int64)]), axis=1, return_counts=True)
        return dict(zip(zip(*both.tolist(), strict=True), count.tolist(), strict=True))


def whole_comparison(a: Sequence[SignatureSet], b: Sequence[SignatureSet], plan: LinkagePlan) -> WholeComparison:
    """Compare the sets of two contributions rule by rule, in the order of blocks, of A's rows and of B's rows."""
    names, found = [rule.name for rule in plan.rules], []
    for number, name in enumerate(names):
        for (before_a, in_a), (before_b, in_b) in product(list(_sets_of(a, name)), list(_sets_of(b, name))):
            vectors, code = ComparisonVectors(in_a, in_b, plan), np.zeros(1, dtype=np.int64)
            keys_a, keys_b = (np.stack([part.blocks[n] for n in names], axis=1).tolist() for part in (in_a, in_b))
            for (i, of_a), (j, of_b) in product(enumerate(keys_a), enumerate(keys_b)):
                agree = [x == y != NO_KEY for x, y in zip(of_a, of_b, strict=True)]
                if agree[number] and not any(agree[:number]):
                    vectors.write(np.array([i], np.int32), np.array([j], np.int32), 1, code)
                    mask = sum(1 << place for place, both in enumerate(agree) if both)
                    found.append((number, of_a[number], before_a + i, before_b + j, int(code[0]), mask))
    columns = np.array([pair[2:] for pair in sorted(found)], dtype=np.int64).reshape(-1, 4).T
    return WholeComparison(
        columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2], columns[3].astype(np.uint32)
    )


def _sets_of(sets: Sequence[SignatureSet], rule: str) -> Iterator[tuple[int, SignatureSet]]:
    """A rule's sets, each with the number of rows before it."""
    before = 0
    for part in sets:
        if part.rule == rule:
            yield before, part
        before += part.n_rows
