"""Tables made of a few records, for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from gemel.risk.magnitude.rules import Contributions, contributions
from gemel.risk.magnitude.tables import Classification, LinkedTables
from tests.risk.magnitude.definition import Cell, Record

LETTERS = "abcdef"


def levels_of(shape: Sequence[int]) -> list[list[str]]:
    """Levels named by the variable and a number."""
    return [[f"{LETTERS[v]}{k}" for k in range(n)] for v, n in enumerate(shape)]


def made(shape: Sequence[int], records: Sequence[Record]) -> tuple[LinkedTables, Contributions]:
    """The table of all variables, and who stands behind its cells."""
    own = [Classification.of(LETTERS[v], levels) for v, levels in enumerate(levels_of(shape))]
    tables = LinkedTables.of(own, [[c.name for c in own]])
    nodes = np.asarray([[c.nodes.index(x) for c, x in zip(own, r[0], strict=True)] for r in records])
    units = sorted({r[2] for r in records})
    found = contributions(
        tables,
        nodes,
        np.asarray([r[1] for r in records], dtype=float),
        np.asarray([units.index(r[2]) for r in records]),
        np.asarray([r[3] for r in records], dtype=float),
    )
    return tables, found


def named(tables: LinkedTables, cell: int) -> Cell:
    """A cell as the definitions name it."""
    described = tables.described(cell)
    return tuple(described.get(c.name, "Total") for c in tables.classifications)


@st.composite
def files(
    draw: st.DrawFn, shape: Sequence[int], *, low: int = 0, weighted: bool = False, most_records: int = 25
) -> list[Record]:
    """Records over a table: every inner cell may be empty, units may be in several cells."""
    levels = levels_of(shape)
    number = draw(st.integers(1, most_records))
    records = []
    for _ in range(number):
        cell = tuple(draw(st.sampled_from(own)) for own in levels)
        value = draw(st.one_of(st.integers(low, 20), st.integers(0, 400)))
        weight = draw(st.sampled_from([1.0, 1.4, 1.5, 3.0])) if weighted else 1.0
        records.append((cell, float(value), f"u{draw(st.integers(0, number))}", weight))
    return records
