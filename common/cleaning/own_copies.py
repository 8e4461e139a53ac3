"""Records of one file that seem to be copies of each other, counted before any linkage.

Equal records agree in every compared field, near-equal ones in all but one; a value that both lack agrees. People whom
the fields hardly distinguish agree too: how many pairs chance explains follows from the shares of the fields' values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from tryst.common.documents.result_warning import ResultWarning, result_warning
from tryst.common.parties import Side
from tryst.common.specification import Specification

FEW = 0.005
"""Share of a file's records, above what chance explains, from which a file counts as one with copies."""

FEWEST = 5
"""Pairs of copies below which it does not."""


@dataclass(frozen=True)
class OwnCopies:
    """Pairs of equal and of near-equal records of a file, in numbers.

    Attributes
    ----------
    rows
        Records of the file.
    equal, near
        Pairs that agree in every field, and in all but one.
    equal_by_chance, near_by_chance
        So many would be expected of different people with independent fields.
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


def own_copies(columns: Mapping[str, pl.Series]) -> OwnCopies:
    """Count the pairs of equal and near-equal records of a file.

    Parameters
    ----------
    columns
        By field, the cleaned values of all rows, null where missing.

    Notes
    -----
    O(rows * fields^2) hashing. Fields that depend on each other, as in a household, agree more often than by chance:
    its members must differ in two fields at least not to be counted.
    """
    table = pl.DataFrame({f"f{q}": column for q, column in enumerate(columns.values())})
    every = table.columns
    equal = _pairs(table, every)
    near = sum(_pairs(table, [other for other in every if other != name]) - equal for name in every) if every[1:] else 0
    n_pairs = table.height * (table.height - 1) / 2
    agree = np.array([_pairs(table, [name]) / max(1.0, n_pairs) for name in every])
    missing_one = sum(np.delete(agree, q).prod() * (1 - agree[q]) for q in range(len(agree))) if every[1:] else 0.0
    return OwnCopies(table.height, equal, near, float(n_pairs * agree.prod()), float(n_pairs * missing_one))


def copies_warnings(columns: Mapping[str, pl.Series], spec: Specification, side: Side) -> Iterator[ResultWarning]:
    """A warning where a file has copies and the assignment links one of each only.

    Parameters
    ----------
    columns
        As for `own_copies`.
    spec, side
        What is linked, and whose file it is.
    """
    if spec.links.allows_several(side):
        return
    found = own_copies(columns)
    if found.several:
        yield result_warning("own_copies", equal=found.equal, near=found.near, assignment=spec.links.assignment)


def _pairs(table: pl.DataFrame, names: list[str]) -> int:
    """Pairs of rows that agree in some columns."""
    size = table.group_by(names).len()["len"].cast(pl.Int64)
    return int((size * (size - 1)).sum()) // 2
