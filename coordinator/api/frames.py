"""Records as a notebook has them: polars, pandas or Arrow tables, or paths, as the text that a custodian's file has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from tryst.common.custodian.source.reading import file_source, read_source
from tryst.common.custodian.source.table import SourceTable, as_text, no_records, require_columns
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.missing_module import missing_module

Records: TypeAlias = Any
"""A polars, pandas or Arrow table (anything with ``__arrow_c_stream__``), or the path of a CSV or Parquet file."""


def table_of(records: Records, columns: Sequence[str] | None, where: str) -> SourceTable:
    """The selected columns, each once, or all, as text: the same of a table as of a Parquet file with its content.

    Parameters
    ----------
    records : polars.DataFrame, polars.LazyFrame, pandas.DataFrame, pyarrow.Table, str or Path
        A path is read as the commands read it.
    columns
        None: all.
    where
        What errors call the records.

    Raises
    ------
    TrystError
        SOURCE for something else, or a column without a text form; FIELD_MISSING for a missing column; EMPTY_SOURCE
        without records; MODULE_MISSING where pandas needs pyarrow; for a path as `read_source`.

    Examples
    --------
    >>> import polars as pl
    >>> table_of(pl.DataFrame({"id": [1, 2], "born": [1980.0, None]}), None, "alice").frame.rows()
    [('1', '1980'), ('2', None)]
    """
    if isinstance(records, str | Path):
        return read_source(file_source(Path(records)), columns)
    frame = _frame(records, where)
    selected = list(dict.fromkeys(frame.columns if columns is None else columns))
    require_columns(frame.columns, selected, where, "name the columns of the table in the specification")
    if not frame.height:
        raise no_records(where)
    text = pl.DataFrame([as_text(frame[name], where).alias(name) for name in selected])
    return SourceTable(text, np.arange(1, frame.height + 1, dtype=np.int64), "row", where)


def _frame(records: Records, where: str) -> pl.DataFrame:
    if isinstance(records, pl.DataFrame):
        return records
    if isinstance(records, pl.LazyFrame):
        return records.collect()
    try:
        if type(records).__module__.partition(".")[0] == "pandas":
            return pl.from_pandas(records)
        if hasattr(records, "__arrow_c_stream__"):
            return pl.DataFrame(records)
    except ModuleNotFoundError as error:
        raise missing_module(error) from None
    except Exception:  # noqa: BLE001 - whatever the converter raises may quote a value
        raise TrystError(
            ErrorCode.SOURCE,
            "a column holds values of several types",
            where=where,
            got=type(records).__name__,
            remedy="make every column one type, such as text: frame.astype('string')",
        ) from None
    raise TrystError(
        ErrorCode.SOURCE,
        "records are a polars, pandas or Arrow table, or the path of a CSV or Parquet file",
        where=where,
        got=type(records).__name__,
    )
