"""The searches of a lattice against all of its nodes."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.lattice_search import cheapest_first, minimal_node, stepwise


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_no_node_of_less_loss_holds(shape: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    losses = [np.cumsum(rng.integers(0, 4, n)).tolist() for n in shape]
    nodes = list(product(*(range(n) for n in shape)))
    # Holds above some nodes drawn at random: any condition that coarsening never breaks is of this kind.
    corners = [nodes[i] for i in rng.integers(0, len(nodes), rng.integers(0, 4))]

    def holds(node: tuple[int, ...]) -> bool:
        return any(all(a >= b for a, b in zip(node, corner, strict=True)) for corner in corners)

    found = minimal_node(losses, holds)
    true = [sum(own[i] for own, i in zip(losses, node, strict=True)) for node in nodes if holds(node)]
    assert found.exact
    if not true:
        assert found.node is None
    else:
        assert found.node is not None
        assert holds(found.node)
        assert found.loss == min(true)
    assert found.tested <= len(nodes)


def test_a_search_that_is_cut_short_says_so() -> None:
    found = minimal_node([[0, 1, 2, 3]] * 3, lambda node: sum(node) >= 8, max_tests=1)
    assert not found.exact
    with pytest.raises(GemelError, match="too many combinations"):
        minimal_node([list(range(100))] * 4, lambda node: True)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_nodes_come_in_order_of_cost_and_steps_end_where_the_condition_holds(shape: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    losses = [np.cumsum(rng.integers(0, 4, n)).tolist() for n in shape]
    nodes = list(product(*(range(n) for n in shape)))
    accepted = {node for node in nodes if rng.random() < 0.3}  # any condition, also one that coarsening breaks

    def loss(node: tuple[int, ...]) -> int:
        return sum(own[level] for own, level in zip(losses, node, strict=True))

    def coarser(node: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [(*node[:q], node[q] + 1, *node[q + 1 :]) for q, n in enumerate(shape) if node[q] + 1 < n]

    start = (0,) * len(shape)
    order = list(cheapest_first(start, coarser, lambda node: (loss(node), node)))
    assert order == sorted(nodes, key=lambda node: (loss(node), node))
    steps = stepwise(start, lambda node: min(coarser(node), key=loss, default=None), accepted.__contains__)
    assert all(b in coarser(a) for a, b in pairwise(steps))
    assert not accepted.intersection(steps[:-1])
    assert steps[-1] in accepted or not coarser(steps[-1])
