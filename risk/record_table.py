"""Records as a command or a caller of the library gives them: a file, or a table in memory; read by columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from gemel.common.errors import ErrorCode, GemelError
from gemel.records.csv_form import CsvOptions
from gemel.records.frames import Records, frame_of
from gemel.records.registry import FOUND
from gemel.records.sources import Values
from gemel.records.typed_table import Labelled, labelled, read_records


@dataclass(frozen=True)
class FileOfRecords:
    path: Path
    values: Values = "codes"
    csv: CsvOptions = FOUND

    def columns(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        """Some columns, or all, as `read_records`."""
        return read_records(self.path, names, self.values, self.csv)

    def codes(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        """The same, with the codes of values that have labels."""
        return read_records(self.path, names, "codes", self.csv)

    def labelled(self, names: Sequence[str]) -> Labelled | None:
        """Which of these columns have values with labels, and what they are read as."""
        return labelled(self.path, names, self.values)

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class TableOfRecords:
    """A table in memory, by the name that errors give it."""

    frame: pl.DataFrame = field(repr=False)
    name: str

    def columns(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        """Some columns, or all; FIELD_MISSING for one that is not there."""
        if names is None:
            return self.frame
        if absent := [name for name in names if name not in self.frame.columns]:
            what = f"there is no column {', '.join(absent)}"
            remedy = f"its columns are: {', '.join(self.frame.columns)}"
            raise GemelError(ErrorCode.FIELD_MISSING, what, where=self.name, remedy=remedy)
        return self.frame.select(list(dict.fromkeys(names)))

    codes = columns

    def labelled(self, names: Sequence[str]) -> None:
        """A table in memory has no labels of values."""

    def __str__(self) -> str:
        return self.name


RecordTable = FileOfRecords | TableOfRecords
"""Records that are read by columns; as text they are what errors call them."""


def record_table(records: Records, name: str) -> RecordTable:
    """A `RecordTable`, the path of a file, or a polars, pandas or Arrow table, which errors call by `name`."""
    if isinstance(records, FileOfRecords | TableOfRecords):
        return records
    if isinstance(records, str | Path):
        return FileOfRecords(Path(records))
    return TableOfRecords(frame_of(records, name), name)
