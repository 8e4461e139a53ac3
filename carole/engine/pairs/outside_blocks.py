"""Comparison vectors of pairs that blocking leaves out, from a random sample: agreement of unrelated records.

The candidates are counted exactly. The others are the bulk of all pairs, and a sample of a few million of them
shows how their levels depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from gemel.carole.blocking import Part
from gemel.carole.engine.pairs.sample_groups import Samples
from gemel.carole.engine.pairs.stream import PairStream
from gemel.carole.engine.run.packing import Packing
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.fellegi_sunter.dependence import OutsideBlocks
from gemel.carole.fellegi_sunter.schemes import scheme_named
from gemel.common.errors import ErrorCode, GemelError

Mark = Callable[[NDArray[np.int32], NDArray[np.int32], int, NDArray[np.uint32]], None]
"""Writes the rules that each of the first `n` pairs of rows satisfies, as bits of a mask."""

SAMPLES = (1 << 23, 1 << 20, 1 << 17)
"""Pairs drawn from the whole product: the first number whose comparison vectors fit into memory."""


class RandomPairs:
    """Random pairs of the whole product, with the blocking rules they happen to satisfy as their mask."""

    def __init__(self, n_a: int, n_b: int, mark: Mark, n_pairs: int, seed: int, groups: int = 1) -> None:
        self._n_a, self._n_b, self._groups = n_a, n_b, groups
        self._mark = mark
        self._seed = seed
        self.n_pairs = n_pairs

    def parts(self, size: int) -> Iterator[Part]:
        """Split the draws into parts of at most `size` pairs."""
        for start in range(0, self.n_pairs, size):
            yield Part(0, start, min(start + size, self.n_pairs))

    def write(self, part: Part, row_a: NDArray[np.int32], row_b: NDArray[np.int32], mask: NDArray[np.uint32]) -> int:
        """Draw a part's pairs; return how many there are."""
        n = part.stop - part.start
        rng = np.random.default_rng([self._seed, part.start])
        row_a[:n] = rng.integers(0, self._n_a, n, dtype=np.int32)
        size_a, size_b = self._n_a // self._groups, self._n_b // self._groups
        row_b[:n] = row_a[:n] // size_a * size_b + rng.integers(0, size_b, n, dtype=np.int32)
        self._mark(row_a, row_b, n, mask)
        return n


def selected_outside(plan: LinkagePlan) -> bool:
    """Whether pairs are left out, and the model needs the joint distribution of their levels."""
    return bool(plan.rules) and plan.dependence != "none" and scheme_named(plan.scheme).facts.calibrated


def sample_outside_blocks(
    samples: Samples,
    mark: Mark,
    seed: int,
    packing: Packing,
    stream_of: Callable[[RandomPairs], PairStream],
) -> OutsideBlocks:
    """Count the comparison vectors of pairs that blocking leaves out, from a random sample of all pairs.

    In block-keyed samples each field is drawn separately: their pairs are non-matches with independent fields.

    Parameters
    ----------
    samples : Samples
    mark
        Marks pairs of the samples by the rules that they satisfy, as far as known.
    seed : int
    packing : Packing
        Of the stream's vectors.
    stream_of : callable
        Compares pairs of the samples' rows.
    """
    n_a, n_b = samples.n_records
    sample_a, sample_b = samples.rows
    for maximum in SAMPLES:
        drawn = RandomPairs(sample_a.n_rows, sample_b.n_rows, mark, min(maximum, n_a * n_b), seed, samples.groups)
        try:
            code, mask, count = stream_of(drawn).count(lambda fraction: None)
            break
        except GemelError as error:
            # Fewer pairs have fewer distinct vectors, which may fit into memory.
            if error.code is not ErrorCode.MEMORY or maximum == SAMPLES[-1]:
                raise
    outside = mask == 0
    scale = n_a * n_b / int(count.sum())
    return OutsideBlocks(packing.unpack(code[outside]), count[outside] * scale, scale)
