"""A decomposable model with its parameters: probabilities of cells, marginals, conditionals, without the full table.

The parameters are the marginal probabilities of the cliques, sparse where they are maximum-likelihood
estimates. The joint probability of a cell is the product over cliques over the product over separators (T11
equation 15).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.arrays import Codes, Floats
from gemel.risk.models.counts import SparseCounts, positions
from gemel.risk.models.factors import Factor
from gemel.risk.models.graphs import Graph, mask_of, members
from gemel.risk.models.inference import clique_marginals, log_marginal, query
from gemel.risk.models.junction_trees import JunctionTree

Estimate = Literal["maximum likelihood", "posterior mean"]
CLIQUE_LIMIT = 2**22


@dataclass(frozen=True)
class FittedModel:
    """A decomposable graph, whose names are the variables, and the probabilities of its cliques.

    `cliques`: for each clique of the tree its marginal probabilities, which sum to 1 and agree on separators;
    `estimate`: how they were estimated.
    """

    graph: Graph
    levels: tuple[int, ...]
    tree: JunctionTree
    cliques: tuple[Factor, ...] = field(repr=False)
    estimate: str = "given"

    @property
    def names(self) -> tuple[Hashable, ...]:
        return self.graph.names

    @cached_property
    def separators(self) -> tuple[Factor, ...]:
        """The marginal probabilities on each edge of the tree."""
        return tuple(
            self.cliques[a].marginal(list(members(separator)))
            for (a, _), separator in zip(self.tree.edges, self.tree.separators, strict=True)
        )

    @property
    def parameters(self) -> int:
        """Free parameters: declared cells of cliques less those of separators, less one for the total."""
        return self._cells(self.tree.cliques) - self._cells(self.tree.separators)

    def _cells(self, sets: Sequence[int]) -> int:
        return sum(math.prod(self.levels[v] for v in members(variables)) - 1 for variables in sets)

    def positions(self, variables: Iterable[Hashable]) -> tuple[int, ...]:
        return positions(self.names, variables)

    def log_probability(self, cells: ArrayLike) -> Floats:
        """Log joint probability of each given cell, minus infinity for one that the model excludes: shape (n_cells,).

        `cells` (int, shape (n_cells, n_variables)). O(cliques * n log n) for the n cells and the rows of the cliques.
        """
        codes = self.checked(cells)
        result = np.zeros(len(codes))
        with np.errstate(divide="ignore"):
            for factor in self.cliques:
                result += np.log(factor.look_up(codes[:, factor.variables]))
            possible = np.isfinite(result)
            for factor in self.separators:
                result[possible] -= np.log(factor.look_up(codes[possible][:, factor.variables]))
        return result

    def checked(self, cells: ArrayLike, *, missing: bool = False) -> Codes:
        """Cells as an array of codes in range; with `missing`, -1 stands for a missing value."""
        codes = np.asarray(cells)
        if codes.ndim != 2 or codes.shape[1] != len(self.levels) or not np.issubdtype(codes.dtype, np.integer):
            raise parameter(
                "cells",
                "cells must be a table of integer codes with one column for each variable",
                f"{codes.dtype}, shape {codes.shape} for {len(self.levels)} variables",
            )
        low = -1 if missing else 0
        wrong = ((codes < low) | (codes >= np.array(self.levels))).any(axis=0)
        if wrong.any():
            v = int(np.argmax(wrong))
            raise parameter(f"variable {self.names[v]}", f"codes must be {low} to {self.levels[v] - 1}")
        return codes.astype(np.int32)

    def marginal(self, variables: Sequence[Hashable], evidence: Mapping[Hashable, int] | None = None) -> Floats:
        """Table of the probabilities of some variables, its axes in their order, given values of others."""
        axes = self.positions(variables)
        known = self.evidence_by_column(evidence or {})
        if set(axes) & set(known):
            raise parameter("evidence", "a variable is both requested and given")
        factor = query(self, axes, known).normalised()
        order = np.argsort(np.argsort(axes))
        return np.transpose(factor.table(), order)

    def evidence_by_column(self, evidence: Mapping[Hashable, int]) -> dict[int, int]:
        """Evidence keyed by column, its values checked."""
        columns = dict(zip(self.positions(evidence), evidence.values(), strict=True))
        for v, code in columns.items():
            if not 0 <= code < self.levels[v]:
                raise parameter(f"evidence on {self.names[v]}", f"a value must be 0 to {self.levels[v] - 1}")
        return columns

    def probability(self, evidence: Mapping[Hashable, int]) -> float:
        return query(self, [], self.evidence_by_column(evidence)).total

    def rows(self, variables: Sequence[Hashable]) -> Factor:
        """The marginal of some variables as sparse rows (columns in ascending order), for many at once."""
        return query(self, self.positions(variables), {})

    def log_marginal(self, records: ArrayLike) -> Floats:
        """Log probability of what is known of each record, -1 standing for a missing value: shape (n_records,).

        Records with the same pattern of missing values pass through the junction tree together.
        """
        return log_marginal(self, self.checked(records, missing=True))


def fit(
    counts: SparseCounts, graph: Graph, estimate: Estimate = "maximum likelihood", precision: float = 1.0
) -> FittedModel:
    """Estimate a decomposable model's parameters from a sparse table.

    `graph`: a decomposable graph over the data's variables, in their order. `estimate`: "maximum likelihood": relative
    frequencies, sparse. "posterior mean": under the hyper-Dirichlet prior; every cell of a clique then has a
    probability, so a clique may declare at most 2**22 cells. `precision`: total prior precision; used by the posterior
    mean only.

    Refused: the graph is not decomposable or has other variables; a clique is too large for the posterior mean.
    """
    if graph.names != counts.names:
        raise parameter(
            "graph",
            "the graph must have the data's variables in their order",
            f"{len(graph)} nodes for {len(counts.names)} variables",
            "give the graph the names of the counts",
        )
    if estimate not in ("maximum likelihood", "posterior mean"):
        raise parameter("estimate", "must be 'maximum likelihood' or 'posterior mean'", estimate)
    tree = JunctionTree.of(graph)
    factors = []
    for clique in tree.cliques:
        columns = tuple(members(clique))
        table = counts.marginal([counts.names[v] for v in columns])
        factors.append(
            clique_factor(
                columns, table.levels, table.cells, table.counts, precision if estimate == "posterior mean" else 0.0
            )
        )
    return FittedModel(graph, counts.levels, tree, tuple(factors), estimate)


def clique_factor(
    columns: tuple[int, ...], levels: tuple[int, ...], cells: Codes, counts: Floats, precision: float
) -> Factor:
    """Probabilities of a clique from its counts: relative frequencies, or posterior means where the precision
    is positive."""
    if precision <= 0:
        return Factor(columns, levels, cells, counts / counts.sum())
    size = math.prod(levels)
    if size > CLIQUE_LIMIT:
        raise GemelError(
            ErrorCode.MEMORY,
            "a clique is too large for posterior means, which give every cell a probability",
            got=f"{size} cells",
            remedy="use maximum likelihood",
        )
    dense = np.full(levels, precision / size)
    dense[tuple(cells.T)] += counts
    return Factor.from_table(columns, dense / dense.sum())


def calibrated(
    graph: Graph, levels: Sequence[int], potentials: Sequence[Factor], estimate: str = "given"
) -> FittedModel:
    """The model proportional to a product of functions, each over variables that some clique of the graph holds.

    Messages are passed along the junction tree both ways, after which every clique has its marginal.
    """
    tree = JunctionTree.of(graph)
    held: list[Factor] = []
    waiting = list(potentials)
    for clique in tree.cliques:
        own = [p for p in waiting if mask_of(p.variables) & ~clique == 0]
        waiting = [p for p in waiting if mask_of(p.variables) & ~clique]
        factor = Factor.constant()
        for potential in sorted(own, key=lambda p: -len(p.variables)):
            factor = factor * potential
        for v in members(clique):
            if v not in factor.variables:
                factor = factor * Factor.from_table((v,), np.ones(levels[v]))
        held.append(factor)
    if waiting:
        raise parameter("potentials", "a function's variables must be in one clique", f"{len(waiting)} that are not")
    found = tuple(factor.normalised() for factor in clique_marginals(tree, held))
    return FittedModel(graph, tuple(int(n) for n in levels), tree, found, estimate)
