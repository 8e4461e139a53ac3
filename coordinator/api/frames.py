"""Records as a notebook has them: polars, pandas or Arrow tables, or paths, as the text that a custodian's file has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from gemel.common.records.frames import Records, frame_of
from gemel.common.records.registry import file_source, read_source
from gemel.common.records.table import SourceTable, as_text, no_records, require_columns


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
    GemelError
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
    frame = frame_of(records, where)
    selected = list(dict.fromkeys(frame.columns if columns is None else columns))
    require_columns(frame.columns, selected, where, "name the columns of the table in the specification")
    if not frame.height:
        raise no_records(where)
    text = pl.DataFrame([as_text(frame[name], where).alias(name) for name in selected])
    return SourceTable(text, np.arange(1, frame.height + 1, dtype=np.int64), "row", where)
