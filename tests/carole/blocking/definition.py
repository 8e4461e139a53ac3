"""Plain definition of a candidate pair, without regard for speed; the streamed form is tested against it."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gemel.common.signatures.signature_sets import NO_KEY, FieldSignatures
from tests.carole.comparison.definition import agreeing_bits, jaccard_estimate


def candidate_pairs(
    keys_a: Sequence[NDArray[np.uint64]], keys_b: Sequence[NDArray[np.uint64]]
) -> dict[tuple[int, int], int]:
    """Every pair of rows that satisfies at least one rule, with the rules it satisfies as a bit mask.

    Parameters
    ----------
    keys_a, keys_b : sequence of ndarray of uint64
        Per rule the keys of A's and of B's rows. Rule r is bit r of the mask.
    """
    pairs: dict[tuple[int, int], int] = {}
    for rule, (in_a, in_b) in enumerate(zip(keys_a, keys_b, strict=True)):
        for i, key_a in enumerate(in_a.tolist()):
            for j, key_b in enumerate(in_b.tolist()):
                if key_a == key_b != NO_KEY:
                    pairs[i, j] = pairs.get((i, j), 0) | 1 << rule
    return pairs


def banded_pairs(a: FieldSignatures, b: FieldSignatures, bands: int, bits: int) -> set[tuple[int, int]]:
    """Every pair of rows whose signatures of a field agree on all bits of some band; bands follow each other."""

    def band(part: FieldSignatures, row: int, k: int) -> list[int]:
        words = part.signatures[part.codes[row]].tolist()
        return [words[i // 64] >> (i % 64) & 1 for i in range(k * bits, (k + 1) * bits)]

    return {
        (i, j)
        for i in range(len(a.codes))
        for j in range(len(b.codes))
        if a.codes[i] >= 0 <= b.codes[j] and any(band(a, i, k) == band(b, j, k) for k in range(bands))
    }


def similar_rows(
    a: FieldSignatures, b: FieldSignatures, minimum: float, randomised_response: float = 0.0
) -> set[tuple[int, int]]:
    """Every pair of rows whose values have an estimated similarity of at least `minimum`."""
    return {
        (i, j)
        for i in range(len(a.codes))
        for j in range(len(b.codes))
        if a.codes[i] >= 0 <= b.codes[j]
        and estimate(a.signatures[a.codes[i]], b.signatures[b.codes[j]], randomised_response) >= Fraction(str(minimum))
    }


def canopy_rows(
    a: FieldSignatures,
    b: FieldSignatures,
    tight: float,
    loose: float,
    order: Sequence[int],
    randomised_response: float = 0.0,
) -> set[tuple[int, int]]:
    """Every pair of rows whose values lie in a common canopy, centres being picked in a given order.

    The order is of A's distinct values followed by B's.
    """
    values = [*a.signatures, *b.signatures]
    free = set(range(len(values)))
    pairs: set[tuple[int, int]] = set()
    for centre in order:
        if centre in free:
            alike = [estimate(values[centre], value, randomised_response) for value in values]
            free -= {i for i, similarity in enumerate(alike) if similarity >= Fraction(str(tight))}
            inside = {i for i, similarity in enumerate(alike) if similarity >= Fraction(str(loose))}
            pairs |= {
                (i, j)
                for i in range(len(a.codes))
                for j in range(len(b.codes))
                if a.codes[i] >= 0 <= b.codes[j] and {int(a.codes[i]), len(a.signatures) + int(b.codes[j])} <= inside
            }
    return pairs


def estimate(one: NDArray[np.uint64], other: NDArray[np.uint64], randomised_response: float = 0.0) -> Fraction:
    """Estimated similarity of two signatures with randomised bits, exactly, not clipped."""
    return jaccard_estimate(agreeing_bits(one, other), 64 * len(one), randomised_response)
