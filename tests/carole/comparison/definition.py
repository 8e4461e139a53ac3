"""Plain definition of comparing two signatures, without regard for speed.

The compiled kernels are tested against these functions. Levels are decided in exact rational
arithmetic: an estimate of exactly .2 belongs to the level whose upper bound is .2, which a
floating-point `2n/M - 1` would get wrong for some numbers of bits.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def agreeing_bits(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> int:
    """Number of bits in which two signatures of equal length agree."""
    disagreeing = sum((int(x) ^ int(y)).bit_count() for x, y in zip(a, b, strict=True))
    return 64 * len(a) - disagreeing


def jaccard_estimate(agreeing: int, bits: int, randomised_response: float = 0.0) -> Fraction:
    """Estimated Jaccard similarity, `(2n/M - 1) / (1 - 2r)**2`, exactly, not clipped.

    Each of M bits was randomised with probability r on either side, the decimal number that it prints as. Two bits of
    1-bit minwise signatures agree with probability `(1 + J)/2`, and each turns over with probability r, so
    that they still agree with probability `(1 + (1 - 2r)**2 * J)/2`. The estimate is unbiased, with variance
    `(1 - c**2 * J**2) / (c**2 * M)`, where `c = (1 - 2r)**2`.
    """
    return (Fraction(2 * agreeing, bits) - 1) / (1 - 2 * Fraction(str(randomised_response))) ** 2


def level(agreeing: int, bits: int, bounds: Sequence[float], randomised_response: float = 0.0) -> int:
    """Index of the first inclusive upper bound that the estimated similarity, clipped to 0 and 1, does not exceed.

    Bounds ascend to 1; each means the decimal number that it prints as.
    """
    estimate = min(max(Fraction(0), jaccard_estimate(agreeing, bits, randomised_response)), Fraction(1))
    return next(k for k, bound in enumerate(bounds) if estimate <= Fraction(str(bound)))
