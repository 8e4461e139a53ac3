"""The search of the lattice against all of its nodes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.protection.lattice import minimal_node


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
