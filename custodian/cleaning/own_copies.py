"""Records of one file that seem to be copies of each other, counted before any linkage.

Equal records agree in every compared field, near-equal ones in all but one. Members of a household agree in most
fields too, and so do two records with little in them; so copies have two names or dates of birth at least, and agree in
all that they have of these. People whom the fields hardly distinguish agree as well: how many pairs chance explains
follows from the shares of the fields' values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from gemel.common.arrays import Columns, Flags
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.parties import Side
from gemel.common.specification import Specification

FEW, FEW_OF_FAMILIES = 0.003, 0.05
"""Share of a file's records, above what chance explains, from which a file counts as one with copies; and where it has
fewer than `KEPT` fields that relatives do not share."""
FEWEST = 4
"""Pairs of copies below which it does not."""
KEPT = 2
"""Names and dates of birth that two records have at least that may be one person's."""


@dataclass(frozen=True)
class OwnCopies:
    """Pairs of `equal` records of a file, which agree in every field, and of `near` ones, which agree in all but one.

    So many would be expected of different people with independent fields: `equal_by_chance`, `near_by_chance`;
    `kept`: number of the fields that describe names and births.
    """

    rows: int
    equal: int
    near: int
    equal_by_chance: float
    near_by_chance: float
    kept: int

    @property
    def several(self) -> bool:
        """Whether there are more copies than chance explains, and enough to matter for a linkage.

        Chance counts twice: what is counted scatters about it. Fields of which all but one hardly distinguish people
        show nothing.
        """
        enough = max(FEWEST, (FEW if self.kept >= KEPT else FEW_OF_FAMILIES) * self.rows)
        copies = 0.0
        if self.near_by_chance <= self.rows:
            copies += max(0.0, self.equal - 2 * self.equal_by_chance)
        if self.near_by_chance <= enough:
            copies += max(0.0, self.near - 2 * self.near_by_chance)
        return copies >= enough


def kept_fields(spec: Specification) -> list[str]:
    """The fields that describe a person's names and birth."""
    return [field.name for field in spec.fields if field.describes in ("name", "birth")]


def own_copies(columns: Columns, kept: Sequence[str]) -> OwnCopies:
    """Count the pairs of equal and near-equal records of a file, from the cleaned values by field, null where missing.

    `kept`: which fields are those of `kept_fields`. O(rows * fields^2) hashing.
    """
    table = pl.DataFrame(dict(columns))
    some = table.filter(pl.Series(enough_kept(table, kept)))
    alone = {name: _pairs(table, [name]) for name in table.columns}
    return counted_copies(table.height, alone, kept, lambda names: _pairs(some, list(names)))


def enough_kept(table: pl.DataFrame, kept: Sequence[str]) -> Flags:
    """Which records have a value in `KEPT` of the fields that describe names and births, or in all of fewer."""
    there = np.zeros(table.height, dtype=np.int64)
    for name in kept:
        there += table[name].is_not_null().to_numpy()
    return there >= min(KEPT, len(kept))


def counted_copies(
    n_rows: int, alone: Mapping[str, int], kept: Sequence[str], pairs: Callable[[Sequence[str]], int]
) -> OwnCopies:
    """As `own_copies`, from numbers of pairs, whoever counts them.

    `alone`: by field, the pairs of rows that agree in it; a field that both lack agrees; `pairs`: how many of the rows
    of `enough_kept` agree in some fields; called for all, and for all but one that is not kept.
    """
    equal = pairs(list(alone))
    others = [name for name in alone if name not in kept] if kept and len(alone) > 1 else []
    near = sum(pairs([each for each in alone if each != name]) - equal for name in others)
    n_pairs = n_rows * (n_rows - 1) / 2
    agree = {name: count / max(1.0, n_pairs) for name, count in alone.items()}
    by_chance = float(n_pairs * np.prod(list(agree.values())))
    but_one = (np.prod([agree[each] for each in alone if each != name]) * (1 - agree[name]) for name in others)
    return OwnCopies(n_rows, equal, near, by_chance, float(n_pairs * sum(but_one)), len(kept))


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
