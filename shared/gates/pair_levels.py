"""The comparison of many pairs of shared rows, batch by batch: all bits of `OutputBits`, shared, and nothing opened."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gemel.common.progress import StageProgress
from gemel.common.signatures.row_words import WORD_BITS, RowWords
from gemel.shared.gates.bit_slices import rows_of
from gemel.shared.gates.gate_check import GATE_WORDS
from gemel.shared.gates.gates import Pairs, Shared
from gemel.shared.gates.output_bits import PairComparison
from gemel.shared.gates.output_slices import SlicedPairs, output_slices
from gemel.shared.gates.party import Party

BATCH_WORDS = 1024
"""Words of a slice of a batch of pairs at most."""


def compare_pairs(
    party: Party,
    rows_a: Shared,
    rows_b: Shared,
    pair_a: Pairs,
    pair_b: Pairs,
    comparison: PairComparison,
    stage: str,
    progress: StageProgress = lambda _fraction: None,
) -> Shared:
    """The output bits of each pair, shape (2, n, comparison.output.total_words); all gates are checked before it
    returns.

    `rows_a`, `rows_b`, shape (2, n_a, W) and (2, n_b, W): the rows of both files; `pair_a`, `pair_b`, shape (n,): rows
    of each pair, the same at all three parties. Raises `GemelError`: DEVIATION, naming the stage and the link. Memory:
    some 150 bytes for each of at most `GATE_WORDS` words of gates, and the rows and results.
    """
    party.stage = stage
    n = len(pair_a)
    size = WORD_BITS * max(1, min(BATCH_WORDS, GATE_WORDS // comparison.gates))
    ones = party.public(np.array([~np.uint64(0)]))
    result = np.empty((2, n, comparison.output.total_words), dtype=np.uint64)
    for begin in range(0, n, size):
        batch = slice(begin, begin + size)
        pairs = SlicedPairs(rows_a, rows_b, pair_a[batch], pair_b[batch], comparison.words)
        result[:, batch] = rows_of(output_slices(pairs, comparison, ones, party.all_of), pairs.n)
        progress(min(begin + size, n) / n)
    party.check(stage)
    return result


def presence_of_rows(rows: Shared, words: RowWords, names: Sequence[str]) -> Shared:
    """Which fields each row, (2, n, W), has a value of, from its own bits: shape (2, n, ceil(len(names) / 64))."""
    result = np.zeros((len(rows), rows.shape[1], -(-len(names) // WORD_BITS)), dtype=np.uint64)
    for place, name in enumerate(names):
        word, bit = words.presence(name)
        to_word, to_bit = divmod(place, WORD_BITS)
        result[..., to_word] |= ((rows[..., word] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(to_bit)
    return result
