"""Tables with totals as one system: cells that several tables share are one cell, and every sum is an equation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
from scipy.sparse import csr_array

from gemel.common.errors import parameter
from gemel.risk.arrays import Integers, Mask

TOTAL = "Total"


@dataclass(frozen=True)
class Classification:
    """A tree of levels: the total at its root, the levels of records at its leaves.

    `parents`: number of each node's parent; -1 for the total.
    """

    name: str
    nodes: tuple[str, ...]
    parents: tuple[int, ...]

    @classmethod
    def of(cls, name: str, levels: Sequence[str], parents: Mapping[str, str] | None = None) -> Classification:
        """The tree over the levels that records have."""
        parents = {} if parents is None else parents
        if TOTAL in levels or TOTAL in parents:
            what = f"a level is called {TOTAL!r}, as the sum over all levels is"
            raise parameter(f"variable {name!r}", what, remedy="rename it in the records, or leave those records out")
        inner = set(parents.values()) - {TOTAL}
        wrong = len(inner & set(levels))
        if wrong:
            got = f"{wrong} such level{'' if wrong == 1 else 's'}"
            remedy = "give those records a level below, or take the level out of the hierarchy"
            raise parameter(f"variable {name!r}", "records have levels that other levels add up to", got, remedy)
        # Only what lies above a level of the records is a row of the table.
        above: dict[str, str] = {}
        for level in levels:
            node, steps = level, 0
            while node != TOTAL:
                above[node] = parents.get(node, TOTAL)
                node = above[node]
                steps += 1
                if steps > len(parents) + 1:
                    what = "the hierarchy has a cycle: a level adds up, by way of others, to itself"
                    raise parameter(f"variable {name!r}", what, remedy="let every level lead to the total")
        nodes = (TOTAL, *dict.fromkeys([*levels, *above]))
        numbers = {node: k for k, node in enumerate(nodes)}
        return cls(name, nodes, (-1, *(numbers[above[node]] for node in nodes[1:])))

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of each node's children; none for a level of records."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                found[parent].append(node)
        return tuple(map(tuple, found))

    def path(self, node: int) -> tuple[int, ...]:
        """A node and all that it adds up to, the total last."""
        found = [node]
        while self.parents[found[-1]] >= 0:
            found.append(self.parents[found[-1]])
        return tuple(found)


LARGEST = 200_000  # cells that a system may have


@dataclass(frozen=True, eq=False)
class LinkedTables:
    """The cells of one or more tables over the same records, and the equations between them."""

    classifications: tuple[Classification, ...]
    tables: tuple[tuple[int, ...], ...]
    cells: Integers = field(init=False, repr=False)
    """Node of each variable, shape (n_cells, n_variables); 0, the total, where a table does not have the variable."""

    def __post_init__(self) -> None:
        for table in self.tables:
            if not 1 <= len(table) <= 3 or len(set(table)) < len(table):
                remedy = "make tables of fewer variables: linked tables are protected together"
                raise parameter("tables", "a table has one to three different variables", str(len(table)), remedy)
        size = sum(int(np.prod([len(self.classifications[v].nodes) for v in table])) for table in self.tables)
        if size > LARGEST:
            what = f"the tables may have {LARGEST:,} cells"
            raise parameter("tables", what, f"{size:,}", "merge levels, or make tables of fewer variables")
        rows = []
        for table in self.tables:
            grid = np.indices([len(self.classifications[v].nodes) for v in table]).reshape(len(table), -1).T
            own = np.zeros((len(grid), len(self.classifications)), dtype=np.int64)
            own[:, list(table)] = grid
            rows.append(own)
        object.__setattr__(self, "cells", np.unique(np.concatenate(rows), axis=0))

    @classmethod
    def of(cls, classifications: Sequence[Classification], tables: Sequence[Sequence[str]]) -> LinkedTables:
        """Tables by the names of their variables."""
        names = [c.name for c in classifications]
        return cls(tuple(classifications), tuple(tuple(names.index(v) for v in table) for table in tables))

    @property
    def n_cells(self) -> int:
        return len(self.cells)

    @cached_property
    def _keys(self) -> Integers:
        return self.key(self.cells)

    def key(self, nodes: Integers) -> Integers:
        """One number for each combination of nodes, in the order of `cells`."""
        return np.asarray(np.ravel_multi_index(tuple(nodes.T), [len(c.nodes) for c in self.classifications]))

    def number(self, nodes: Integers) -> Integers:
        """The cells with these nodes; every combination must be a cell."""
        return np.searchsorted(self._keys, self.key(nodes))

    @cached_property
    def equations(self) -> csr_array:
        """Shape (n_equations, n_cells): 1 for the parts, -1 for their sum; the product with the values is 0."""
        heads: dict[tuple[int, ...], Integers] = {}
        for table in self.tables:
            for v in table:
                others = [u for u in table if u != v]
                spans = [range(len(self.classifications[u].nodes)) for u in others]
                for parent, children in enumerate(self.classifications[v].children):
                    if not children:
                        continue
                    for chosen in product(*spans):
                        nodes = np.zeros((1 + len(children), len(self.classifications)), dtype=np.int64)
                        nodes[:, others] = chosen
                        nodes[:, v] = (parent, *children)
                        found = self.number(nodes)
                        heads.setdefault((v, int(found[0])), found)
        rows: list[int] = []
        columns: list[int] = []
        signs: list[float] = []
        for k, found in enumerate(heads.values()):
            rows += [k] * len(found)
            columns += found.tolist()
            signs += [-1.0] + [1.0] * (len(found) - 1)
        return csr_array((signs, (rows, columns)), shape=(len(heads), self.n_cells))

    @cached_property
    def inner(self) -> Mask:
        """Which cells are no sum of others, shape (n_cells,)."""
        heads = self.equations.tocoo()
        found = np.ones(self.n_cells, dtype=bool)
        found[heads.col[heads.data < 0]] = False
        return found

    def described(self, cell: int) -> dict[str, str]:
        """A cell in words: its level of each variable that is not summed out; none for the grand total."""
        nodes = zip(self.classifications, self.cells[cell], strict=True)
        return {c.name: c.nodes[k] for c, k in nodes if c.nodes[k] != TOTAL}
