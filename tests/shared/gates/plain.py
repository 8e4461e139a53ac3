"""Shares of plain words, plain words of shares, and parties whose messages a test watches or changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.common.parties import ComputeParty
from gemel.shared.gates.gates import Shared
from gemel.shared.session.local_session import LocalChannel, Parties, local_parties


def shares_of(value: NDArray[np.uint64], seed: int | None = None) -> tuple[Shared, Shared, Shared]:
    """What each of the three parties holds of a value."""
    rng = np.random.default_rng(seed)
    s0, s1 = rng.integers(0, 1 << 64, (2, *value.shape), dtype=np.uint64)
    shares = s0, s1, value ^ s0 ^ s1
    one, two, three = (np.stack((shares[i], shares[(i + 1) % 3])) for i in range(3))
    return one, two, three


def value_of(held: Sequence[Shared]) -> NDArray[np.uint64]:
    """The value; both holders of each share must have the same."""
    for i in range(3):
        np.testing.assert_array_equal(held[i][1], held[(i + 1) % 3][0])
    return np.asarray(held[0][0] ^ held[1][0] ^ held[2][0])


PLAIN_ONES = np.full((1, 1), np.uint64(0xFFFFFFFFFFFFFFFF))
"""Ones of circuits on plain words, whose first axis is 1."""


def plain_all_of(requests: list[tuple[Shared, Shared]]) -> list[Shared]:
    """`and` of each pair of plain words: a circuit that runs on it defines what shares are computed of."""
    return [x & y for x, y in requests]


Change = Callable[[int, bytes], bytes]
"""What is sent instead of a message, by the number of the message among those of its sender."""


class Watched(LocalChannel):
    """Keeps what it receives, and to whom and how long what it sends is; may change what it sends."""

    def __init__(self, channel: LocalChannel, change: Change) -> None:
        super().__init__(channel.own, channel._queues)
        self._change = change
        self.sent: list[tuple[ComputeParty, int]] = []
        self.received: list[bytes] = []

    def send(self, to: ComputeParty, content: bytes | bytearray | memoryview) -> None:
        self.sent.append((to, len(content)))
        super().send(to, self._change(len(self.sent) - 1, bytes(content)))

    def receive(self, sender: ComputeParty) -> bytes:
        self.received.append(super().receive(sender))
        return self.received[-1]


def unchanged(number: int, content: bytes) -> bytes:
    return content


def watched(
    cheating: ComputeParty | None = None, change: Change = unchanged, seed: bytes | None = None
) -> tuple[Parties, dict[ComputeParty, Watched]]:
    """Three parties, of which one may change its messages, and their channels."""
    channels = {}

    def wrapped(channel: LocalChannel) -> Watched:
        channels[channel.own] = Watched(channel, change if channel.own == cheating else unchanged)
        return channels[channel.own]

    return local_parties(seed, wrapped), channels
