"""A table as a notebook has it, as a polars table: polars, pandas or Arrow."""

from __future__ import annotations

from typing import Any, TypeAlias

import polars as pl

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.missing_module import missing_module

Records: TypeAlias = Any
"""A polars, pandas or Arrow table (anything with ``__arrow_c_stream__``), or the path of a file of records."""


def frame_of(records: Records, where: str) -> pl.DataFrame:
    """The same table of polars (also lazy), pandas or pyarrow in polars; errors call it `where`. Raises SOURCE for
    something else, or a column of values of several types; MODULE_MISSING where pandas needs pyarrow."""
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
        what = "a column holds values of several types"
        remedy = "make every column one type, such as text: frame.astype('string')"
        raise GemelError(ErrorCode.SOURCE, what, where=where, got=type(records).__name__, remedy=remedy) from None
    what = "records are a polars, pandas or Arrow table, or the path of a file"
    raise GemelError(ErrorCode.SOURCE, what, where=where, got=type(records).__name__)
