"""A gamma prior on the total precision of the hyper-Dirichlet prior, on a grid, and tables scored at all of it at once.

The grid is regular in the logarithm of the precision, where the trapezoid rule of a smooth function is nearly exact
once the step is small beside what is integrated; where data determine the precision more closely than a step, the prior
is the gamma's restricted to the grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from gemel.common.errors import parameter
from gemel.risk.models import score_kernels as kernels
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.graphs import Graph
from gemel.risk.models.junction_trees import JunctionTree

MAX_POINTS = 2_000


@dataclass(frozen=True)
class GammaPrior:
    """A gamma prior on the total prior precision alpha, held to a grid.

    Parameters
    ----------
    shape, rate
        Mean shape / rate; 1 and 1 have the mean that is otherwise the fixed precision.
    lowest, highest
        First and last point of the grid. Posterior probability at either end calls for a wider one.
    per_decade
        Points to a factor of 10.
    """

    shape: float = 1.0
    rate: float = 1.0
    lowest: float = 1e-3
    highest: float = 1e4
    per_decade: int = 20

    def __post_init__(self) -> None:
        for name in ("shape", "rate", "lowest"):
            value = getattr(self, name)
            if not (value > 0 and math.isfinite(value)):
                raise parameter(name, "must be positive and finite", f"{value:g}")
        if not (self.lowest < self.highest < math.inf):
            raise parameter(
                "highest", "the grid must end above its start", f"{self.highest:g}, with lowest {self.lowest:g}"
            )
        if self.per_decade < 1 or self._points > MAX_POINTS:
            raise parameter(
                "per_decade",
                f"the grid must have at least 1 point a decade and {MAX_POINTS:,} in all at most",
                str(self.per_decade),
            )

    @property
    def _points(self) -> int:
        return 1 + math.ceil(self.per_decade * math.log10(self.highest / self.lowest))

    def grid(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Precisions, ascending, and the logarithms of their prior probabilities; both of shape (n_points,)."""
        values = np.geomspace(self.lowest, self.highest, self._points)
        # The density of log alpha is that of alpha times alpha; constants go with the sum.
        logs = self.shape * np.log(values) - self.rate * values
        return values, np.asarray(logs - logsumexp(logs))


@dataclass(eq=False)
class GridScores:
    """Log marginal likelihoods at several precisions: a table is counted once for all of them.

    Parameters
    ----------
    counts
        The data.
    precisions : ndarray of float64, shape (n_points,)

    Notes
    -----
    A table enters only by how many of its cells hold each count, so a new one costs O(occupied cells * its variables)
    and then O(different counts * n_points).
    """

    counts: SparseCounts
    precisions: NDArray[np.float64]
    _tables: dict[int, NDArray[np.float64]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._data = kernels.data_arrays(self.counts.cells, self.counts.counts, self.counts.levels, 1.0)
        self._work = kernels.work_arrays(len(self.counts.counts), 1024)

    def table(self, variables: int) -> NDArray[np.float64]:
        """Of the table over a set of variables, shape (n_points,)."""
        if variables not in self._tables:
            self._tables[variables] = self._scored(variables)
        return self._tables[variables]

    def _scored(self, variables: int) -> NDArray[np.float64]:
        if variables == 0:
            return np.zeros(len(self.precisions))
        used, declared = kernels.count_table(self._data, self._work, variables)
        sums = self._work.sums[:used]
        counts, cells = np.unique(sums[sums > 0], return_counts=True)
        prior = self.precisions[:, None] / declared
        rising = gammaln(prior + counts) - gammaln(prior)
        total = float(counts @ cells)
        return np.asarray(rising @ cells + gammaln(self.precisions) - gammaln(self.precisions + total))

    def sets(self, cliques: Iterable[int], separators: Iterable[int]) -> NDArray[np.float64]:
        """Sum over cliques less sum over separators, shape (n_points,)."""
        score = np.zeros(len(self.precisions))
        for clique in cliques:
            score += self.table(clique)
        for separator in separators:
            score -= self.table(separator)
        return score

    def graph(self, graph: Graph) -> NDArray[np.float64]:
        """Of a decomposable model, shape (n_points,)."""
        tree = JunctionTree.of(graph)
        return self.sets(tree.cliques, tree.separators)
