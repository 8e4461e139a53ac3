"""From agreeing bits to the Jaccard similarity of two values, and how far to trust it.

A bit of two signatures agrees surely where the two sets have the same smallest element, which happens with
probability J, and by chance half of the time elsewhere: P(agree) = (1 + J)/2.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemel.common.errors import parameter

Token = TypeVar("Token")


def jaccard(first: AbstractSet[Token], second: AbstractSet[Token]) -> float:
    """Jaccard similarity of two sets, of which at least one has an element."""
    return len(first & second) / len(first | second)


def agreeing_bits(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Number of equal bits of signatures of shape (..., bits // 64), broadcast over the leading axes."""
    agreeing: NDArray[np.int64] = np.bitwise_count(~(first ^ second)).sum(axis=-1, dtype=np.int64)
    return agreeing


def estimate(
    agreeing: ArrayLike, bits: int, randomised_response: float = 0.0, clip: bool = True
) -> NDArray[np.float64]:
    """Estimate the Jaccard similarity from the number of agreeing bits: (2n/M - 1)/(1 - 2r)^2.

    Each bit was inverted on each side with probability r (randomised response), in [0, 1/2). `clip` moves estimates
    into [0, 1]; only the estimate before clipping is unbiased.
    """
    similarity = (2.0 * np.asarray(agreeing, dtype=np.float64) / bits - 1.0) / _contrast(randomised_response)
    return np.clip(similarity, 0.0, 1.0) if clip else similarity


def variance(similarity: ArrayLike, bits: int, randomised_response: float = 0.0) -> NDArray[np.float64]:
    """Variance of the estimate before clipping: (1 - c^2 J^2)/(c^2 M) with c = (1 - 2r)^2.

    Without randomised response (1 - J^2)/M. A full minwise hash of M values has J(1 - J)/M, at 64 times the
    storage.
    """
    contrast = _contrast(randomised_response)
    return (1.0 - (contrast * np.asarray(similarity, dtype=np.float64)) ** 2) / (contrast**2 * bits)


def _contrast(randomised_response: float) -> float:
    if not 0.0 <= randomised_response < 0.5:
        raise parameter(
            "randomised response",
            "the probability of randomised response must be at least 0 and less than 1/2",
            str(randomised_response),
        )
    return (1.0 - 2.0 * randomised_response) ** 2
