"""The population behind a file that is protected: what linking the published records with it really gives.

No law and no sampling fraction is needed: a record's published keys agree with F people, and if its own person is among
them a match with one of them at random is right with probability 1/F. A suppressed value agrees with everyone, since
the register that an intruder has is not suppressed. A record whose keys were redrawn or swapped to others is never
matched rightly: where values were changed at random, this is the truth about the file that was drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from gemel.common.errors import parameter
from gemel.risk.arrays import Codes, Mask
from gemel.risk.identification.coding import Counts, agreeing, tally
from gemel.risk.lattice_search import Node
from gemel.risk.protection.key_table import KeyTable, value_codes


@dataclass(frozen=True)
class ExactRisk:
    correct_matches: float
    record_risk: float
    population_uniques: int


@dataclass(frozen=True, eq=False)
class Population:
    """Everyone the file was drawn from: the distinct combinations of value numbers, those of the table's hierarchies or
    -1 where missing, and the people of each."""

    cells: Codes = field(repr=False)
    counts: Counts = field(repr=False)

    @classmethod
    def of(
        cls, table: KeyTable, columns: Mapping[str, Any] | pl.DataFrame, missing_values: Sequence[str]
    ) -> Population:
        """From columns of values, all of which the hierarchies have."""
        labels, own = value_codes({name: columns[name] for name in table.names}, missing_values)
        codes = []
        for q, h in enumerate(table.hierarchies):
            place = {value: k for k, value in enumerate(h.levels[0])}
            numbers = np.array([*(place[value] for value in labels[h.name]), -1], dtype=np.int32)
            codes.append(numbers[own[:, q]])
        cells, counts, _ = tally(np.stack(codes, axis=1), [h.levels[0] for h in table.hierarchies])
        found = cls(cells, counts)
        found._require_to_hold(table)
        return found

    def people(self, table: KeyTable, node: Node, suppressed: Mask) -> Counts:
        """F of each record as published at a node, shape (n_records,): people who agree with it."""
        levels = [int(size) + 1 for size in table.sizes(node)]
        if table.missing == "level":  # missing agrees with missing, and has a number of its own; suppressed with all
            own = _numbered(table.at(node), table.sizes(node))
            theirs = _numbered(table.at(node, self.cells), table.sizes(node))
        else:
            own, theirs = table.at(node), table.at(node, self.cells)
        names = [range(size) for size in levels]
        requested, _, which = tally(np.where(suppressed, -1, own).astype(np.int32), names)
        cells, counts, _ = tally(theirs, names, self.counts)
        return agreeing(requested, cells, counts, levels)[which]

    def risk(self, table: KeyTable, node: Node, suppressed: Mask, true: Codes) -> ExactRisk:
        """What an intruder gets who links the published file with the population; `true`: before any value was redrawn
        or swapped."""
        F = self.people(table, node, suppressed)
        right = ((table.at(node) == table.at(node, true)) | suppressed).all(axis=1)
        chance = np.where(right & (F > 0), 1.0 / np.maximum(F, 1), 0.0)
        return ExactRisk(float(chance.mean()), float(chance.max()), int((right & (F == 1)).sum()))

    def _require_to_hold(self, table: KeyTable) -> None:
        n = len(table.codes)
        if self.counts.sum() < n:
            what, got = "the population is smaller than the file", f"{int(self.counts.sum())} people for {n} records"
            raise parameter("--population", what, got, "give the file that the records were drawn from")
        bottom: Node = (0,) * len(table.hierarchies)
        names = [h.levels[0] for h in table.hierarchies]
        cells, f, _ = tally(table.codes, names)
        F = agreeing(cells, self.cells, self.counts, table.sizes(bottom).tolist())
        short = int((f > F).sum())
        if short:
            what = "combinations of key values occur more often in the file than in the population"
            remedy = "code both files alike; records that were changed already are no sample of it"
            raise parameter("--population", what, f"{short} such combinations", remedy)


def _numbered(codes: Codes, sizes: Counts) -> Codes:
    return np.where(codes < 0, sizes[None, :], codes).astype(np.int32)
