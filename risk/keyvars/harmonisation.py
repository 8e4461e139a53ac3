"""The harmonisation graph: every categorisation seen, everything some of them harmonise to, and which is finer.

An edge from v to w means that w is strictly finer than v with nothing between; there is a node for the harmonisation
of every set of categorisations seen. The thesis finds these by harmonising every node with every other, O(k |V|^2).
Here each node remembers what it harmonises to with each categorisation seen. One more categorisation u then requires
the harmonisation of u with each node that was there, and all else follows: what is new is one of these; a new node
v + u harmonises with an older categorisation g to (v + g) + u, which is known. And since a node is the harmonisation
of the categorisations seen that are finer, the next coarser nodes of v are the finest of the v + g. So the graph costs
fewer than n |V| harmonisations for n distinct categorisations, and its edges none.

The thesis states that the graph's single root has a single category. Single it is, being the harmonisation of all; but
{UK, elsewhere} alone, say, has a root of two categories.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.keyvars.partitions import Precision, joins, size

MAX_NODES = 100_000
"""n categorisations can have 2^n - 1 harmonisations; of real ones there are few."""


class HarmonisationGraph:
    """The categorisations of one variable, and all that they harmonise to.

    Parameters
    ----------
    categorisations
        Partitions of the same leaves, or None for arbitrary precision; repetitions change nothing.

    Attributes
    ----------
    nodes : list of Precision
        In the order of their arrival.
    observed : list of int
        The nodes that were inserted, in their order; the others are harmonisations.
    joined : ndarray of int32, shape (n_nodes, n_observed)
        The node that a node harmonises to with one observed.
    harmonisations : int
        How many were calculated.

    Examples
    --------
    >>> graph = HarmonisationGraph([(0, 0, 1, 2), (0, 1, 1, 2)])
    >>> graph.nodes[2], graph.parents(0)
    ((0, 0, 0, 1), [2])
    """

    def __init__(self, categorisations: Iterable[Precision] = ()) -> None:
        self.nodes: list[Precision] = []
        self.observed: list[int] = []
        self.joined: NDArray[np.int32] = np.empty((0, 0), dtype=np.int32)
        self.harmonisations = 0
        self._index: dict[Precision, int] = {}
        for categorisation in categorisations:
            self.insert(categorisation)

    def __len__(self) -> int:
        return len(self.nodes)

    def insert(self, categorisation: Precision) -> int:
        """Add a categorisation and what it brings; its node.

        Raises
        ------
        GemelError
            PARAMETER if there would be more than `MAX_NODES` nodes; the graph is then unchanged.

        Notes
        -----
        As many harmonisations as there are nodes.
        """
        present = self._index.get(categorisation)
        if present is not None and present in self.observed:
            return present
        found = joins(self.nodes, categorisation)
        arrived = [*dict.fromkeys(each for each in [categorisation, *found] if each not in self._index)]
        if len(self.nodes) + len(arrived) > MAX_NODES:
            raise GemelError(
                ErrorCode.PARAMETER,
                f"the categorisations have more than {MAX_NODES:,} harmonisations",
                got=f"{len(self.observed) + 1} distinct categorisations",
                remedy="analyse a smaller environment",
            )
        self.harmonisations += len(found)
        old = len(self.nodes)
        # Without an older node that gives it, which only `categorisation` itself can be: marked by -1.
        witness = dict.fromkeys(arrived, -1)
        witness.update({each: v for v, each in enumerate(found) if each in witness})
        for each in arrived:
            self._index[each] = len(self.nodes)
            self.nodes.append(each)
        with_new = np.array([self._index[each] for each in found], dtype=np.int32)
        rows = [
            with_new[self.joined[v] if v >= 0 else np.array(self.observed, dtype=np.int32)] for v in witness.values()
        ]
        below = np.array(rows, dtype=np.int32).reshape(len(arrived), len(self.observed))
        last = np.concatenate([with_new, np.arange(old, len(self.nodes), dtype=np.int32)])
        self.joined = np.column_stack([np.vstack([self.joined, below]), last])
        node = self._index[categorisation]
        self.observed.append(node)
        return node

    @property
    def finer(self) -> NDArray[np.bool_]:
        """Shape (n_nodes, n_observed): whether the observed categorisation is finer than the node, or is it."""
        same: NDArray[np.bool_] = self.joined == np.arange(len(self.nodes), dtype=np.int32)[:, None]
        return same

    def find(self, partition: Precision) -> int | None:
        """The node of a partition, None if there is none."""
        return self._index.get(partition)

    def harmonise(self, nodes: Iterable[int]) -> int:
        """The node of the harmonisation of some nodes, by look-up."""
        first, *others = nodes
        finer = self.finer

        def with_(v: int, w: int) -> int:
            return reduce(lambda x, g: int(self.joined[x, g]), np.flatnonzero(finer[w]).tolist(), v)

        return reduce(with_, others, first)

    def parents(self, node: int) -> list[int]:
        """The next coarser nodes."""
        coarser = sorted({int(w) for w in self.joined[node]} - {node})
        masks = {w: int.from_bytes(np.packbits(self.joined[w] == w).tobytes(), "big") for w in coarser}
        return [w for w in coarser if not any(v != w and masks[v] & masks[w] == masks[v] for v in coarser)]

    def edges(self) -> Iterator[tuple[int, int]]:
        """Every edge (v, w): w is strictly finer than v, with nothing between. O(n_nodes * n_observed^2)."""
        for node in range(len(self.nodes)):
            for parent in self.parents(node):
                yield parent, node

    def sizes(self) -> NDArray[np.float64]:
        """Number of categories of each node; infinite for arbitrary precision."""
        return np.array([size(node) for node in self.nodes], dtype=np.float64)
