"""Circuits that count bits and compare the count.

A full adder of bits a, b, c is one gate: with g = (a ^ c)(b ^ c) the carry is g ^ c, and the sum a ^ b ^ c. Each full
adder takes a bit away, a half adder none. To count n bits costs n - 1 gates where n is a power of two, which is the
least that is possible: n minus the number of ones in n (Boyar and Peralta 2008).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gemel.shared.gates.gates import Shared, Words

Result = TypeVar("Result")
Circuit = Generator[tuple[Shared, Shared], Shared, Result]
AllOf = Callable[[list[tuple[Shared, Shared]]], list[Shared]]
"""`Party.all_of`."""


def lockstep(circuits: Sequence[Circuit[Result]], all_of: AllOf) -> list[Result]:
    """Run circuits side by side: the gates that all of them ask for next are one message."""
    results: dict[int, Result] = {}
    waiting: list[tuple[int, tuple[Shared, Shared]]] = []

    def advance(place: int, answer: Shared | None) -> None:
        try:
            request = next(circuits[place]) if answer is None else circuits[place].send(answer)
        except StopIteration as end:
            results[place] = end.value
        else:
            waiting.append((place, request))

    for place in range(len(circuits)):
        advance(place, None)
    while waiting:
        requested, waiting[:] = list(waiting), []
        for (place, _), answer in zip(requested, all_of([request for _, request in requested]), strict=True):
            advance(place, answer)
    return [results[place] for place in range(len(circuits))]


def all_ones(slices: Shared) -> Circuit[Shared]:
    """`and` over the middle axis: of shape (shares, n, words) one of (shares, words); n - 1 gates."""
    while slices.shape[1] > 1:
        half = slices.shape[1] // 2
        product = yield slices[:, :half], slices[:, half : 2 * half]
        slices = np.concatenate((product, slices[:, 2 * half :]), axis=1)
    return slices[:, 0]


NO_SLOT = -1


@dataclass(frozen=True)
class AdderPlan:
    """Which bits are added in which round.

    `rounds`, int32 of shape (adders, 3): slots a, b, c of each adder; c is `NO_SLOT` in a half adder. The sum goes to
    slot a, the carry to slot b; `count`: slots of the count's bits, the least significant first.
    """

    rounds: tuple[NDArray[np.int32], ...]
    count: tuple[int, ...]

    @property
    def gates(self) -> int:
        """Gates that are one bit for each pair."""
        return sum(len(adders) for adders in self.rounds)


@cache
def adder_plan(columns: tuple[int, ...]) -> AdderPlan:
    """Full adders wherever three bits of a column are there, half adders where two are left and no more can come.

    `columns`: how many bits of each weight 1, 2, 4, ... there are; slots are numbered in this order.
    """
    begins = np.cumsum([0, *columns]).tolist()
    waiting = [list(range(begin, end)) for begin, end in pairwise(begins)]
    rounds = []
    while any(len(column) > 1 for column in waiting):
        adders = []
        came: list[list[int]] = [[] for _ in range(len(waiting) + 1)]
        done = True
        for place, column in enumerate(waiting):
            while len(column) >= 3:
                a, b, c = (column.pop(0) for _ in range(3))
                adders.append((a, b, c))
                came[place].append(a)
                came[place + 1].append(b)
                done = False
            if done and len(column) == 2:
                a, b = column.pop(0), column.pop(0)
                adders.append((a, b, NO_SLOT))
                came[place].append(a)
                came[place + 1].append(b)
                done = False
            done = done and len(column) + len(came[place]) <= 1
        waiting = [[*old, *new] for old, new in zip([*waiting, []], came, strict=True)]
        if not waiting[-1]:
            waiting.pop()
        rounds.append(np.array(adders, dtype=np.int32))
    return AdderPlan(tuple(rounds), tuple(column[0] for column in waiting))


def counted(slices: Shared, columns: tuple[int, ...] | None = None) -> Circuit[Shared]:
    """The sum of bits of each pair, the least significant first: shape (shares, k, words).

    `slices`, shape (shares, n, words), are written over; `columns`: how many of them weigh 1, 2, 4, ...; default: all
    1.
    """
    shares, n, words = slices.shape
    plan = adder_plan((n,) if columns is None else columns)
    room = np.empty((2, shares, max(map(len, plan.rounds), default=0), words), dtype=np.uint64)
    for adders in plan.rounds:
        x, y = room[:, :, : len(adders)]
        for share in range(shares):
            _operands(slices[share], adders, x[share], y[share])
        z = yield x, y
        for share in range(shares):
            _add(slices[share], adders, x[share], z[share])
    return slices[:, list(plan.count)]


def at_most(count: Shared, limits: tuple[int, ...], ones: Shared) -> Circuit[Shared]:
    """Whether a sum does not exceed each of some limits: shape (shares, len(limits), words).

    `count`, shape (shares, k, words): of `counted`; `limits`: below 0 no sum, and from 2^k - 1 each; `ones`, shape
    (shares, 1): the constant. A sum exceeds a limit where it has a 1 and the limit a 0 in a bit above which they are
    equal. Sums that begin as a limit does are one gate for each bit and each beginning that limits have in common.
    """
    shares, k, words = count.shape
    result = np.zeros((shares, len(limits), words), dtype=np.uint64)
    compared = {limit for limit in limits if 0 <= limit < (1 << k) - 1}
    exceeds = {limit: np.zeros((shares, words), dtype=np.uint64) for limit in compared}
    alike: dict[int, Shared] = {0: np.broadcast_to(ones, (shares, words))}
    for place in range(k - 1, -1, -1):
        bit = count[:, place]
        # Where all bits of a limit from here on are 1 no sum that has begun so exceeds it.
        going = {limit for limit in compared if (limit + 1) % (2 << place)}
        beginnings = sorted({limit >> (place + 1) for limit in going})
        if not beginnings:
            break
        if place == k - 1:
            one_next = {0: bit}
        else:
            begun = np.stack([alike[beginning] for beginning in beginnings], axis=1)
            z = yield begun, np.repeat(bit[:, None], len(beginnings), axis=1)
            one_next = {beginning: z[:, j] for j, beginning in enumerate(beginnings)}
        for limit in going:
            if not limit >> place & 1:
                exceeds[limit] ^= one_next[limit >> (place + 1)]
        alike = {2 * beginning: alike[beginning] ^ one for beginning, one in one_next.items()} | {
            2 * beginning + 1: one for beginning, one in one_next.items()
        }
    for j, limit in enumerate(limits):
        if limit in compared:
            result[:, j] = exceeds[limit] ^ ones
        elif limit >= 0:
            result[:, j] = ones
    return result


def less_than(one: Shared, other: Shared, ones: Shared) -> Circuit[Shared]:
    """Whether one sum, (shares, k, words), is less than another: shape (shares, words); a gate for each bit."""
    shares, k, words = one.shape
    borrow = np.zeros((shares, words), dtype=np.uint64)
    for place in range(k):
        # The carry of ~one + other + borrow: 1 where other is greater up to here.
        x = one[:, place] ^ ones ^ borrow
        y = other[:, place] ^ borrow
        z = yield x[:, None], y[:, None]
        borrow = z[:, 0] ^ borrow
    return borrow


@njit(nogil=True, cache=True)
def _operands(slots: Words, adders: NDArray[np.int32], x: Words, y: Words) -> None:
    for k in range(len(adders)):
        a, b, c = adders[k]
        if c < 0:
            x[k] = slots[a]
            y[k] = slots[b]
        else:
            for w in range(slots.shape[1]):
                x[k, w] = slots[a, w] ^ slots[c, w]
                y[k, w] = slots[b, w] ^ slots[c, w]


@njit(nogil=True, cache=True)
def _add(slots: Words, adders: NDArray[np.int32], x: Words, z: Words) -> None:
    for k in range(len(adders)):
        a, b, c = adders[k]
        for w in range(slots.shape[1]):
            slots[a, w] = x[k, w] ^ slots[b, w]
            slots[b, w] = z[k, w] ^ (slots[c, w] if c >= 0 else np.uint64(0))
