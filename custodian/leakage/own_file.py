"""What a custodian knows of its own file when it attacks it: the values, how common they are, and who has them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.signatures import SignatureSet
from gemel.common.specification import FieldSpec, Specification
from gemel.custodian.cleaning.similar_values import similar_values
from gemel.custodian.drawn_records import DrawnRecords
from gemel.custodian.leakage.public import PublicValues
from gemel.custodian.leakage.recovery import UNKNOWN, Recovery
from gemel.custodian.leakage_report import Finding
from gemel.custodian.tokens import tokenise

DICTIONARY = 6000
"""Public values of a field, the commonest ones."""

PER_CLASS = 200
"""Rows drawn of every size of block and rule."""

_PUBLIC_KEY = bytes(32)


def _counted(column: pl.Series) -> pl.DataFrame:
    """How many rows have each value, by value: polars counts in no order of its own."""
    return column.alias("value").drop_nulls().value_counts().sort("value")


def public_values(column: pl.Series, field: FieldSpec, rng: np.random.Generator) -> PublicValues | None:
    """The dictionary of a field: the file's own values, with counts redrawn; None if no row has a value."""
    return counted_values(_counted(column), field, rng)


def dictionaries(
    columns: Mapping[str, pl.Series], spec: Specification, drawn: DrawnRecords | None, rng: np.random.Generator
) -> dict[str, PublicValues | None]:
    """The dictionary of each field (`public_values`), of a file that is there or of one of which records are drawn."""
    return {
        field.name: public_values(columns[field.name], field, rng)
        if drawn is None
        else counted_values(drawn.counts[field.name], field, rng)
        for field in spec.fields
    }


def counted_values(counted: pl.DataFrame, field: FieldSpec, rng: np.random.Generator) -> PublicValues | None:
    """As `public_values`, of values, by value, and their counts."""
    values, counts = counted.get_column(counted.columns[0]).to_list(), counted.get_column("count").to_numpy()
    redrawn = rng.poisson(counts) + 0.5
    kept = np.argsort(-redrawn, kind="stable")[:DICTIONARY]
    values = [values[place] for place in kept]
    some = tokenise(values, field.tokens, _PUBLIC_KEY).counts > 0 if values else np.empty(0, dtype=bool)
    if not some.any():
        return None
    values = [value for value, has in zip(values, some, strict=True) if has]
    return PublicValues(values, redrawn[kept][some], field.tokens, similar_values(field))


def clear_values(column: pl.Series, field: FieldSpec) -> tuple[PublicValues, NDArray[np.int64]] | None:
    """The values of a field that some records have, and each record's among them (-1: missing); None without any."""
    counted = _counted(column)
    values = counted.get_column(counted.columns[0]).to_list()
    if not values:
        return None
    some = tokenise(values, field.tokens, _PUBLIC_KEY).counts > 0
    values = [value for value, has in zip(values, some, strict=True) if has]
    if not values:
        return None
    public = PublicValues(values, np.ones(len(values)), field.tokens, similar_values(field))
    place = dict(zip(public.values, range(len(public)), strict=True))
    return public, np.array([UNKNOWN if v is None else place.get(v, UNKNOWN) for v in column.to_list()], dtype=np.int64)


def truth_of(
    part: SignatureSet, field: str, column: pl.Series, rows: NDArray[np.int64], public: PublicValues
) -> NDArray[np.int64]:
    """Public value that each signature of a set truly is, for the custodian who knows its rows.

    Parameters
    ----------
    column
        The field's values in the file.
    rows
        Row of the file of each row of the set.
    """
    codes = part.fields[field].codes
    place = dict(zip(public.values, range(len(public)), strict=True))
    held = np.array([UNKNOWN if v is None else place.get(v, UNKNOWN) for v in column.to_list()], dtype=np.int64)
    truth = np.full(part.fields[field].n_distinct, UNKNOWN, dtype=np.int64)
    here = codes >= 0
    truth[codes[here]] = held[rows[here]]
    return truth


def finding(found: Recovery, rule: str = "") -> Finding:
    """A recovery as the gate reports it; of a blocking rule, or of the whole file."""
    return Finding(
        found.field, rule, found.attack, found.records, found.chance, found.attainable_records, error=found.error
    )
