r"""Whether every `and` was computed right: a random gate is spent on each (Furukawa et al. 2017, Araki et al. 2017).

A wrong message of an `and` adds an error, which its sender knows, to the result z of a gate, and changes nothing else.
So at a check

1. more random gates (a, b, c = ab) are made than there are gates, by the same `and`, a and b from the streams;
2. all three have received all of that before a coin shows how gates and random gates are matched: the random gates'
   words in a uniformly random order, each rotated by a random number of bits, and each two neighbours with randomly
   chosen bits exchanged;
3. those left over, at least `SAMPLED_WORDS` words, are opened whole;
4. of each gate rho = x ^ a and sigma = y ^ b are opened, which are uniform, as a and b are;
5. z ^ c ^ rho y ^ sigma x ^ rho sigma is 0 where both gates are right, and the exclusive or of their errors otherwise.
   Shares of zero are such that s_i ^ s_(i+1) = s_(i+2): each two parties compare tags of what one expects of the other.

Openings are checked before the last step, whose tags would tell who opened a wrong rho a bit of y.

Notes
-----
With M words of random gates, a party passes with wrong gates only if the errors it put into random gates meet those of
its gates bit by bit, and none is among those opened. One word of errors, of k bits, falls into place with a probability
of at most 2 k 2^-k / (64 M) <= 1 / (64 M): the order, the rotation and the bits exchanged must all fit. Errors in t
words, 2 <= t, have 1 / binomial(M, t) at most, unless t is so near M that a sample of `SAMPLED_WORDS` has them. So the
bound is 1 in the random gates of a check: `GATE_WORDS` makes it 2^-26 where there are gates enough, and `MIN_WORDS`
2^-20 for the smallest. A failure ends the session: there is one try.

References
----------
.. [1] Furukawa, Lindell, Nof and Weinstein, High-throughput secure three-party computation for malicious adversaries
       and an honest majority, EUROCRYPT 2017. doi:10.1007/978-3-319-56614-6_8
.. [2] Araki et al., Optimized honest-majority MPC for malicious adversaries, IEEE S&P 2017. doi:10.1109/SP.2017.15
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gemel.shared.gates.arithmetic import Arithmetic
from gemel.shared.gates.gates import Shared, Words, draw_order, gate_differences, pick_gates, scatter_gates
from gemel.shared.gates.streams import Stream
from gemel.shared.gates.vouched_openings import AgreedWords, VouchedOpenings

GATE_WORDS = 1 << 20
"""Words of gates that are checked together at the most, 2^26 gates, unless one message has more: 150 MB at a party."""
MIN_WORDS = 1 << 14
"""Words of random gates of a check at least, 2^20 gates."""
SAMPLED_WORDS = 128
CHUNK_WORDS = 50_000
"""Words of one message of a check; even, and no power of two, whose multiples share cache lines."""
BUCKET_BITS = 13
"""Random gates are shuffled in buckets of some 2^12."""
COIN_WORDS = 4


class GateCheck:
    """The gates of one party since the last check."""

    def __init__(
        self, arithmetic: Arithmetic, openings: VouchedOpenings, keys: tuple[bytes, bytes], coin: Callable[[int], Words]
    ) -> None:
        self._arithmetic = arithmetic
        self._openings = openings
        self._agreed = AgreedWords(arithmetic, "results of gates", keys)
        self._coin = coin
        # Kept from check to check: fresh memory costs more than all that is computed in it.
        self._log = np.empty((6, 0), dtype=np.uint64)
        self._random = _RandomGates(arithmetic)
        self.words = 0
        """Words of gates that are still to be checked."""

    def add(self, requests: Sequence[tuple[Shared, Shared]], results: Sequence[Shared]) -> None:
        """Keep a copy of gates for the check."""
        n = sum(z[0].size for z in results)
        if self.words + n > self._log.shape[1]:
            log = np.empty((6, _room(self.words + n)), dtype=np.uint64)
            log[:, : self.words] = self._log[:, : self.words]
            self._log = log
        for (x, y), z in zip(requests, results, strict=True):
            end = self.words + z[0].size
            for column, share in zip(self._log, (*x, *y, *z), strict=True):
                column[self.words : end] = share.reshape(-1)
            self.words = end

    def check(self) -> None:
        """Check all gates that were added since the last check, and all openings; DEVIATION if one is wrong."""
        n = self.words
        n_random = max(n + SAMPLED_WORDS, MIN_WORDS)
        n_random += n_random % 2
        self._random.make(n_random)
        self._random.draw(self._coin(COIN_WORDS))
        fault = ""
        with_previous, with_next = self._agreed.with_previous, self._agreed.with_next
        constant = (int(self._arithmetic.own == 0), int(self._arithmetic.own.next == 0))
        for begin in range(0, n_random, CHUNK_WORDS):
            end = min(begin + CHUNK_WORDS, n_random)
            picked = self._random.between(begin, end)
            n_spent = min(max(n - begin, 0), end - begin)
            if n_spent:
                gates = self._log[:, begin : begin + n_spent]
                x0, x1, y0, y1, z0, z1 = gates
                rho, sigma = self._openings.to_all(_masked(gates, picked[:, :n_spent]), "check")
                for_next, for_previous = np.empty((2, n_spent), dtype=np.uint64)
                c0, c1 = picked[4:, :n_spent]
                gate_differences(rho, sigma, x0, x1, y0, y1, z0, z1, c0, c1, constant, for_next, for_previous)
                with_next.add(for_next)
                with_previous.add(for_previous)
            if n_spent < end - begin:
                left = picked[:, n_spent:].reshape(3, 2, -1).transpose(1, 0, 2)
                a, b, c = self._openings.to_all(left, "check")
                if not np.array_equal(a & b, c):
                    fault = "random gates are wrong"
        self.words = 0
        self._openings.check(fault)
        self._agreed.check()


def _room(n: int) -> int:
    """Words to allocate where n are needed: enough for all later checks, or for a small one just that."""
    return n if n <= 2 * MIN_WORDS else max(n, GATE_WORDS + 2 * SAMPLED_WORDS)


class _RandomGates:
    """Random gates, made, and put in the order that a coin draws: each in a random bucket, and these shuffled.

    So every order has the same probability (Rao 1961), and memory is read and written bucket by bucket.
    """

    def __init__(self, arithmetic: Arithmetic) -> None:
        self._arithmetic = arithmetic
        # Kept from check to check, as the gates are.
        self._parts = np.empty((6, 0), dtype=np.uint64)

    def make(self, n: int) -> None:
        """Make n, an even number, as any gate is made."""
        if self._parts.shape[1] < n:
            room = _room(n)
            self._parts = np.empty((6, room), dtype=np.uint64)
            self._rows = np.empty((room, 6), dtype=np.uint64)
            self._words = np.empty(room, dtype=np.uint64)
            self._masks = np.empty(room, dtype=np.uint64)
            self._places = np.empty(room, dtype=np.int32)
        parts = self._parts[:, :n]
        for begin in range(0, n, CHUNK_WORDS):
            part = slice(begin, min(begin + CHUNK_WORDS, n))
            a, b = (self._arithmetic.random((part.stop - begin,)) for _ in range(2))
            parts[0:2, part], parts[2:4, part] = a, b
            (parts[4:6, part],) = self._arithmetic.products([(a, b)])
        self._gates, self._drawn = self._rows[:n], self._words[:n]
        self._swapped, self._order = self._masks[: n // 2], self._places[:n]

    def draw(self, coin: Words) -> None:
        """Put them in the order that a coin gives, which was not known when they were made."""
        n = len(self._gates)
        bucket_bits = max(0, n.bit_length() - BUCKET_BITS)
        stream = Stream(coin.tobytes())
        begins = np.empty((1 << bucket_bits) + 1, dtype=np.int64)
        stream.fill(self._drawn)
        scatter_gates(self._parts[:, :n], self._drawn, 64 - bucket_bits, self._gates, begins)
        stream.fill(self._drawn)
        draw_order(self._drawn, begins, self._order)
        stream.fill(self._swapped)

    def between(self, begin: int, end: int) -> Words:
        """The gates of these places, both even: shares of a, b and c, shape (6, end - begin)."""
        picked = np.empty((6, end - begin), dtype=np.uint64)
        pick_gates(self._gates, self._order, self._drawn, self._swapped, begin, picked)
        return picked


def _masked(gates: Words, picked: Words) -> Shared:
    """Shares of rho = x ^ a and sigma = y ^ b; shape (2, 2, n)."""
    return (gates[:4] ^ picked[:4]).reshape(2, 2, -1).transpose(1, 0, 2)
