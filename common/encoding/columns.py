"""What may be encoded: cleaned columns, all of one length, and the variables of one custodian."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from tryst.common.encoding.layout import MAX_ROWS
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Side
from tryst.common.specification import Specification


def check_columns(columns: Mapping[str, pl.Series], specification: Specification) -> int:
    """Number of rows, if every field has a column of texts of that length."""
    lengths = set()
    for field in specification.fields:
        where = f"field {field.name}"
        if field.name not in columns:
            remedy = "name its column in the specification, or take the field out"
            raise TrystError(ErrorCode.FIELD_MISSING, "the field has no column", where=where, remedy=remedy)
        column = columns[field.name]
        if column.dtype != pl.String:
            raise TrystError(ErrorCode.PARAMETER, "cleaned values are texts", where=where, got=str(column.dtype))
        lengths.add(len(column))
    if len(lengths) != 1:
        raise TrystError(
            ErrorCode.PARAMETER, "all columns have the same length", where="records", got=str(sorted(lengths))
        )
    (n_rows,) = lengths
    if n_rows == 0:
        remedy = "check the file, and any condition by which rows are chosen"
        raise TrystError(ErrorCode.EMPTY_SOURCE, "there are no rows to sign", where="records", remedy=remedy)
    if n_rows > MAX_ROWS:
        raise TrystError(ErrorCode.PARAMETER, f"a file has at most {MAX_ROWS} rows", where="records", got=str(n_rows))
    return n_rows


def check_variables(variables: Mapping[str, pl.Series], specification: Specification, n_rows: int) -> None:
    """Raise `TrystError` (PARAMETER) unless these are one custodian's variables, with a place or null for every row."""
    held = [{v.name for v in specification.variables_of(side)} for side in Side]
    if set(variables) not in held:
        raise TrystError(
            ErrorCode.PARAMETER, "the variables must be those that one custodian holds", where="variables",
            got=f"{len(variables)} variables", remedy="clean the file under the same specification",
        )  # fmt: skip
    for name, places in variables.items():
        if places.dtype != pl.Int32 or len(places) != n_rows:
            got = f"{places.dtype} of {len(places)}"
            raise TrystError(ErrorCode.PARAMETER, "one Int32 per row expected", where=f"variable {name}", got=got)
