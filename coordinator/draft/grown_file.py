"""A file at the size it may grow to, made of a smaller one, for what depends on the rows per block.

The fields fall into groups that depend on each other, as given name and sex do, or street, town and postcode. Each new
record takes every group from a record drawn at random, so that what is common in the sample stays as common, what
depends stays dependent, and combinations of independent groups arise that the sample has no two rows of. Values that
the sample lacks are not invented: blocks come out somewhat larger than in a true file of this size.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import polars as pl

DEPENDENT = 1.2
"""Two fields are dependent if pairs of records agree on both so many times more often than if they were not."""
PAIRS = 400_000
"""Random pairs of records from which it is counted."""
FEW = 10
"""Pairs that agree on both fields that show a dependence."""


def grown(columns: Mapping[str, pl.Series], n_rows: int, rng: np.random.Generator) -> dict[str, pl.Series]:
    """A file of `n_rows` records with the values, shares and dependences of a smaller one.

    Parameters
    ----------
    columns
        Cleaned values by field, null where missing.
    n_rows
        Returned as it is if the file has so many.
    rng
        Draws the records.
    """
    n = len(next(iter(columns.values())))
    if n_rows <= n:
        return dict(columns)
    found: dict[str, pl.Series] = {}
    for group in dependent_groups(columns, rng):
        # Every record of the sample stands in the larger file, in its place.
        drawn = np.concatenate([np.arange(n), rng.integers(0, n, n_rows - n)])
        found |= {name: columns[name].gather(drawn) for name in group}
    return {name: found[name] for name in columns}


def dependent_groups(columns: Mapping[str, pl.Series], rng: np.random.Generator) -> list[list[str]]:
    """Fields that depend on each other, directly or by others, together; the groups in the order of the fields."""
    names, n = list(columns), len(next(iter(columns.values())))
    if n < 2:
        return [names]
    one, other = rng.integers(0, n, (2, PAIRS))
    different = one != other
    agree = {}
    for name, column in columns.items():
        # Missing values are no agreement.
        codes = column.fill_null("").rank("dense").to_numpy()
        filled = column.is_not_null().to_numpy()
        agree[name] = (codes[one] == codes[other]) & filled[one] & filled[other] & different
    group = {name: {name} for name in names}
    for left, right in combinations(names, 2):
        both = int((agree[left] & agree[right]).sum())
        expected = float(agree[left].mean() * agree[right].sum())
        if both >= FEW and both > DEPENDENT * expected + 3 * expected**0.5 and group[left] is not group[right]:
            group[left] |= group[right]
            for name in group[right]:
                group[name] = group[left]
    return [[name for name in names if name in members] for members in {id(g): g for g in group.values()}.values()]
