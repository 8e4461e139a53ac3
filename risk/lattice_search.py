"""The least coarsening with which a condition holds, in any lattice of coarsenings whose cost rises with each step.

`cheapest_first` goes through all of a small lattice, and is exact whatever the condition. `minimal_node` is exact for
levels by key where coarsening never breaks the condition, and tests few nodes. `stepwise` takes the best step again and
again: for lattices that no one can go through.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats

Node = tuple[int, ...]
"""A level of each key."""

N = TypeVar("N", bound=Hashable)
S = TypeVar("S")

_NODES = 2**22  # held in an array of bytes and one of losses


def cheapest_first(start: N, coarser: Callable[[N], Iterable[N]], cost: Callable[[N], Any]) -> Iterator[N]:
    """Every node that can be reached, the cheapest first; of equal cost, the one that was reached first.

    A node costs no less than those that it is `coarser` than, else the order is wrong. O(n log n) for n nodes, each
    of them held.
    """
    queue, reached = [(cost(start), 0, start)], {start}
    while queue:
        node = heapq.heappop(queue)[-1]
        yield node
        for further in coarser(node):
            if further not in reached:
                heapq.heappush(queue, (cost(further), len(reached), further))
                reached.add(further)


def stepwise(start: S, best_step: Callable[[S], S | None], holds: Callable[[S], bool]) -> list[S]:
    """From `start` one best step after another, until the condition holds or there is no step."""
    steps = [start]
    while not holds(steps[-1]) and (following := best_step(steps[-1])) is not None:
        steps.append(following)
    return steps


@dataclass(frozen=True)
class NodeFound:
    """The outcome of a search."""

    node: Node | None
    loss: float
    tested: int
    exact: bool


def minimal_node(
    losses: Sequence[Sequence[float]], holds: Callable[[Node], bool], *, max_tests: int = 2_000
) -> NodeFound:
    """The node of least loss at which a condition holds that coarsening never breaks.

    A node where it holds stands for all above it, one where it fails for all below it; so of a chain from a node to the
    top a binary search finds where it begins to hold, and each test decides whole boxes of the lattice (predictive
    tagging, as in Flash and ARX).

    Parameters
    ----------
    losses
        ``losses[q][l]`` is the loss of key q at level l, never less than at the level before; losses add up over keys.

    References
    ----------
    .. [1] Kohlmayer et al., Flash: efficient, stable and optimal k-anonymity, 2012.
    """
    shape = tuple(len(own) for own in losses)
    if float(np.prod([float(n) for n in shape])) > _NODES:
        what, got = "the hierarchies have too many combinations of levels", " x ".join(str(n) for n in shape)
        raise parameter("hierarchies", what, got, f"give fewer levels or keys: at most {_NODES:,} combinations")
    total = np.zeros(shape)
    for q, own in enumerate(losses):
        total += np.asarray(own, dtype=np.float64).reshape([-1 if i == q else 1 for i in range(len(shape))])
    order = np.argsort(total, axis=None, kind="stable")
    status = np.zeros(shape, dtype=np.int8)
    best: Node | None = None
    best_loss, tested = np.inf, 0

    def test(node: Node) -> bool:
        nonlocal best, best_loss, tested
        tested += 1
        if holds(node):
            status[tuple(slice(level, None) for level in node)] = 1
            if total[node] < best_loss:
                best, best_loss = node, float(total[node])
            return True
        status[tuple(slice(None, level + 1) for level in node)] = -1
        return False

    for flat in order.tolist():
        node: Node = tuple(int(i) for i in np.unravel_index(flat, shape))
        if total[node] >= best_loss:
            return NodeFound(best, best_loss, tested, True)
        if status[node]:
            continue
        if tested >= max_tests:
            return NodeFound(best, best_loss, tested, False)
        chain = _chain(node, total, status, best_loss)
        low, high = 0, len(chain) - 1
        while low <= high:
            middle = (low + high) // 2
            if test(chain[middle]):
                high = middle - 1
            else:
                low = middle + 1
    return NodeFound(best, best_loss, tested, True)


def _chain(node: Node, total: Floats, status: NDArray[np.int8], below: float) -> list[Node]:
    """From a node upwards, each step the one of least loss, through nodes that are undecided and lose less."""
    chain = [node]
    while True:
        above = [
            up
            for q in range(len(node))
            if node[q] + 1 < total.shape[q]
            and not status[up := (*node[:q], node[q] + 1, *node[q + 1 :])]
            and total[up] < below
        ]
        if not above:
            return chain
        node = min(above, key=lambda n: float(total[n]))
        chain.append(node)
