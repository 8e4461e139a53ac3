"""Tables with totals as one system: cells that several tables share are one cell, and every sum is an equation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gemel.common.errors import parameter
from gemel.risk.magnitude.classification import TOTAL, Classification

LARGEST = 200_000
"""Cells that a system may have."""


@dataclass(frozen=True, eq=False)
class LinkedTables:
    """The cells of one or more tables over the same records, and the equations between them.

    Parameters
    ----------
    classifications
        The variables.
    tables
        For each table, the numbers of its variables.

    Raises
    ------
    GemelError
        No variable, more than three in a table, or more cells than `LARGEST`.
    """

    classifications: tuple[Classification, ...]
    tables: tuple[tuple[int, ...], ...]
    cells: NDArray[np.int64] = field(init=False, repr=False)
    """Node of each variable, shape (n_cells, n_variables); 0, the total, where a table does not have the variable."""

    def __post_init__(self) -> None:
        for table in self.tables:
            if not 1 <= len(table) <= 3 or len(set(table)) < len(table):
                raise parameter(
                    "tables",
                    "a table has one to three different variables",
                    str(len(table)),
                    "make tables of fewer variables: linked tables are protected together",
                )
        size = sum(int(np.prod([len(self.classifications[v].nodes) for v in table])) for table in self.tables)
        if size > LARGEST:
            raise parameter(
                "tables",
                f"the tables may have {LARGEST:,} cells",
                f"{size:,}",
                "merge levels, or make tables of fewer variables",
            )
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
        """Number of cells, totals among them."""
        return len(self.cells)

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        return self.key(self.cells)

    def key(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """One number for each combination of nodes, in the order of `cells`."""
        return np.asarray(np.ravel_multi_index(tuple(nodes.T), [len(c.nodes) for c in self.classifications]))

    def number(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cells with these nodes; every combination must be a cell."""
        return np.searchsorted(self._keys, self.key(nodes))

    @cached_property
    def equations(self) -> csr_array:
        """Shape (n_equations, n_cells): 1 for the parts, -1 for their sum; the product with the values is 0."""
        heads: dict[tuple[int, ...], NDArray[np.int64]] = {}
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
    def inner(self) -> NDArray[np.bool_]:
        """Which cells are no sum of others, shape (n_cells,)."""
        heads = self.equations.tocoo()
        found = np.ones(self.n_cells, dtype=bool)
        found[heads.col[heads.data < 0]] = False
        return found

    def described(self, cell: int) -> dict[str, str]:
        """A cell in words: its level of each variable that is not summed out; none for the grand total."""
        return {
            c.name: c.nodes[k]
            for c, k in zip(self.classifications, self.cells[cell], strict=True)
            if c.nodes[k] != TOTAL
        }
