"""The marginal of a decomposable model over some variables, as a product of small tables that is never multiplied out.

A junction tree is a product of conditional tables. Unknown variables are summed out one by one, each from the
tables that hold it; the product of the remaining tables is the marginal, and a cell costs one entry of each table.
Keys that disagree and missing values are summed out in this way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.models.bits import members
from gemel.risk.models.factors import Factor
from gemel.risk.models.fitted import FittedModel

TABLE_LIMIT = 2**24
"""Maximum number of cells of one table."""


def conditionals(model: FittedModel) -> list[Factor]:
    """The model as a product: the root clique's marginal, and every other clique's given its parent."""
    found = []
    for c, parent in model.tree.walk():
        factor = model.cliques[c]
        separator = model.tree.cliques[c] & model.tree.cliques[parent] if parent >= 0 else 0
        if separator:
            factor = factor.divided(factor.marginal(list(members(separator))))
        found.append(factor)
    return found


def eliminated(factors: Sequence[Factor], unknown: Sequence[int], levels: Sequence[int]) -> list[Factor]:
    """Sum variables out of a product of tables, the cheapest first.

    Parameters
    ----------
    factors
        The product.
    unknown
        Variables to sum out.
    levels
        Of all variables.

    Raises
    ------
    GemelError
        MEMORY if a table that this makes has more than `TABLE_LIMIT` cells.
    """
    left = list(factors)
    waiting = set(unknown)
    while waiting:
        cost = {v: _cells(left, v, levels) for v in waiting}
        v = min(sorted(waiting), key=lambda v: cost[v])
        if cost[v] > TABLE_LIMIT * levels[v]:
            raise GemelError(
                ErrorCode.MEMORY,
                "the value model has too many dependent variables for a key or value that is not known to be summed "
                "out",
                where="latent",
                got=f"a table of {cost[v]} cells",
                remedy="use fewer variables or levels, or let a key stand alone",
            )
        waiting.remove(v)
        product = Factor.constant()
        for factor in sorted((f for f in left if v in f.variables), key=lambda f: -len(f.variables)):
            product = factor * product
        left = [f for f in left if v not in f.variables]
        left.append(product.marginal([w for w in product.variables if w != v]))
    return [factor for factor in left if not _is_one(factor)]


def _cells(factors: Sequence[Factor], v: int, levels: Sequence[int]) -> int:
    union = {w for factor in factors if v in factor.variables for w in factor.variables}
    return math.prod(int(levels[w]) for w in union)


def _is_one(factor: Factor) -> bool:
    """Whether a table is 1 everywhere, as the conditional of a clique with only unknown variables."""
    size = math.prod(int(n) for n in factor.levels)
    return len(factor.values) == size and bool(np.abs(factor.values - 1.0).max() <= 1e-12)
