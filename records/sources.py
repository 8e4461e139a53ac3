"""Where records are and how they are written: the section `source` of a custodian's configuration, one model a kind.

Nothing is opened here. A model says what cannot be seen in the file itself, such as the columns of a file of fixed
width, or what is to hold although it could be found, such as the encoding that a service expects every time.
"""

from __future__ import annotations

import codecs
import itertools
import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gemel.common.configuration import Configuration, ConfiguredPath

DETECT = "detect"
"""In place of an encoding or a separator: it is found in the file."""
MAX_WIDTH = 1 << 16
"""Characters of a line of fixed width at most."""


def known_encoding(value: str) -> str:
    """The name of a text encoding, or `detect`; ValueError for any other text."""
    try:
        if value != DETECT and not codecs.lookup(value)._is_text_encoding:
            raise LookupError
    except LookupError:
        raise ValueError("expected the name of a text encoding, such as utf-8, latin-1 or cp1252") from None
    return value


def one_character(value: str) -> str:
    """A separator, or `detect`; ValueError for what cannot be one."""
    if value != DETECT and (len(value) != 1 or value in '\r\n"'):
        raise ValueError("expected one character, such as ',' or ';' (a tab is \"\\t\" in double quotes)")
    return value


Encoding = Annotated[str, AfterValidator(known_encoding)]
Separator = Annotated[str, AfterValidator(one_character)]
Values = Literal["codes", "labels"]
"""What a value with a label is read as."""


class CsvSource(Configuration):
    """A text file with a header line."""

    path: ConfiguredPath
    encoding: Encoding = "utf-8"
    separator: Separator = ","


class ParquetSource(Configuration):
    """A Parquet file."""

    path: ConfiguredPath


class ExcelSource(Configuration):
    """A sheet of a workbook, with a header row."""

    path: ConfiguredPath
    sheet: str | None = Field(default=None, max_length=100)
    """Its name; none: the workbook has one sheet only."""


class StatisticalSource(Configuration):
    """A file of Stata, SPSS or SAS, which of them by its ending."""

    path: ConfiguredPath
    values: Values = "codes"
    encoding: Encoding | None = None
    """Of its texts, where the file does not say or says wrongly."""

    @model_validator(mode="after")
    def _says_itself(self) -> Self:
        if self.encoding == DETECT:
            raise ValueError("leave out the encoding: such a file states its own")
        return self


class FixedColumn(Configuration):
    """One column of a file of fixed width."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    start: Annotated[int, Field(ge=1, le=MAX_WIDTH)]
    """Its first character in the line, counted from 1."""
    width: Annotated[int, Field(ge=1, le=MAX_WIDTH)]
    """How many characters it has."""

    @property
    def end(self) -> int:
        """Its last character, counted from 1."""
        return self.start + self.width - 1


class FixedWidthSource(Configuration):
    """A text file without a header, in whose lines a column is at the same characters throughout."""

    path: ConfiguredPath
    encoding: Encoding = "utf-8"
    columns: Annotated[tuple[FixedColumn, ...], Field(min_length=1, max_length=1000)]
    short_lines: bool = False
    """Whether a line may end before the last column does, as where blanks at its end were cut off."""

    @model_validator(mode="after")
    def _apart(self) -> Self:
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names):
            raise ValueError("each column needs a name of its own")
        ordered = sorted(self.columns, key=lambda column: column.start)
        for before, after in itertools.pairwise(ordered):
            if after.start <= before.end:
                raise ValueError(f"columns '{before.name}' and '{after.name}' share characters")
        return self


class FhirSource(Configuration):
    """FHIR resources Patient (R4, R5), one as JSON on each line (ndjson, as bulk export writes it)."""

    path: ConfiguredPath


class OmopSource(Configuration):
    """The tables person and location of the OMOP common data model, each a CSV or Parquet file."""

    person: ConfiguredPath
    location: ConfiguredPath | None = None
    encoding: Encoding = "utf-8"
    separator: Separator = ","


class DatabaseSource(Configuration):
    """The rows of a query."""

    url_file: ConfiguredPath | None = None
    """File of mode 0600 that holds the database's URL on one line."""
    url_variable: str | None = None
    """Environment variable that holds the database's URL."""
    url: str | None = None
    """The URL itself, if it holds no password."""
    query: Annotated[str, Field(min_length=1, max_length=100_000)]
    """What to read; nothing else is read, and nothing is written."""

    @model_validator(mode="after")
    def _one_url(self) -> Self:
        if sum(given is not None for given in (self.url, self.url_file, self.url_variable)) != 1:
            raise ValueError("give one of url_file, url_variable and url")
        if self.url is not None and re.search(r"//[^/@]*:[^/@]*@|[?&]password=", self.url):
            raise ValueError("a URL with a password belongs in a file of mode 0600: use url_file")
        return self


AnySource = (
    CsvSource
    | ParquetSource
    | ExcelSource
    | StatisticalSource
    | FixedWidthSource
    | FhirSource
    | OmopSource
    | DatabaseSource
)


class Source(Configuration):
    """Where records are: exactly one of the kinds."""

    csv: CsvSource | None = None
    parquet: ParquetSource | None = None
    excel: ExcelSource | None = None
    statistical: StatisticalSource | None = None
    fixed_width: FixedWidthSource | None = None
    fhir: FhirSource | None = None
    omop: OmopSource | None = None
    database: DatabaseSource | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self._given()) != 1:
            raise ValueError(f"give exactly one of {', '.join(type(self).model_fields)}")
        return self

    def _given(self) -> list[AnySource]:
        return [given for name in type(self).model_fields if (given := getattr(self, name)) is not None]

    @property
    def chosen(self) -> AnySource:
        return self._given()[0]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Its files; none of a database."""
        match chosen := self.chosen:
            case DatabaseSource():
                return ()
            case OmopSource():
                return (chosen.person,) if chosen.location is None else (chosen.person, chosen.location)
            case _:
                return (chosen.path,)
