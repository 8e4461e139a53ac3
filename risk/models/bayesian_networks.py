"""Bayesian networks of categorical variables, to draw records from."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.arrays import Codes, Floats

SUM_TOLERANCE = 1e-4


@dataclass(frozen=True)
class BayesianNetwork:
    """A directed acyclic graph with a conditional distribution for each variable.

    For each variable, `categories`: the names of its levels; `parents`: the columns of its parents; `tables`: its
    distribution, an axis for each parent in order, the last for the variable itself.
    """

    names: tuple[Hashable, ...]
    categories: tuple[tuple[str, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    tables: tuple[Floats, ...] = field(repr=False)

    def __post_init__(self) -> None:
        for v, table in enumerate(self.tables):
            shape = tuple(len(self.categories[w]) for w in (*self.parents[v], v))
            if table.shape != shape or not np.isfinite(table).all() or (table < 0).any():
                raise parameter(
                    f"variable {self.names[v]}",
                    "a table needs a probability for each combination of parents and level",
                    f"shape {table.shape} for {shape}",
                )
            sums = table.sum(axis=-1)
            if (abs(sums - 1) > SUM_TOLERANCE).any():
                raise parameter(
                    f"variable {self.names[v]}",
                    "probabilities must sum to 1",
                    f"a row with sum {float(sums.flat[np.argmax(abs(sums - 1))]):.6g}",
                )
        # Printed probabilities such as .3333333 sum to 1 only nearly.
        object.__setattr__(self, "tables", tuple(table / table.sum(axis=-1, keepdims=True) for table in self.tables))
        _ = self.ordering

    @property
    def levels(self) -> tuple[int, ...]:
        return tuple(len(names) for names in self.categories)

    @property
    def ordering(self) -> tuple[int, ...]:
        """Parents before children; an error if there is a cycle."""
        order: list[int] = []
        while len(order) < len(self.names):
            ready = [v for v in range(len(self.names)) if v not in order and set(self.parents[v]) <= set(order)]
            if not ready:
                raise parameter("parents", "a Bayesian network must have no cycle")
            order += ready
        return tuple(order)

    def sample(self, size: int, rng: np.random.Generator) -> Codes:
        """Independent records, parents drawn before their children, shape (size, n_variables)."""
        records = np.zeros((size, len(self.names)), dtype=np.int32)
        for v in self.ordering:
            given = self.tables[v][tuple(records[:, p] for p in self.parents[v])]
            cumulative = np.broadcast_to(given, (size, self.levels[v])).cumsum(axis=1)
            drawn = (rng.random(size)[:, None] * cumulative[:, -1:] >= cumulative).sum(axis=1)
            records[:, v] = np.minimum(drawn, self.levels[v] - 1)
        return records
