"""Records of one file that seem to be copies of each other, counted before any linkage.

Equal records agree in every compared field, near-equal ones in all but one; a value that both lack agrees. People whom
the fields hardly distinguish agree too: how many pairs chance explains follows from the shares of the fields' values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from gemel.common.arrays import Columns
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.parties import Side
from gemel.common.specification import Specification

FEW = 0.005
"""Share of a file's records, above what chance explains, from which a file counts as one with copies."""
FEWEST = 5
"""Pairs of copies below which it does not."""


@dataclass(frozen=True)
class OwnCopies:
    """Pairs of `equal` records of a file, which agree in every field, and of `near` ones, which agree in all but one.

    So many would be expected of different people with independent fields: `equal_by_chance`, `near_by_chance`.
    """

    rows: int
    equal: int
    near: int
    equal_by_chance: float
    near_by_chance: float

    @property
    def several(self) -> bool:
        """Whether there are more copies than chance explains, and enough to matter for a linkage.

        Chance counts twice: what is counted scatters about it. Fields of which all but one hardly distinguish people
        show nothing, for there the members of a household agree as copies do.
        """
        enough = max(FEWEST, FEW * self.rows)
        copies = 0.0
        if self.near_by_chance <= self.rows:
            copies += max(0.0, self.equal - 2 * self.equal_by_chance)
        if self.near_by_chance <= enough:
            copies += max(0.0, self.near - 2 * self.near_by_chance)
        return copies >= enough


def own_copies(columns: Columns) -> OwnCopies:
    """Count the pairs of equal and near-equal records of a file, from the cleaned values by field, null where missing.

    O(rows * fields^2) hashing. Fields that depend on each other, as in a household, agree more often than by chance:
    its members must differ in two fields at least not to be counted.
    """
    table = pl.DataFrame({f"f{q}": column for q, column in enumerate(columns.values())})
    return counted_copies(table.height, table.columns, lambda names: _pairs(table, list(names)))


def counted_copies(n_rows: int, names: Sequence[str], pairs: Callable[[Sequence[str]], int]) -> OwnCopies:
    """As `own_copies`, from the number of pairs of rows that agree in some fields, whoever counts them.

    `pairs` is called for all fields, for all but one, and for each; a field that both rows lack agrees.
    """
    equal = pairs(names)
    several = len(names) > 1
    near = sum(pairs([other for other in names if other != name]) - equal for name in names) if several else 0
    n_pairs = n_rows * (n_rows - 1) / 2
    agree = np.array([pairs([name]) / max(1.0, n_pairs) for name in names])
    missing_one = sum(np.delete(agree, q).prod() * (1 - agree[q]) for q in range(len(agree))) if several else 0.0
    return OwnCopies(n_rows, equal, near, float(n_pairs * agree.prod()), float(n_pairs * missing_one))


def links_one_of_copies(spec: Specification, side: Side) -> bool:
    """Whether of several records of one person in a custodian's file one is linked at most, so that copies matter."""
    return not spec.links.allows_several(side)


def copies_warnings(found: OwnCopies | None, spec: Specification) -> Iterator[ResultWarning]:
    """A warning where a file has copies of which one is linked; None: nothing was counted (`links_one_of_copies`)."""
    if found is not None and found.several:
        yield result_warning("own_copies", equal=found.equal, near=found.near, assignment=spec.links.assignment)


def _pairs(table: pl.DataFrame, names: list[str]) -> int:
    """Pairs of rows that agree in some columns."""
    size = table.group_by(names).len()["len"].cast(pl.Int64)
    return int((size * (size - 1)).sum()) // 2
