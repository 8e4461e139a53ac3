"""The hyper-Dirichlet marginal likelihood of decomposable models of a sparse table."""

from __future__ import annotations

import math
from collections.abc import Iterable

from gemel.common.errors import parameter
from gemel.risk.models import score_kernels as kernels
from gemel.risk.models.bits import MAX_VARIABLES
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.graphs import Graph
from gemel.risk.models.junction_trees import JunctionTree


class HyperDirichlet:
    """Scores of sets of variables and of decomposable graphs, each table counted once and remembered.

    Parameters
    ----------
    counts
        The data.
    precision
        Total prior precision alpha of the hyper-Dirichlet prior, all cells of the full table equal.
    cache_limit
        Most places of the cache (16 bytes each, half of them used); a full one is emptied.

    Notes
    -----
    A table that is not in the cache costs O(occupied cells * its variables), however many cells it declares. One
    instance serves one thread.
    """

    def __init__(self, counts: SparseCounts, precision: float = 1.0, cache_limit: int = 2**24) -> None:
        if not (precision > 0 and math.isfinite(precision)):
            raise parameter("precision", "the prior precision must be positive", str(precision))
        if len(counts.names) > MAX_VARIABLES:
            raise parameter("counts", f"the search takes at most {MAX_VARIABLES} variables", str(len(counts.names)))
        if cache_limit < 1024:
            raise parameter("cache_limit", "the cache needs at least 1024 places", str(cache_limit))
        self.counts = counts
        self.precision = float(precision)
        self.cache_limit = cache_limit
        self.data = kernels.data_arrays(counts.cells, counts.counts, counts.levels, precision)
        self.work = kernels.work_arrays(len(counts.counts), 1024)

    def __len__(self) -> int:
        return len(self.counts.names)

    @property
    def tables_counted(self) -> int:
        """How many tables have been counted: lookups the cache could not answer."""
        return int(self.work.tally[kernels.MISSES])

    def make_room(self) -> None:
        """Let the cache grow, or empty it at its limit."""
        self.work = kernels.grown(self.work, self.cache_limit)

    def table(self, variables: int) -> float:
        """Log marginal likelihood of the table over a set of variables."""
        if variables >> len(self):
            raise parameter("variables", "unknown variable", bin(variables))
        if kernels.is_full(self.work):
            self.make_room()
        return float(kernels.table_score(self.data, self.work, variables))

    def cliques(self, cliques: Iterable[int], separators: Iterable[int]) -> float:
        """Sum over cliques less sum over separators."""
        return math.fsum([*(self.table(c) for c in cliques), *(-self.table(s) for s in separators)])

    def graph(self, graph: Graph) -> float:
        """Log marginal likelihood of a decomposable model."""
        if len(graph) != len(self):
            raise parameter(
                "graph", "the graph must have the data's variables", f"{len(graph)} nodes for {len(self)} variables"
            )
        tree = JunctionTree.of(graph)
        return self.cliques(tree.cliques, tree.separators)
