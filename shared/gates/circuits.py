"""Circuits as generators: each yields the operands of its next gates, and is sent their results.

A circuit works on slices, arrays of uint64 of shape (shares, gates, words), and never looks at their first axis: the
same one computes on a party's two shares and, on plain words with a first axis of 1, defines what these are shares of.
A constant is `ones` of shape (shares, 1), or 0.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

import numpy as np

from gemel.shared.gates.gates import Shared

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
