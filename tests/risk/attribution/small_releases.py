"""Small random releases, and the plain definition of what is feasible under one."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from gemel.risk.attribution.cell_bounds import Bounds
from gemel.risk.attribution.laws import Barnardised, Conventional, Exact, Random
from gemel.risk.attribution.protections import Barnardisation, ConventionalRounding, RandomRounding
from gemel.risk.attribution.protections.records import Protection
from gemel.risk.attribution.release import Published, Release, Table, publish
from research._thesis_tables import anonymous

PROTECTIONS: tuple[Protection | None, ...] = (
    None,
    ConventionalRounding(3),
    RandomRounding(3),
    Barnardisation(0.5),
    RandomRounding(2),
)
LAWS = (Exact(), Conventional(3), Random(3), Barnardised(0.5))


def brute_force(release: Release, maximum: int = 300_000) -> NDArray[np.int64] | None:
    """All feasible base tables by going through every table within the cells' largest possible counts."""
    highest = np.full(release.cells, 10**6)
    for table in release.tables:
        for index in np.ndindex(table.counts.shape):
            block = release.block(table, index)
            highest[block] = np.minimum(highest[block], table.box[1][index])
    if np.prod(highest + 1.0) > maximum:
        return None
    grid = np.asarray(list(product(*[range(int(h) + 1) for h in highest])), dtype=np.int64)
    for table in release.tables:
        low, high = table.box
        for index in np.ndindex(table.counts.shape):
            sums = grid[:, release.block(table, index)].sum(axis=1)
            grid = grid[(sums >= low[index]) & (sums <= high[index])]
    return grid


@st.composite
def releases(draw: st.DrawFn, protected: bool = True, shapes: tuple[tuple[int, ...], ...] = ()) -> Release:
    """A release of margins of a random small table, each exact or protected, the total among them."""
    shape = draw(st.sampled_from(shapes or ((2, 2), (2, 3), (3, 3), (2, 2, 2))))
    variables = anonymous(shape)
    counts = draw(st.lists(st.integers(0, 2), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    truth = Table(variables, np.asarray(counts).reshape(shape))
    names = [v.name for v in variables]
    sets = draw(
        st.lists(
            st.lists(st.sampled_from(names), min_size=1, unique=True).map(sorted).map(tuple), min_size=1, max_size=4
        )
    )
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    tables: list[Published] = []
    for number, names_ in enumerate([*sets, ()]):
        given = publish(f"{number}: {' x '.join(names_) or 'total'}", truth.over(names_))
        protection = draw(st.sampled_from(PROTECTIONS)) if protected else None
        tables.append(given if protection is None else protection.protect(given, generator).table)
    return Release(variables, tuple(tables), truth)


def box(found: Bounds) -> tuple[list[int], list[int]]:
    """Lower and upper bounds of all cells, in their order."""
    return found.lower.ravel().tolist(), found.upper.ravel().tolist()


def hold(found: Bounds, lowest: ArrayLike, highest: ArrayLike | None = None) -> bool:
    """Whether no bound excludes a count that each cell can have, from the lowest to the highest."""
    low, high = np.ravel(lowest), np.ravel(lowest if highest is None else highest)
    return bool((found.lower.ravel() <= low).all() and (found.upper.ravel() >= high).all())
