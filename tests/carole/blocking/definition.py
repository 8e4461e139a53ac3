"""Plain definitions of candidate pairs, without regard for speed; the streamed forms are tested against them."""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gemel.carole.blocking.candidates import PairSource
from gemel.common.signatures.signature_sets import NO_KEY, FieldSignatures
from tests.carole.comparison.definition import agreeing_bits, jaccard_estimate

Pairs = set[tuple[int, int]]


def streamed(source: PairSource, size: int) -> dict[tuple[int, int], int]:
    """All pairs that a source writes, with their masks; fails when one comes twice."""
    row_a, row_b, mask = (np.empty(size, kind) for kind in (np.int32, np.int32, np.uint32))
    found: dict[tuple[int, int], int] = {}
    for part in source.parts(size):
        assert 0 < part.stop - part.start <= size
        n = source.write(part, row_a, row_b, mask)
        written = zip(row_a[:n].tolist(), row_b[:n].tolist(), strict=True)
        more = dict(zip(written, mask[:n].tolist(), strict=True))
        assert len(more) == n
        assert not more.keys() & found.keys()
        found |= more
    return found


def candidate_pairs(
    keys_a: Sequence[NDArray[np.uint64]], keys_b: Sequence[NDArray[np.uint64]]
) -> dict[tuple[int, int], int]:
    """Every pair of rows that satisfies at least one rule, by the keys of each; rule r is bit r of the mask."""
    pairs: dict[tuple[int, int], int] = {}
    for rule, (in_a, in_b) in enumerate(zip(keys_a, keys_b, strict=True)):
        for i, key_a in enumerate(in_a.tolist()):
            for j, key_b in enumerate(in_b.tolist()):
                if key_a == key_b != NO_KEY:
                    pairs[i, j] = pairs.get((i, j), 0) | 1 << rule
    return pairs


def related_rows(a: FieldSignatures, b: FieldSignatures, related: Callable[[int, int], bool]) -> Pairs:
    """Every pair of rows whose values are related, by the codes of both."""
    return {
        (i, j)
        for i, in_a in enumerate(a.codes.tolist())
        for j, in_b in enumerate(b.codes.tolist())
        if in_a >= 0 <= in_b and related(in_a, in_b)
    }


def banded_pairs(a: FieldSignatures, b: FieldSignatures, bands: int, bits: int) -> Pairs:
    """Every pair of rows whose signatures of a field agree on all bits of some band; bands follow each other."""

    def band(part: FieldSignatures, code: int, k: int) -> list[int]:
        words = part.signatures[code].tolist()
        return [words[i // 64] >> (i % 64) & 1 for i in range(k * bits, (k + 1) * bits)]

    return related_rows(a, b, lambda x, y: any(band(a, x, k) == band(b, y, k) for k in range(bands)))


def similar_rows(a: FieldSignatures, b: FieldSignatures, minimum: float, randomised_response: float = 0.0) -> Pairs:
    """Every pair of rows whose values have an estimated similarity of at least `minimum`."""
    least = Fraction(str(minimum))
    return related_rows(a, b, lambda x, y: estimate(a.signatures[x], b.signatures[y], randomised_response) >= least)


def canopy_rows(
    a: FieldSignatures,
    b: FieldSignatures,
    tight: float,
    loose: float,
    order: Sequence[int],
    randomised_response: float = 0.0,
) -> Pairs:
    """Every pair of rows whose values lie in a common canopy, centres being picked in a given order.

    The order is of A's distinct values followed by B's.
    """
    values = [*a.signatures, *b.signatures]
    free = set(range(len(values)))
    pairs: Pairs = set()
    for centre in order:
        if centre in free:
            alike = [estimate(values[centre], value, randomised_response) for value in values]
            free -= {i for i, similarity in enumerate(alike) if similarity >= Fraction(str(tight))}
            inside = {i for i, similarity in enumerate(alike) if similarity >= Fraction(str(loose))}
            pairs |= related_rows(a, b, lambda x, y, inside=inside: {x, len(a.signatures) + y} <= inside)
    return pairs


def estimate(one: NDArray[np.uint64], other: NDArray[np.uint64], randomised_response: float = 0.0) -> Fraction:
    """Estimated similarity of two signatures with randomised bits, exactly, not clipped."""
    return jaccard_estimate(agreeing_bits(one, other), 64 * len(one), randomised_response)
