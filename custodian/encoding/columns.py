"""Cleaned columns before they are signed: their checks, their distinct values, and the order of the rows.

A set's rows are sorted by the signatures and digests that are sent with them: an order that whoever has the rows could
make by itself. Equal rows stay in an order drawn from the custodian's own key. So the same records under the same keys
are always sent alike, in whatever order the file has them, and what is computed from them is the same to the last bit.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.arrays import I32, I64, U64, Columns, Flags, Ints
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.bulk import numbers
from gemel.common.keys.derivation import KEY_BYTES
from gemel.common.keys.noise import NoiseKey
from gemel.common.keys.suite import Suite
from gemel.common.parties import Side
from gemel.common.signatures.layout import MAX_ROWS
from gemel.common.signatures.signature_sets import MISSING, SignatureSet
from gemel.common.specification import Specification


def check_columns(columns: Columns, specification: Specification) -> int:
    """Number of rows, if every field has a column of texts of that length."""
    lengths = set()
    for field in specification.fields:
        where = f"field {field.name}"
        if field.name not in columns:
            remedy = "name its column in the specification, or take the field out"
            raise GemelError(ErrorCode.FIELD_MISSING, "the field has no column", where=where, remedy=remedy)
        column = columns[field.name]
        if column.dtype != pl.String:
            raise parameter(where, "cleaned values must be texts", str(column.dtype))
        lengths.add(len(column))
    if len(lengths) != 1:
        raise parameter("records", "all columns must have the same length", str(sorted(lengths)))
    (n_rows,) = lengths
    if n_rows == 0:
        remedy = "check the file, and any condition by which rows are chosen"
        raise GemelError(ErrorCode.EMPTY_SOURCE, "there are no rows to sign", where="records", remedy=remedy)
    if n_rows > MAX_ROWS:
        raise parameter("records", f"a file has at most {MAX_ROWS} rows", str(n_rows))
    return n_rows


def check_variables(variables: Columns, specification: Specification, n_rows: int) -> None:
    """Raise `GemelError` (PARAMETER) unless these are one custodian's variables, with a place or null for every row."""
    held = [{v.name for v in specification.variables_of(side)} for side in Side]
    if set(variables) not in held:
        what = "the variables must be those that one custodian holds"
        raise parameter("variables", what, f"{len(variables)} variables", "clean the file under the same specification")
    for name, places in variables.items():
        if places.dtype != pl.Int32 or len(places) != n_rows:
            got = f"{places.dtype} of {len(places)}"
            raise parameter(f"variable {name}", "one Int32 per row expected", got)


def distinct_values(column: pl.Series) -> tuple[list[str], I32]:
    """Distinct values of a column in no particular order, and each row's place among them.

    The places are int32, shape (n_rows,), ``MISSING`` (-1) for null. O(n_rows); a third of a second for a million rows
    that are nearly all distinct.
    """
    values = column.drop_nulls().unique()
    if values.is_empty():
        return [], np.full(len(column), MISSING, dtype=np.int32)
    places = column.cast(pl.Enum(values)).to_physical().cast(pl.Int32).fill_null(MISSING)
    return values.to_list(), places.to_numpy()


def random_order(n: int) -> I64:
    """Draw an order of n rows from the operating system's random source, all n! equally likely.

    Each row gets 64 random bits and the rows are sorted by them. As long as no two are equal every order
    has the same chance; if two are (once in 30 million times for a million rows), all are drawn again.
    """
    while True:
        draws = np.frombuffer(os.urandom(8 * n), dtype=np.uint64)
        order = np.argsort(draws).astype(np.int64, copy=False)
        drawn = draws[order]
        if (drawn[1:] != drawn[:-1]).all():
            return order


def file_order(n: int) -> I64:
    """Leave the rows as they are; for fixed public test records only."""
    return np.arange(n, dtype=np.int64)


class Drawing:
    """Pseudo-random numbers of a custodian's own for one project; without its key (None) they cannot be drawn again."""

    def __init__(self, project: str, noise: NoiseKey | None, suite: Suite = Suite.DEFAULT) -> None:
        self._project, self._noise, self.suite = project, noise, suite

    def key(self, purpose: str) -> bytes:
        """A key for one purpose, 32 bytes."""
        if self._noise is None:
            return secrets.token_bytes(KEY_BYTES)
        return self._noise.derive(self._project, purpose, self.suite).k1

    def draw(self, purpose: str, first: Ints, second: Ints | None = None) -> U64:
        """A number of each pair of numbers, the same for equal pairs: uint64, shape (n,)."""
        return numbers(self.key(purpose), first, second, self.suite)


def in_content_order(part: SignatureSet, rows: I64, last: Flags, drawing: Drawing) -> tuple[SignatureSet, I64]:
    """Sort the rows of a set by what is sent of them, and with them the row of the file that each is; shape (n_rows,).

    Rows that are `last`, bool of shape (n_rows,), come after all others. O(n_rows log n_rows) for each field and rule:
    about a second for a million rows of ten.
    """
    sent: list[NDArray[np.generic]] = [*part.blocks.values(), *(field.codes for field in part.fields.values())]
    sent += [variable.codes for variable in part.variables.values()]
    equal = drawing.draw(f"order of equal rows of {part.rule}", rows)
    order = np.lexsort([equal, *sent[::-1], last])
    return reordered(part, order), rows[order]


def reordered(part: SignatureSet, order: I64) -> SignatureSet:
    """A set with its rows in another order."""
    fields = {name: replace(field, codes=field.codes[order]) for name, field in part.fields.items()}
    blocks = {name: keys[order] for name, keys in part.blocks.items()}
    variables = {name: replace(coded, codes=coded.codes[order]) for name, coded in part.variables.items()}
    return replace(part, fields=fields, blocks=blocks, variables=variables)
