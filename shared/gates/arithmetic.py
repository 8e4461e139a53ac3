"""What one party computes on its shares: exclusive or is `^` on them, and the rest is here (Araki et al. 2016).

Nothing here detects a deviation, except for a message of a wrong length; `gate_check` and `vouched_openings` do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gemel.common.parties import ComputeParty
from gemel.shared.gates.channel import Channel, deviation
from gemel.shared.gates.gates import Shared, Words, add_products
from gemel.shared.gates.streams import Stream, bytes_of

BLOCK_WORDS = 1 << 14


class Arithmetic:
    """One party's shares, its streams and its links.

    `keys`: of the stream that it shares with the previous party, and of that with the next, from which both holders
    draw the same, in the same order; `stage`: what is being computed, as errors name it.
    """

    def __init__(self, own: ComputeParty, keys: tuple[bytes, bytes], channel: Channel) -> None:
        self.own = own
        self.stage = ""
        self.streams = Stream(keys[0]), Stream(keys[1])
        self.sent_bytes = 0
        self.channel = channel
        self._mask = np.empty(BLOCK_WORDS, dtype=np.uint64)

    def random(self, shape: tuple[int, ...]) -> Shared:
        """Shares of words that no party knows; shape (2, *shape). No message."""
        n = int(np.prod(shape, dtype=np.int64))
        drawn = np.empty((2, n), dtype=np.uint64)
        for share, stream in zip(drawn, self.streams, strict=True):
            stream.fill(share)
        return drawn.reshape(2, *shape)

    def zero(self, n: int) -> Words:
        """This party's part of `n` words whose exclusive or over the three parties is 0; shape (n,)."""
        return self.streams[0].words(n) ^ self.streams[1].words(n)

    def public(self, value: Words) -> Shared:
        """Shares of words that all know: the first share is the value, the others are 0; shape (2, *value.shape)."""
        value = np.asarray(value, dtype=np.uint64)
        shares = np.zeros((2, *value.shape), dtype=np.uint64)
        if self.own == 0:
            shares[0] = value
        elif self.own.next == 0:
            shares[1] = value
        return shares

    def products(self, requests: Sequence[tuple[Shared, Shared]]) -> list[Shared]:
        """`and` of each pair of two shares of one shape, all of them in one message to the previous party; of that
        shape.
        """
        sizes = [x[0].size for x, _ in requests]
        results = np.empty((2, sum(sizes)), dtype=np.uint64)
        parts = np.split(results, np.cumsum(sizes)[:-1], axis=1)
        for part, (x, y) in zip(parts, requests, strict=True):
            self._add_products(_flat(x) + _flat(y), part[0])
        self.send(self.own.previous, results[0])
        results[1] = self.receive(self.own.next, results.shape[1])
        return [part.reshape(x.shape) for part, (x, _) in zip(parts, requests, strict=True)]

    def _add_products(self, operands: tuple[Words, Words, Words, Words], out: Words) -> None:
        """This party's parts of products, block by block, so that what is drawn is still in the cache."""
        for begin in range(0, len(out), BLOCK_WORDS):
            part = slice(begin, begin + BLOCK_WORDS)
            self.streams[0].fill(out[part])
            mask = self._mask[: len(out[part])]
            self.streams[1].fill(mask)
            x0, x1, y0, y1 = (share[part] for share in operands)
            add_products(x0, x1, y0, y1, mask, out[part])

    def send(self, to: ComputeParty, words: Words) -> None:
        self.send_bytes(to, bytes_of(words))

    def send_bytes(self, to: ComputeParty, content: bytes | memoryview) -> None:
        self.sent_bytes += len(content)
        self.channel.send(to, content)

    def receive(self, sender: ComputeParty, n: int) -> Words:
        """The next `n` words of a party; DEVIATION if it has sent another number."""
        return np.frombuffer(self.receive_bytes(sender, 8 * n), dtype="<u8")

    def receive_bytes(self, sender: ComputeParty, length: int) -> bytes:
        """The next message of a party; DEVIATION if it has another length."""
        content = self.channel.receive(sender)
        if len(content) != length:
            what = f"a message has {len(content)} bytes instead of {length}"
            raise deviation(self.stage, what, (self.own, sender), (sender,))
        return content


def _flat(shared: Shared) -> tuple[Words, Words]:
    return shared[0].reshape(-1), shared[1].reshape(-1)
