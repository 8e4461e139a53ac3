"""Feasible tables, posteriors and SAP by going through everything; the fast forms must agree."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.arrays import Floats
from gemel.risk.attribution.components import components
from gemel.risk.attribution.laws import Sampled
from gemel.risk.attribution.posterior import Posterior, Query
from gemel.risk.attribution.release import Release, block_cells
from gemel.risk.attribution.sap import _at_bound
from gemel.risk.attribution.search import _ALL_FOUND, Search, explore
from gemel.risk.attribution.shuttle import shuttle


def decomposable(release: Release) -> bool:
    """Whether the graph has no unchorded cycle and a published table covers each of its cliques."""
    return all(c.table is not None for c in components(release))


@dataclass(frozen=True, eq=False)
class Enumerated:
    """Feasible base tables.

    Parameters
    ----------
    tables : ndarray of int64, shape (n_tables, n_cells)
        All different.
    complete
        Whether they are all there are.
    """

    tables: NDArray[np.int64]
    complete: bool


def enumerated(search: Search, limit: int = 100_000, steps: int = 50_000_000) -> Enumerated:
    """All feasible base tables, or as many as the limits allow.

    Parameters
    ----------
    limit
        Largest number of tables.
    steps
        Largest number of trials.
    """
    size = min(limit, 256)
    while True:
        found = np.empty((size, len(search.base)), dtype=np.int64)
        count, _, cut = explore(
            search.low, search.high, search.base, search.deps, search._starts, search._touching, found, steps
        )
        if cut != _ALL_FOUND and count == size and size < limit:
            size = min(limit, size * 16)
            continue
        return Enumerated(found[:count].copy(), cut == _ALL_FOUND)


def exact_posterior(release: Release, query: Query, limit: int = 200_000) -> Posterior:
    """Posterior by going through all feasible base tables, each with the same prior probability.

    A table's weight is the probability of everything published given it: the product of the cells' laws, and for a
    sample the multivariate hypergeometric probability of all its counts together.

    Raises
    ------
    GemelError
        If there are more than `limit` feasible tables, or a table's law is of the whole table.
    """
    found = enumerated(Search(shuttle(release)), limit)
    if not found.complete:
        raise GemelError(
            ErrorCode.PARAMETER,
            f"there are more than {limit} feasible tables",
            where=release.name,
            remedy="use the naive posterior, or publish fewer variables",
        )
    log = np.zeros(len(found.tables))
    with np.errstate(divide="ignore"):
        for table in release.tables:
            if table.exact or table.intervals is not None:
                continue  # every feasible table has these counts
            for index in np.ndindex(table.counts.shape):
                true = found.tables[:, release.block(table, index)].sum(axis=1)
                if isinstance(table.law, Sampled):
                    drawn = int(table.counts[index])
                    log += gammaln(true + 1.0) - gammaln(true - drawn + 1.0) - gammaln(drawn + 1.0)
                else:
                    log += np.log(table.law.probability(table.counts[index], true))
    members = [[query[v.name]] if v.name in query else list(range(v.size)) for v in release.variables]
    values = found.tables[:, block_cells(release.shape, members)].sum(axis=1)
    weights = np.exp(log - log.max())
    counts = np.unique(values)
    mass = np.asarray([weights[values == c].sum() for c in counts])
    return Posterior(counts, mass / mass.sum(), tuple(t.name for t in release.tables))


def sap_by_inclusion(counts: ArrayLike, upper: ArrayLike | None = None) -> Floats:
    """SAP(0..N) by the thesis's sum over sets of cells: the plain definition, for up to some 20 cells at their bound.

    T11 chapter 3, with C(N, k) under the fraction, and sets of cells whose upper bound equals their count.
    """
    cells, n = _at_bound(counts, upper)
    exact = [0] * (n + 1)
    for chosen in range(1, 1 << len(cells)):
        size = sum(int(c) for i, c in enumerate(cells) if chosen >> i & 1)
        sign = -1 if chosen.bit_count() % 2 == 0 else 1
        for k in range(size, n + 1):
            exact[k] += sign * comb(n - size, k - size)
    return np.asarray([value / comb(n, k) for k, value in enumerate(exact)])
