"""The counts of a release's tables as they are kept, so that later releases can be compared with them.

A JSON text that begins with its format. A table has its occupied cells only, by their places in row-major order. Codes
have no labels; `coding` tells whether two releases have the same code for the same category.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.publication import BASE_CELLS, base_table
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.specification.model.assessment import MAX_AXES, MAX_TABLES, PublishedTable

FORMAT = "gemel released counts 1"

KEPT_CELLS = 2 * BASE_CELLS
"""Cells of all kept tables of one release."""

_CODING = b"gemel coding of categories 1\0"


@dataclass(frozen=True)
class CountedVariable:
    """An axis of a table: a variable, its number of categories, and whether missing values are a last level."""

    name: str
    categories: int
    missing: bool

    @property
    def levels(self) -> int:
        return self.categories + self.missing


@dataclass(frozen=True, eq=False)
class CountedTable:
    """A released table: what it was published as, and its true counts, an axis for each variable."""

    variables: tuple[CountedVariable, ...]
    protection: str
    base: int | None
    counts: NDArray[np.int64] = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self.variables)


@dataclass(frozen=True, eq=False)
class ReleasedCounts:
    """The counts of one release."""

    coding: str
    records: int
    tables: tuple[CountedTable, ...]
    left_out: tuple[tuple[str, ...], ...] = ()


def coding(project: str, encoding_digest: bytes, epoch: int) -> str:
    """The coding of a project's categories in an epoch."""
    parts = [project.encode(), encoding_digest, str(epoch).encode()]
    return hashlib.sha256(_CODING + b"".join(len(part).to_bytes(4, "big") + part for part in parts)).hexdigest()


def counted(combined: Combined, tables: Sequence[PublishedTable], codes: str) -> ReleasedCounts:
    """Count the tables that a release publishes; `codes` is its `coding`."""
    made: list[CountedTable] = []
    left_out: list[tuple[str, ...]] = []
    room = KEPT_CELLS
    for table in tables:
        found = base_table(combined, table.variables)
        if found is None or found.counts.size > room:
            left_out.append(tuple(table.variables))
            continue
        room -= found.counts.size
        categories = [len(combined.variables[q].categories) for q in combined.columns(table.variables)]
        axes = zip(table.variables, categories, found.counts.shape, strict=True)
        variables = tuple(CountedVariable(name, number, size > number) for name, number, size in axes)
        made.append(CountedTable(variables, table.protection, table.base, found.counts))
    return ReleasedCounts(codes, combined.n_records, tuple(made), tuple(left_out))


def pack(released: ReleasedCounts) -> bytes:
    tables = []
    for table in released.tables:
        cells = np.flatnonzero(table.counts)
        tables.append(
            {
                "variables": [[v.name, v.categories, v.missing] for v in table.variables],
                "protection": table.protection,
                "base": table.base,
                "cells": cells.tolist(),
                "counts": table.counts.ravel()[cells].tolist(),
            }
        )
    content = {
        "format": FORMAT,
        "coding": released.coding,
        "records": released.records,
        "tables": tables,
        "left_out": [list(names) for names in released.left_out],
    }
    return json.dumps(content, separators=(",", ":")).encode()


def unpack(content: bytes) -> ReleasedCounts:
    """The counts that `pack` wrote; VAULT if they are of another format, or are none."""
    try:
        given = json.loads(content)
        if given["format"] != FORMAT or len(given["tables"]) > MAX_TABLES:
            raise ValueError
        tables = tuple(_table(table) for table in given["tables"])
        left_out = tuple(tuple(str(name) for name in names) for names in given["left_out"])
        return ReleasedCounts(str(given["coding"]), int(given["records"]), tables, left_out)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        what = f"expected the counts of a release in the format {FORMAT!r}"
        remedy = "use the release of Gemel that wrote them, or a later one"
        raise GemelError(ErrorCode.VAULT, what, where="counts of a release", remedy=remedy) from error


def _table(given: dict[str, Any]) -> CountedTable:
    variables = tuple(CountedVariable(str(name), int(n), bool(gap)) for name, n, gap in given["variables"])
    shape = tuple(variable.levels for variable in variables)
    if not 0 < len(shape) <= MAX_AXES or min(shape) < 1 or math.prod(shape) > BASE_CELLS:
        raise ValueError
    cells, values = np.array(given["cells"], dtype=np.int64), np.array(given["counts"], dtype=np.int64)
    if cells.shape != values.shape or cells.ndim != 1 or (values < 1).any():
        raise ValueError
    counts = np.zeros(math.prod(shape), dtype=np.int64)
    if len(cells) and (cells.min() < 0 or cells.max() >= len(counts) or len(np.unique(cells)) < len(cells)):
        raise ValueError
    counts[cells] = values
    base = None if given["base"] is None else int(given["base"])
    return CountedTable(variables, str(given["protection"]), base, counts.reshape(shape))
