"""Subtraction: what an intruder who knows some of the people counted learns from all tables to be published together.

All tables bound the counts of one base table over every variable in any of them. A cell whose
upper bound equals the number of known people in it is disclosed: no other person is in it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.measures import Disclosure, Measure
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.specification.model.assessment import PublishedTable
from gemel.risk.arrays import Integers
from gemel.risk.attribution.cell_bounds import Bounds, bounds
from gemel.risk.attribution.laws import INFINITE, UNPUBLISHED
from gemel.risk.attribution.protections.tabular import ConventionalRounding, RandomRounding
from gemel.risk.attribution.release import Published, Release, Table, Variable, publish
from gemel.risk.attribution.sap import sap

BASE_CELLS = 2_000_000
"""Cells of the base table up to which all tables are attacked together."""

_TIGHT_CELLS = 150  # up to which bounds are made tight by integer programming
_TIGHT_RECODED = 200_000  # cells of all its recodings, up to which the same
_EXACT = (
    "computed from the tables as they are published, over all choices of the known people: false and missed links are"
    " in the tables, and change nothing of what is recovered"
)
_UNPROVEN = "not proven tight, so that other means may recover more"

_SHUTTLE_CELLS = 2_000_000  # of recodings to single levels and sums, up to which the shuttle algorithm is run


def publication(
    combined: Combined, tables: Sequence[PublishedTable], earlier: Sequence[PublishedTable], known: int
) -> Disclosure:
    """The probability of recovery, from the tables to be published and those of earlier releases; each table."""
    listed = [(table, False) for table in tables] + [(table, True) for table in earlier if table not in tables]
    if not listed:
        return Disclosure({}, [])
    warnings: list[ResultWarning] = []
    singles = [recovery(combined, [table], known) for table, _ in listed]
    documents = [
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
        for (table, before), alone in zip(listed, singles, strict=True)
    ]
    whole = recovery(combined, [table for table, _ in listed], known)
    how, proven = whole.method, whole.proven
    if whole.method == "":
        how, proven = "the worst single table", False
        warnings.append(result_warning("tables_attacked_separately"))
    value, lower, upper = (
        max(ends) for ends in zip(*((one.probability, *one.draws) for one in (whole, *singles)), strict=True)
    )
    text = f"{len(listed)} tables, {known} known people, links as decided; bounds: {how}"
    if not proven:
        text += f" ({_UNPROVEN})"
    if any(table.protection == "random" for table, _ in listed):
        warnings.append(result_warning("rounding_drawn_again"))
        measure = Measure(value, text, lower, upper)
    else:
        measure = Measure(value, text, no_interval=_EXACT if proven else f"{_EXACT}; but {_UNPROVEN}")
    return Disclosure({"subtraction": measure}, documents, tuple(warnings))


@dataclass(frozen=True)
class Recovery:
    """The result of an attack on tables: of the base table the cells, the empty ones, and those of one or two people;
    the method of the bounds, empty where there are too many cells; whether all bounds are tight, so that no attack
    recovers more; and the least and greatest probability whatever the random rounding draws."""

    probability: float
    cells: int
    empty: int
    small: int
    method: str
    proven: bool
    draws: tuple[float, float]


def recovery(
    combined: Combined, tables: Sequence[PublishedTable], known: int, rng: np.random.Generator | None = None
) -> Recovery:
    names = list(dict.fromkeys(name for table in tables for name in table.variables))
    truth = base_table(combined, names)
    if truth is None:
        return Recovery(0.0, 0, 0, 0, "", False, (0.0, 0.0))
    counts = truth.counts
    sizes = (int(counts.size), int((counts == 0).sum()), int(((counts > 0) & (counts <= 2)).sum()))
    if not combined.n_records:
        return Recovery(0.0, *sizes, "no record is counted", True, (0.0, 0.0))
    seed = hashlib.sha256(np.ascontiguousarray(counts).tobytes()).digest()
    generator = np.random.default_rng(int.from_bytes(seed[:8], "big")) if rng is None else rng
    plain = [publish(str(i + 1), truth.over(table.variables)) for i, table in enumerate(tables)]
    shown = [_protected(one, table, generator) for one, table in zip(plain, tables, strict=True)]
    found = _upper(truth, shown)
    value = _recovered(counts, found, known)
    draws = value, value
    if any(table.protection == "random" for table in tables):
        fewest, greatest = (
            tuple(
                _any_draw(one, table, tightest=tightest) if table.protection == "random" else drawn
                for one, table, drawn in zip(plain, tables, shown, strict=True)
            )
            for tightest in (False, True)
        )
        least, most = (_recovered(counts, _upper(truth, drawn), known) for drawn in (fewest, greatest))
        draws = min(value, least), max(value, most)
    return Recovery(value, *sizes, found.method, found.proven, draws)


def _recovered(counts: Integers, found: _Upper, known: int) -> float:
    return float(sap(counts, np.minimum(found.upper, INFINITE), known)[-1])


def base_table(combined: Combined, names: Sequence[str]) -> Table | None:
    """Linked records counted over variables, with a level for missing values where there are any; None if too large."""
    columns = combined.columns(names)
    codes = combined.codes[:, columns]
    lacking = [bool((codes[:, q] < 0).any()) for q in range(len(columns))]
    variables = []
    for name, column, gap in zip(names, columns, lacking, strict=True):
        labels = [str(k + 1) for k in range(len(combined.variables[column].categories))]
        variables.append(Variable(name, (*labels, *(["(missing)"] if gap else []))))
    if math.prod(variable.size for variable in variables) > BASE_CELLS:
        return None
    last = np.array([variable.size - 1 for variable in variables])
    return Table.of_records(variables, np.where(codes < 0, last, codes).astype(np.int64))


def _protected(plain: Published, table: PublishedTable, generator: np.random.Generator) -> Published:
    if table.protection == "none" or table.base is None:
        return plain
    rounding = ConventionalRounding(table.base) if table.protection == "conventional" else RandomRounding(table.base)
    return rounding.protect(plain, generator).table


def _any_draw(plain: Published, table: PublishedTable, *, tightest: bool) -> Published:
    """A randomly rounded table that shows of each count what every draw shows; `tightest`: what any draw might.

    A count between two multiples is published as either, each of which leaves a range: their union, or what they have
    in common. No draw of the whole table shows less than the one or more than the other.
    """
    base = table.base or 1
    below = plain.counts // base * base
    above = below + base * (below < plain.counts)
    first, last = (above, below) if tightest else (below, above)
    ranges = np.maximum(first - base + 1, 0), last + base - 1
    return replace(plain, counts=np.full_like(plain.counts, UNPUBLISHED), intervals=ranges)


@dataclass(frozen=True)
class _Upper:
    """Upper bounds of the base table's cells, how they were computed, and whether no smaller ones are valid."""

    upper: Integers
    method: str
    proven: bool


