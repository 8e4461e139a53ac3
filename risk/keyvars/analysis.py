"""How finely a target can be matched against a share of the other forms: the maximal harmonisation.

The harmonisation graph: every categorisation seen, everything some of them harmonise to, and which is finer.

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

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.arrays import Codes, Floats, Mask
from gemel.risk.keyvars.partitions import Precision, join, size

MAX_NODES = 100_000
"""n categorisations can have 2^n - 1 harmonisations; of real ones there are few."""


class HarmonisationGraph:
    """The categorisations of one variable, and all that they harmonise to; `joined` has the node that each node
    harmonises to with each one observed.

    Examples
    --------
    >>> graph = HarmonisationGraph([(0, 0, 1, 2), (0, 1, 1, 2)])
    >>> graph.nodes[2], graph.parents(0)
    ((0, 0, 0, 1), [2])
    """

    def __init__(self, categorisations: Iterable[Precision] = ()) -> None:
        self.nodes: list[Precision] = []
        self.observed: list[int] = []
        self.joined: Codes = np.empty((0, 0), dtype=np.int32)
        self.harmonisations = 0
        self._index: dict[Precision, int] = {}
        for categorisation in categorisations:
            self.insert(categorisation)

    def __len__(self) -> int:
        return len(self.nodes)

    def insert(self, categorisation: Precision) -> int:
        """Add a categorisation and what it brings, in as many harmonisations as there are nodes; its node."""
        present = self._index.get(categorisation)
        if present is not None and present in self.observed:
            return present
        found = [join(node, categorisation) for node in self.nodes]
        arrived = [*dict.fromkeys(each for each in [categorisation, *found] if each not in self._index)]
        if len(self.nodes) + len(arrived) > MAX_NODES:
            got, remedy = f"{len(self.observed) + 1} distinct categorisations", "analyse a smaller environment"
            raise parameter("", f"the categorisations have more than {MAX_NODES:,} harmonisations", got, remedy)
        self.harmonisations += len(found)
        old = len(self.nodes)
        # Without an older node that gives it, which only `categorisation` itself can be: marked by -1.
        witness = dict.fromkeys(arrived, -1)
        witness.update({each: v for v, each in enumerate(found) if each in witness})
        for each in arrived:
            self._index[each] = len(self.nodes)
            self.nodes.append(each)
        with_new = np.array([self._index[each] for each in found], dtype=np.int32)
        observed = np.array(self.observed, dtype=np.int32)
        rows = [with_new[self.joined[v] if v >= 0 else observed] for v in witness.values()]
        below = np.array(rows, dtype=np.int32).reshape(len(arrived), len(self.observed))
        last = np.concatenate([with_new, np.arange(old, len(self.nodes), dtype=np.int32)])
        self.joined = np.column_stack([np.vstack([self.joined, below]), last])
        node = self._index[categorisation]
        self.observed.append(node)
        return node

    @property
    def finer(self) -> Mask:
        """Shape (n_nodes, n_observed): whether the observed categorisation is finer than the node, or is it."""
        same: Mask = self.joined == np.arange(len(self.nodes), dtype=np.int32)[:, None]
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
        coarser = sorted({int(w) for w in self.joined[node]} - {node})
        masks = {w: int.from_bytes(np.packbits(self.joined[w] == w).tobytes(), "big") for w in coarser}
        return [w for w in coarser if not any(v != w and masks[v] & masks[w] == masks[v] for v in coarser)]

    def edges(self) -> Iterator[tuple[int, int]]:
        """Every edge (v, w): w is strictly finer than v, with nothing between. O(n_nodes * n_observed^2)."""
        for node in range(len(self.nodes)):
            for parent in self.parents(node):
                yield parent, node

    def sizes(self) -> Floats:
        """Number of categories of each node; infinite for arbitrary precision."""
        return np.array([size(node) for node in self.nodes], dtype=np.float64)


# Of N forms the target's categorisation and theirs harmonise to something; over all choices of N forms of the
# environment, the analysis finds that of most categories. A node of the harmonisation graph is a candidate if it is no
# finer than the target's categorisation and at least N forms have categorisations finer than it or equal; the largest
# candidate is the answer, and no choice of forms has to be looked at.


@dataclass(frozen=True)
class Step:
    """Up to `forms` forms can be matched in as many as `size` categories: by one of `nodes`."""

    forms: int
    size: float
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class Course:
    """Maximal harmonisations of one target for every number of forms; sizes fall as the numbers rise."""

    environment: int
    """How many forms there are to match against, with or without the variable."""
    steps: tuple[Step, ...]

    def at(self, minimum: int) -> Step | None:
        """The maximal harmonisation with at least so many forms; None if too few have the variable."""
        return next((step for step in self.steps if step.forms >= minimum), None)


def min_forms(environment: int, prevalence: float) -> int:
    """N = floor(|E| p), with p as it is written: .29 of 100 forms are 29, though not in binary."""
    if not 0 <= prevalence <= 1:
        raise parameter("", "the prevalence must be from 0 to 1", f"{prevalence:g}")
    return math.floor(Fraction(str(prevalence)) * environment)


def course(graph: HarmonisationGraph, target: int, counts: Mapping[int, int], environment: int) -> Course:
    """Maximal harmonisations of a target at every prevalence, in O(n_nodes * n_observed) once the graph is there."""
    finer = graph.finer
    weights = np.array([counts.get(node, 0) for node in graph.observed], dtype=np.int64)
    tallies = finer @ weights
    # Coarser than the target or equal: all observed that are finer than the target are finer than the node.
    candidates = np.flatnonzero((finer | ~finer[target]).all(axis=1))
    sizes = graph.sizes()[candidates]
    tallies = tallies[candidates]
    steps: list[Step] = []
    beaten = -1
    for value in sorted(set(sizes.tolist()), reverse=True):
        best = int(tallies[sizes == value].max())
        if best > beaten:
            steps += _ties(candidates, sizes, tallies, value, beaten)
            beaten = best
    return Course(environment, tuple(steps))


def _ties(candidates: np.ndarray, sizes: np.ndarray, tallies: np.ndarray, value: float, beaten: int) -> list[Step]:
    """The steps of one size: where nodes of it serve different numbers of forms, those that still serve are named."""
    chosen = sizes == value
    return [
        Step(int(forms), value, tuple(int(v) for v in candidates[chosen & (tallies >= forms)]))
        for forms in sorted(set(tallies[chosen].tolist()))
        if forms > beaten
    ]
