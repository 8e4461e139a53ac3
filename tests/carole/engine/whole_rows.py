"""Mode block_keyed by its plain definition: the rows of all rules in memory, and all pairs of every block."""

from __future__ import annotations

from collections.abc import Sequence
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
    found = []
    for number, rule in enumerate(plan.rules):
        of_a, before_a = _rows(a, rule.name)
        of_b, before_b = _rows(b, rule.name)
        keys = [{other.name: _keys(sets, other.name) for other in plan.rules} for sets in (of_a, of_b)]
        pairs = []
        for block in sorted(set(keys[0][rule.name].tolist()) & set(keys[1][rule.name].tolist())):
            for i in np.flatnonzero(keys[0][rule.name] == block).tolist():
                for j in np.flatnonzero(keys[1][rule.name] == block).tolist():
                    agree = [keys[0][other.name][i] == keys[1][other.name][j] != NO_KEY for other in plan.rules]
                    if not any(agree[:number]):
                        pairs.append((i, j, sum(1 << place for place, both in enumerate(agree) if both)))
        for i, j, mask in pairs:
            in_a, row_a = _place(of_a, i)
            in_b, row_b = _place(of_b, j)
            code = np.zeros(1, dtype=np.int64)
            vectors = ComparisonVectors(in_a, in_b, plan)
            vectors.write(np.array([row_a], np.int32), np.array([row_b], np.int32), 1, code)
            found.append((before_a + i, before_b + j, int(code[0]), mask))
    columns = np.array(found, dtype=np.int64).reshape(-1, 4).T
    return WholeComparison(
        columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2], columns[3].astype(np.uint32)
    )


def _rows(sets: Sequence[SignatureSet], rule: str) -> tuple[list[SignatureSet], int]:
    before = 0
    for part in sets:
        if part.rule == rule:
            break
        before += part.n_rows
    return [part for part in sets if part.rule == rule], before


def _keys(sets: Sequence[SignatureSet], rule: str) -> NDArray[np.uint64]:
    return np.concatenate([part.blocks[rule] for part in sets])


def _place(sets: Sequence[SignatureSet], row: int) -> tuple[SignatureSet, int]:
    for part in sets:
        if row < part.n_rows:
            return part, row
        row -= part.n_rows
    raise IndexError