def _upper(truth: Table, published: Sequence[Published]) -> _Upper:
    """Upper bounds of the base table's cells: the same for the same tables."""
    names = set(truth.names)
    for table in published:
        if set(table.names) == names and table.exact:
            return _Upper(truth.counts, "published cell by cell", True)
    if len(published) == 1:
        (table,) = published
        axes = [table.names.index(name) for name in truth.names]
        return _Upper(np.transpose(table.box[1], axes), "what the rounding leaves of each count", True)
    release = Release(truth.variables, tuple(published), truth)
    if release.cells <= _TIGHT_CELLS and math.prod(2**n - 1 for n in release.shape) <= _TIGHT_RECODED:
        return _of_bounds(truth, bounds(release))
    try:
        found = bounds(release, "closed")
    except GemelError as error:
        if error.code is not ErrorCode.PARAMETER:
            raise
    else:
        return _of_bounds(truth, found)
    if math.prod(2 * n - 1 for n in release.shape) <= _SHUTTLE_CELLS:
        return _of_bounds(truth, bounds(release, "shuttle", kind="chain"))
    # The smallest of the counts above a cell: valid, but seldom tight.
    upper = np.full(release.shape, INFINITE, dtype=np.int64)
    for table in published:
        order = [name for name in truth.names if name in table.names]
        box = np.transpose(table.box[1], [table.names.index(name) for name in order])
        shape = [v.size if v.name in order else 1 for v in truth.variables]
        upper = np.minimum(upper, box.reshape(shape))
    return _Upper(upper, "the smallest count above each cell", bool((upper == truth.counts).all()))


def _of_bounds(truth: Table, found: Bounds) -> _Upper:
    # A bound that is the true count is attained.
    return _Upper(found.upper, found.method, bool((found.upper_tight | (found.upper == truth.counts)).all()))
