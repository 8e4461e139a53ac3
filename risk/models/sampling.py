"""Drawing records from a fitted decomposable model: a root clique first, then each clique given its separator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.risk.models.bits import members
from gemel.risk.models.counts import distinct_rows
from gemel.risk.models.fitted import FittedModel


def sample(model: FittedModel, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Independent records.

    Parameters
    ----------
    model
        The fitted model.
    size
        How many.
    rng
        Source of randomness.

    Returns
    -------
    ndarray of int32, shape (size, n_variables)

    Notes
    -----
    O((size + rows) log(size + rows)) for each clique, rows being its cells of positive probability.
    """
    if size < 0:
        raise parameter("size", "must not be negative", str(size))
    records = np.zeros((size, len(model.levels)), dtype=np.int32)
    for c, parent in model.tree.walk():
        factor = model.cliques[c]
        separator = list(members(model.tree.cliques[c] & model.tree.cliques[parent])) if parent >= 0 else []
        own = factor.cells[:, factor.columns(separator)]
        both = np.concatenate([own, records[:, separator]])
        _, group = distinct_rows(both, [model.levels[v] for v in separator])
        order = np.argsort(group[: len(own)], kind="stable")
        sorted_group = group[: len(own)][order]
        cumulative = np.concatenate([[0.0], np.cumsum(factor.values[order])])
        low = np.searchsorted(sorted_group, group[len(own) :], side="left")
        high = np.searchsorted(sorted_group, group[len(own) :], side="right")
        target = cumulative[low] + rng.random(size) * (cumulative[high] - cumulative[low])
        row = np.clip(np.searchsorted(cumulative, target, side="right") - 1, low, high - 1)
        records[:, factor.variables] = factor.cells[order[row]]
    return records
