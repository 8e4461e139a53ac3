"""The node of least loss in a lattice of levels at which a condition holds that coarsening never breaks.

Losses add up over keys and rise with their levels. A node where the condition holds stands for all above it, one where
it fails for all below it; so of a chain from a node to the top a binary search finds where it begins to hold, and each
test decides whole boxes of the lattice (predictive tagging, as in Flash and ARX).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.risk.protection.key_table import Node

_NODES = 2**22  # held in an array of bytes and one of losses


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
    """Search a lattice.

    Parameters
    ----------
    losses
        ``losses[q][l]`` is the loss of key q at level l, never less than at the level before.

    References
    ----------
    .. [1] Kohlmayer et al., Flash: efficient, stable and optimal k-anonymity, 2012.
    """
    shape = tuple(len(own) for own in losses)
    if float(np.prod([float(n) for n in shape])) > _NODES:
        raise parameter(
            "hierarchies",
            "the hierarchies have too many combinations of levels",
            " x ".join(str(n) for n in shape),
            f"give fewer levels or keys: at most {_NODES:,} combinations",
        )
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


def _chain(node: Node, total: NDArray[np.float64], status: NDArray[np.int8], below: float) -> list[Node]:
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
