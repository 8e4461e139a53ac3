"""Two fields compared crosswise: whether their values are exchanged, as given name and surname may be.

A pair counts as exchanged when both crosswise similarities exceed the first bound and together they exceed the straight
ones. Its level is that of the lesser crosswise similarity: not exchanged (0), similar crosswise, equal crosswise. The
straight comparisons of the two fields then carry no information; they become missing, which adds nothing. So the
outcomes of the three comparisons together, a level of exchange or "not exchanged" with the straight levels, are
mutually exclusive and exhaustive: an exchange acts as one more level of a joint comparison of the two fields.
"""

from __future__ import annotations

from concurrent.futures import Executor

import numpy as np
from numba import njit

from gemel.carole.comparison.kernels import FieldRows, disagreeing_bits, levels_by_disagreement
from gemel.carole.comparison.levels import DRAWN_AT_ONCE, field_rows, read_only
from gemel.common.arrays import F64, I8, I32, I64
from gemel.common.signatures.signature_sets import FieldSignatures
from gemel.common.specification.model.leakage import tolerant_bounds

BOUNDS = (0.8, 0.999, 1.0)
"""Inclusive upper bounds of the lesser crosswise similarity: not exchanged, similar, equal."""


def crosswise_bounds(bits: int, randomised_response: float = 0.0) -> tuple[float, ...]:
    """The bounds for signatures of so many bits, randomised with probability `randomised_response`."""
    return tolerant_bounds(BOUNDS, bits, randomised_response) if randomised_response else BOUNDS


TwoFields = tuple[FieldSignatures, FieldSignatures]

Straight = tuple[tuple[int, int], tuple[int, int]]
"""Stride and number of levels of each of the two fields' own comparisons."""


class CrosswiseComparison:
    """Two fields of two files, ready to give the level of exchange of any pair of rows.

    `a`, `b`: both fields of each file, of equal numbers of bits and under the same keys; `randomised_response`:
    probability with which each bit was randomised on either side.
    """

    def __init__(self, a: TwoFields, b: TwoFields, randomised_response: float = 0.0) -> None:
        bounds = crosswise_bounds(a[0].bits, randomised_response)
        self._n_levels = len(bounds)
        self._a, self._b = ((field_rows(first), field_rows(second)) for first, second in (a, b))
        self._levels = read_only(levels_by_disagreement(a[0].bits, bounds, randomised_response))
        self._n_rows = len(a[0].codes), len(b[0].codes)

    def add(self, row_a: I32, row_b: I32, n_pairs: int, stride: int, straight: Straight, out: I64) -> None:
        """Add `stride` times the level of each of the first `n_pairs` pairs to `out`; make the two fields missing.

        `straight`: of the two fields, whose levels are in `out` already; (0, 0): are not.
        """
        _add_crosswise(self._a, self._b, self._levels, row_a, row_b, n_pairs, stride, straight, out)

    def distribution(self, pool: Executor, rng: np.random.Generator, sample: int) -> F64:
        """Numbers of pairs by level over all pairs of the two files, or over a random sample where they are more."""
        n_levels = self._n_levels
        n_a, n_b = self._n_rows
        everything = n_a * n_b <= sample
        n = min(n_a * n_b, sample)
        starts = range(0, n, DRAWN_AT_ONCE)

        def draw(task: tuple[int, np.random.Generator]) -> I64:
            start, stream = task
            size = min(DRAWN_AT_ONCE, n - start)
            if everything:
                row_a, row_b = (rows.astype(np.int32) for rows in np.divmod(np.arange(start, start + size), n_b))
            else:
                row_a, row_b = (stream.integers(0, rows, size, dtype=np.int32) for rows in (n_a, n_b))
            drawn = np.zeros(size, dtype=np.int64)
            self.add(row_a, row_b, size, 1, ((0, 0), (0, 0)), drawn)
            return np.bincount(drawn, minlength=n_levels + 1)[:n_levels]

        streams = rng.spawn(len(starts))
        counts = sum(pool.map(draw, zip(starts, streams, strict=True)), np.zeros(n_levels))
        return np.asarray(counts, dtype=np.float64)


@njit(nogil=True, cache=True)
def _add_crosswise(
    a: tuple[FieldRows, FieldRows], b: tuple[FieldRows, FieldRows], levels: I8, row_a: I32, row_b: I32, n_pairs: int,
    stride: int, straight: Straight, out: I64,
) -> None:  # fmt: skip
    (first_a, second_a), (first_b, second_b) = a, b
    (first_stride, first_levels), (second_stride, second_levels) = straight
    top = levels[0]
    for i in range(n_pairs):
        fa, sa = first_a.codes[row_a[i]], second_a.codes[row_a[i]]
        fb, sb = first_b.codes[row_b[i]], second_b.codes[row_b[i]]
        if fa < 0 or sa < 0 or fb < 0 or sb < 0:
            out[i] += stride * (top + 1)
            continue
        one = disagreeing_bits(first_a.signatures[fa], second_b.signatures[sb])
        level = levels[one]
        if level == 0:
            continue
        other = disagreeing_bits(second_a.signatures[sa], first_b.signatures[fb])
        level = min(level, levels[other])
        if level == 0:
            continue
        straight_first = disagreeing_bits(first_a.signatures[fa], first_b.signatures[fb])
        if straight_first + disagreeing_bits(second_a.signatures[sa], second_b.signatures[sb]) <= one + other:
            continue
        out[i] += stride * level
        if first_stride > 0:
            out[i] += first_stride * (first_levels - out[i] // first_stride % (first_levels + 1))
            out[i] += second_stride * (second_levels - out[i] // second_stride % (second_levels + 1))
