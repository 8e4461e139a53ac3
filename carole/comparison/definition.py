"""What it means to compare two signatures, without any regard for speed.

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


def jaccard_estimate(agreeing: int, bits: int) -> float:
    """Estimated Jaccard similarity, `2n/M - 1` clipped at 0.

    Notes
    -----
    Two 1-bit minwise hashes agree with probability `(1 + J)/2`; the estimate is unbiased before it is
    clipped, with variance `(1 - J**2)/M`.
    """
    return max(0.0, 2 * agreeing / bits - 1)


def level(agreeing: int, bits: int, bounds: Sequence[float]) -> int:
    """Index of the first inclusive upper bound that the estimated similarity does not exceed.

    Parameters
    ----------
    agreeing : int
        Agreeing bits, 0 to `bits`.
    bits : int
        Length of the signatures.
    bounds : sequence of float
        Upper bounds in ascending order, the last of them 1. Each means the decimal number it prints as.
    """
    estimate = max(Fraction(0), Fraction(2 * agreeing, bits) - 1)
    return next(k for k, bound in enumerate(bounds) if estimate <= Fraction(str(bound)))
