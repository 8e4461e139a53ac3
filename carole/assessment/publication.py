"""Subtraction: what an intruder who knows some of the people counted learns from all tables to be published together.

All tables bound the counts of one base table over every variable in any of them. A cell whose
upper bound equals the number of known people in it is disclosed: no other person is in it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tryst.carole.assessment.combined import Combined
from tryst.carole.assessment.measures import Measure
from tryst.common.documents.result_warning import ResultWarning, result_warning
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.specification.model.assessment import PublishedTable
from tryst.risk.attribution.cell_bounds import bounds
from tryst.risk.attribution.laws import INFINITE
from tryst.risk.attribution.protections.rounding import ConventionalRounding, RandomRounding
from tryst.risk.attribution.release import Published, Release, publish
from tryst.risk.attribution.sap import sap
from tryst.risk.attribution.tables import Table, Variable

BASE_CELLS = 2_000_000
"""Cells of the base table up to which all tables are attacked together."""

_TIGHT_CELLS = 150  # up to which bounds are made tight by integer programming
_TIGHT_RECODED = 200_000  # cells of all its recodings, up to which the same
_SHUTTLE_CELLS = 2_000_000  # of recodings to single levels and sums, up to which the shuttle algorithm is run


@dataclass(frozen=True)
class Publication:
    """The risk of the tables.

    Attributes
    ----------
    measures
        By name; empty where there is nothing to publish.
    tables
        Each table, ready for JSON.
    warnings
        Limitations a reader must know.
    """

    measures: Mapping[str, Measure]
    tables: list[dict[str, Any]]
    warnings: tuple[ResultWarning, ...]


def publication(
    combined: Combined, tables: Sequence[PublishedTable], earlier: Sequence[PublishedTable], known: int
) -> Publication:
    """The probability of recovery, from the tables to be published and those of earlier releases.

    Parameters
    ----------
    tables
        To be published.
    earlier
        Published before, over variables that the combined output still has.
    known
        Number of known people.
    """
    listed = [(table, False) for table in tables] + [(table, True) for table in earlier if table not in tables]
    if not listed:
        return Publication({}, [], ())
    warnings: list[ResultWarning] = []
    documents = []
    singles = []
    for table, before in listed:
        alone = recovery(combined, [table], known)
        singles.append(alone)
        documents.append(
            {
                "variables": list(table.variables),
                "protection": table.protection,
                "base": table.base,
                "earlier": before,
                "cells": alone.cells,
                "empty_cells": alone.empty,
                "small_cells": alone.small,
                "subtraction": alone.probability,
            }
        )
    whole = recovery(combined, [table for table, _ in listed], known)
    value, how = whole.probability, whole.method
    if whole.method == "":
        value = max(single.probability for single in singles)
        how = "the worst single table"
        warnings.append(result_warning("tables_attacked_separately"))
    value = max(value, *(single.probability for single in singles))
    if any(table.protection == "random" for table, _ in listed):
        warnings.append(result_warning("rounding_drawn_again"))
    text = f"{len(listed)} tables, {known} known people, links as decided; bounds: {how}"
    return Publication({"subtraction": Measure(value, text)}, documents, tuple(warnings))


@dataclass(frozen=True)
class Recovery:
    """The result of an attack on tables.

    Attributes
    ----------
    probability
        That a cell is disclosed.
    cells, empty, small
        Cells of the base table, the empty ones, and those of one or two people.
    method
        Of the bounds; empty where there are too many cells.
    """

    probability: float
    cells: int
    empty: int
    small: int
    method: str


def recovery(combined: Combined, tables: Sequence[PublishedTable], known: int) -> Recovery:
    """Attack tables together."""
    names = list(dict.fromkeys(name for table in tables for name in table.variables))
    truth = base_table(combined, names)
    if truth is None:
        return Recovery(0.0, 0, 0, 0, "")
    counts = truth.counts
    sizes = (int(counts.size), int((counts == 0).sum()), int(((counts > 0) & (counts <= 2)).sum()))
    if not combined.n_records:
        return Recovery(0.0, *sizes, "no record is counted")
    seed = hashlib.sha256(np.ascontiguousarray(counts).tobytes()).digest()
    generator = np.random.default_rng(int.from_bytes(seed[:8], "big"))
    published = tuple(_published(truth, table, str(i + 1), generator) for i, table in enumerate(tables))
    upper, method = _upper(truth, published)
    curve = sap(counts, np.minimum(upper, INFINITE), known)
    return Recovery(float(curve[-1]), *sizes, method)


def base_table(combined: Combined, names: Sequence[str]) -> Table | None:
    """Linked records counted over variables, with a level for missing values where there are any; None if too large."""
    columns = combined.columns(names)
    codes = combined.codes[:, columns]
    lacking = [bool((codes[:, q] < 0).any()) for q in range(len(columns))]
    variables = []
    for name, column, gap in zip(names, columns, lacking, strict=True):
        levels = len(combined.variables[column].categories)
        labels = [str(k + 1) for k in range(levels)] + (["(missing)"] if gap else [])
        variables.append(Variable(name, tuple(labels)))
    if math.prod(variable.size for variable in variables) > BASE_CELLS:
        return None
    last = np.array([variable.size - 1 for variable in variables])
    return Table.of_records(variables, np.where(codes < 0, last, codes).astype(np.int64))


def _published(truth: Table, table: PublishedTable, name: str, generator: np.random.Generator) -> Published:
    plain = publish(name, truth.over(table.variables))
    if table.protection == "none" or table.base is None:
        return plain
    rounding = ConventionalRounding(table.base) if table.protection == "conventional" else RandomRounding(table.base)
    return rounding.protect(plain, generator).table


def _upper(truth: Table, published: Sequence[Published]) -> tuple[NDArray[np.int64], str]:
    """Upper bounds of the base table's cells, and how they were computed: the same for the same tables."""
    names = set(truth.names)
    for table in published:
        if set(table.names) == names and table.exact:
            return truth.counts, "published cell by cell"
    if len(published) == 1:
        (table,) = published
        axes = [table.names.index(name) for name in truth.names]
        return np.transpose(table.box[1], axes), "what the rounding leaves of each count"
    release = Release(truth.variables, tuple(published), truth)
    if release.cells <= _TIGHT_CELLS and math.prod(2**n - 1 for n in release.shape) <= _TIGHT_RECODED:
        found = bounds(release)
        return found.upper, found.method
    try:
        found = bounds(release, "closed")
    except TrystError as error:
        if error.code is not ErrorCode.PARAMETER:
            raise
    else:
        return found.upper, found.method
    if math.prod(2 * n - 1 for n in release.shape) <= _SHUTTLE_CELLS:
        found = bounds(release, "shuttle", kind="chain")
        return found.upper, found.method
    # The smallest of the counts above a cell: valid, but seldom tight.
    upper = np.full(release.shape, INFINITE, dtype=np.int64)
    for table in published:
        order = [name for name in truth.names if name in table.names]
        box = np.transpose(table.box[1], [table.names.index(name) for name in order])
        shape = [v.size if v.name in order else 1 for v in truth.variables]
        upper = np.minimum(upper, box.reshape(shape))
    return upper, "the smallest count above each cell"
