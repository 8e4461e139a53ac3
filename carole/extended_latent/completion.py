"""Complete counts from incomplete records: by the saturated model (Fuchs' EM, compiled), or by a given model.

`risk.models.incomplete` fits any decomposable model to incomplete records; the saturated one is its complete graph.
Here records lack at most a key or two, so that all completions can be listed once, and a step of EM is a pass over
the list.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gemel.risk.models.counts import SparseCounts, distinct_rows
from gemel.risk.models.fitted import FittedModel
from gemel.risk.models.incomplete import IncompleteCounts

MINIMUM = 1e-18
"""Probability below which a cell counts as empty: what EM leaves there is rounding."""


def completions(data: IncompleteCounts) -> NDArray[np.float64]:
    """How many complete cells agree with each record."""
    return np.asarray(np.where(data.records < 0, np.array(data.levels), 1).astype(np.float64).prod(axis=1))


def saturated_counts(data: IncompleteCounts, tolerance: float, max_iterations: int) -> tuple[SparseCounts, bool]:
    """Fuchs' EM of the saturated model.

    Parameters
    ----------
    data : IncompleteCounts
    tolerance : float
        Maximum change of a cell's probability at which to stop.
    max_iterations : int

    Returns
    -------
    SparseCounts
        Expected counts of complete records.
    bool
        Whether it converged.

    Notes
    -----
    O(completions of all records) an iteration. It starts with equal probabilities of all cells that agree with a
    record.

    References
    ----------
    .. [1] Fuchs, JASA 77, 1982. doi:10.1080/01621459.1982.10477795
    """
    cells, start = _expanded(data.records, data.levels, completions(data))
    first, number = distinct_rows(cells, data.levels)
    probability = np.full(len(first), 1 / len(first))
    weight = data.weights / data.total
    converged = False
    for _ in range(max_iterations):
        after = np.zeros_like(probability)
        _step(start, number, weight, probability, after)
        converged = bool(np.abs(after - probability).max() <= tolerance)
        probability = after
        if converged:
            break
    some = probability > MINIMUM
    kept = np.ascontiguousarray(cells[first[some]])
    return SparseCounts(data.names, data.levels, kept, probability[some] * data.total), converged


def completed_by(model: FittedModel, data: IncompleteCounts, limit: int = 2**23) -> SparseCounts:
    """Each record spread over its completions by a model's conditional probabilities.

    Records with too many completions to be held in all (more than `limit` rows, the fewest first) are left out.
    """
    times = completions(data)
    order = np.argsort(times, kind="stable")
    kept = order[np.cumsum(times[order]) <= limit]
    cells, start = _expanded(data.records[kept], data.levels, times[kept])
    rows = np.repeat(np.arange(len(kept)), np.diff(start))
    probability = np.exp(model.log_probability(cells))
    sums = np.bincount(rows, weights=probability, minlength=len(kept))
    share = data.weights[kept][rows] * probability / sums[rows]
    return SparseCounts.from_records(cells, data.levels, data.names, share)


def _expanded(
    records: NDArray[np.int32], levels: tuple[int, ...], times: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """All completions of each record, one record after another, and where each record's begin."""
    start = np.concatenate([[0], np.cumsum(times)]).astype(np.int64)
    rows = np.repeat(np.arange(len(records)), np.diff(start))
    number = np.arange(start[-1]) - start[rows]
    cells = records[rows]
    for q, n in enumerate(levels):
        lacking = cells[:, q] < 0
        cells[lacking, q] = number[lacking] % n
        number[lacking] //= n
    return cells, start


@njit(nogil=True, cache=True)
def _step(
    start: NDArray[np.int64],
    cell: NDArray[np.int64],
    weight: NDArray[np.float64],
    probability: NDArray[np.float64],
    after: NDArray[np.float64],
) -> None:
    """Spread each record over its completions by their present probabilities; sum the counts of each cell."""
    for r in range(weight.size):
        total = 0.0
        for i in range(start[r], start[r + 1]):
            total += probability[cell[i]]
        if total > 0.0:
            share = weight[r] / total
            for i in range(start[r], start[r + 1]):
                after[cell[i]] += share * probability[cell[i]]
