"""Feasible tables, posteriors, SAP and laws of published counts by going through everything; fast forms must agree."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from scipy.stats import binom

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.arrays import Floats, Integers
from gemel.risk.attribution.components import components
from gemel.risk.attribution.laws import Law, Sampled
from gemel.risk.attribution.posterior import Posterior, Query
from gemel.risk.attribution.protections.records import Randomised, Swapped
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


def published_counts(law: Law, counts: Integers, index: tuple[int, ...]) -> Floats:
    """Over 0 .. the true counts' sum, or more. For most laws it depends on the cell's own count alone."""
    if isinstance(law, Swapped):
        return swapped_counts(law, counts, index)
    if isinstance(law, Randomised):
        return redrawn_counts(law, counts, index)
    return law.probability(np.arange(int(counts.sum()) + 1001), counts[index])


def swapped_counts(law: Swapped, counts: Integers, index: tuple[int, ...]) -> Floats:
    """Distribution of a cell's published count, given all true counts.

    Of the cell's stratum, s records take part; their counts in (level, rest), (level, other rest) and (other level,
    rest) are multivariate hypergeometric, and a random order of the levels puts a hypergeometric number back.
    """
    # The cell's own stratum, as a two-by-two table: its level or not, its rest or not.
    inside = tuple(index[a] if a in law.stratum else slice(None) for a in range(counts.ndim))
    part = counts[inside]
    axes = [a for a in range(counts.ndim) if a not in law.stratum]
    place = axes.index(law.variable)
    level = int(np.take(part, index[law.variable], axis=place).sum())
    rest_index = tuple(slice(None) if a == law.variable else index[a] for a in axes)
    rest, both, people = int(part[rest_index].sum()), int(counts[index]), int(part.sum())
    shape = [counts.shape[a] for a in law.stratum]
    number = int(np.ravel_multi_index([index[a] for a in law.stratum], shape)) if shape else 0
    s = law.taking_part[number]
    result = np.zeros(int(counts.sum()) + 1)
    for in_both in range(max(0, both + s - people), min(both, s) + 1):
        chance = hypergeometric(in_both, people, both, s)
        for in_level in range(min(level - both, s - in_both) + 1):
            left = s - in_both - in_level
            step = hypergeometric(in_level, people - both, level - both, s - in_both)
            for in_rest in range(min(rest - both, left) + 1):
                weight = chance * step * hypergeometric(in_rest, people - level, rest - both, left)
                if weight > 0:
                    for back in range(min(in_both + in_level, in_both + in_rest) + 1):
                        put = hypergeometric(back, s, in_both + in_level, in_both + in_rest)
                        result[both - in_both + back] += weight * put
    return result


def redrawn_counts(law: Randomised, counts: Integers, index: tuple[int, ...]) -> Floats:
    """Distribution of a cell's published count: a sum of binomials, one for each true level it may come from."""
    theta = np.asarray(law.matrix)
    level = index[law.axis]
    result = np.ones(1)
    for k in range(theta.shape[0]):
        source = tuple(k if a == law.axis else i for a, i in enumerate(index))
        n = int(counts[source])
        result = np.convolve(result, binom.pmf(np.arange(n + 1), n, theta[k, level]))
    return np.pad(result, (0, int(counts.sum()) + 1 - len(result)))


def hypergeometric(k: int, people: int, group: int, drawn: int) -> float:
    """P(k of a group among the people drawn); scipy's has no value where the group is empty."""
    if k > group or not 0 <= drawn - k <= people - group:
        return 0.0
    return comb(group, k) * comb(people - group, drawn - k) / comb(people, drawn)
