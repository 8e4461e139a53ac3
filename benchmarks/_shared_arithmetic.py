"""The arithmetic alternative to mode `shared`, in one process: shares mod 2^16 of every bit, one sum sent a pair.

Signatures are of +-1, each bit shared by addition mod 2^16 among three parties, party k with shares k and k + 1 (Araki
et al. 2016). An inner product is local but for one element that each party sends; whether it reaches a limit is the
sign of a difference, by an adder on shared bits (ABY3). So the message of a pair does not grow with the bits, but every
custodian uploads 16 bits for each bit, and nothing is checked: no gate, no opening. What each party would send is
counted.

References
----------
.. [1] Mohassel and Rindal, ABY3: a mixed protocol framework for machine learning, CCS 2018. doi:10.1145/3243734.3243760
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ring = NDArray[np.uint16]
Parts = list[Ring]
"""Three shares, which add up to the value; or, of shared bits, whose exclusive or is the value."""

PAIRS = 5000
"""Pairs whose products are made at a time."""


class RingParties:
    """The three parties."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.sent = 0

    def shared(self, values: Ring) -> Parts:
        """Shares of values mod 2^16."""
        one, two = self._random(values.shape), self._random(values.shape)
        return [one, two, values - one - two]

    def products(self, alice: Parts, bob: Parts, row_a: NDArray[np.int64], row_b: NDArray[np.int64]) -> Parts:
        """Inner products of pairs of rows, shape (n_pairs,); one element sent a pair."""
        found = [np.empty(len(row_a), dtype=np.uint16) for _ in range(3)]
        for start in range(0, len(row_a), PAIRS):
            here = slice(start, start + PAIRS)
            zero = self._zero(len(row_a[here]), np.subtract)
            for party in range(3):
                one, other = alice[party][row_a[here]], alice[(party + 1) % 3][row_a[here]]
                held, after = bob[party][row_b[here]], bob[(party + 1) % 3][row_b[here]]
                total = np.einsum("ij,ij->i", one, held + after, dtype=np.uint16)
                total += np.einsum("ij,ij->i", other, held, dtype=np.uint16)
                found[party][here] = total + zero[party]
        self.sent += found[0].nbytes
        return found

    def below(self, values: Parts, limit: int) -> Parts:
        """Whether values are below a limit, as shared bits: the sign of the difference."""
        changed = [values[0] - np.uint16(limit % (1 << 16)), values[1], values[2]]
        none = np.zeros_like(changed[0])
        # Each share is known to two parties: a shared word without a message.
        one, two, three = ([part if place == at else none for place in range(3)] for at, part in enumerate(changed))
        total, carry = self._three_to_two(one, two, three)
        return [word >> np.uint16(15) for word in self._sum(total, carry)]

    def both(self, one: Parts, other: Parts) -> Parts:
        """The *and* of shared words, of which each party sends its own."""
        zero = self._zero(one[0].shape, np.bitwise_xor)
        found = []
        for party in range(3):
            x, x_next, y, y_next = one[party], one[(party + 1) % 3], other[party], other[(party + 1) % 3]
            found.append((x & y) ^ (x & y_next) ^ (x_next & y) ^ zero[party])
        self.sent += found[0].nbytes
        return found

    def _three_to_two(self, one: Parts, two: Parts, three: Parts) -> tuple[Parts, Parts]:
        carry = _apart(self.both(_apart(one, three), _apart(two, three)), three)
        return _apart(_apart(one, two), three), _moved(carry, 1)

    def _sum(self, one: Parts, other: Parts) -> Parts:
        """The sum by the adder of Kogge and Stone."""
        made, passed = self.both(one, other), _apart(one, other)
        whole = passed
        for step in (1, 2, 4, 8):
            made = _apart(made, self.both(passed, _moved(made, step)))
            if step < 8:
                passed = self.both(passed, _moved(passed, step))
        return _apart(whole, _moved(made, 1))

    def _zero(self, shape: int | tuple[int, ...], apart: np.ufunc) -> Parts:
        """Masks of the three parties that cancel; in earnest from keys that each two of them share."""
        keys = [self._random(shape) for _ in range(3)]
        return [apart(keys[party], keys[(party + 1) % 3]) for party in range(3)]

    def _random(self, shape: int | tuple[int, ...]) -> Ring:
        return self._rng.integers(0, 1 << 16, shape, dtype=np.uint16)


def levels(
    parties: RingParties,
    alice: NDArray[np.uint64],
    bob: NDArray[np.uint64],
    row_a: NDArray[np.int64],
    row_b: NDArray[np.int64],
    limits: NDArray[np.int16],
) -> NDArray[np.int8]:
    """Levels of pairs of rows, opened.

    Parameters
    ----------
    alice, bob : ndarray of uint64, shape (n_rows, words)
        Signatures of one field.
    row_a, row_b : ndarray of int64, shape (n_pairs,)
        Pairs.
    limits : ndarray of int16
        Most disagreeing bits of each level.
    """
    bits = 64 * alice.shape[1]
    found = parties.products(parties.shared(signs(alice)), parties.shared(signs(bob)), row_a, row_b)
    level = np.full(len(row_a), len(limits), dtype=np.int8)
    for limit in limits.tolist():
        one, two, three = parties.below(found, bits - 2 * limit)
        level -= (one ^ two ^ three).astype(np.int8)
    return level


def signs(signatures: NDArray[np.uint64]) -> Ring:
    """Bits as +1 and -1 mod 2^16, shape (n_rows, bits)."""
    bits = np.unpackbits(signatures.view(np.uint8), axis=-1, bitorder="little").astype(np.uint16)
    return np.uint16(1) - np.uint16(2) * bits


def _apart(one: Parts, other: Parts) -> Parts:
    return [mine ^ theirs for mine, theirs in zip(one, other, strict=True)]


def _moved(word: Parts, places: int) -> Parts:
    return [part << np.uint16(places) for part in word]
