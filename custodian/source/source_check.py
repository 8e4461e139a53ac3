"""A custodian's source, read on trial: found wrong before a project needs it, and nothing of it kept or shown."""

from __future__ import annotations

import codecs
import math
from pathlib import Path

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.cleaning.profile import Profile
from gemel.custodian.source.cleaned_file import compared_columns
from gemel.records.csv_form import CsvOptions, csv_source, read_as
from gemel.records.registry import check_driver, kind_of, source_batches
from gemel.records.sources import DETECT, CsvSource, Source

_UNMISTAKABLE = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32")
"""Encodings that a file shows by itself; one of one byte a letter is only known not to be these."""
_UNREADABLE = 0.5
"""Share of the stated values of a date or number that cannot be read from which the field is refused."""


def check_source(source: Source) -> str:
    """Read a source once, of a database the first rows, as its configuration declares it; what was found, in words.

    Raises as `source_batches`; TEXT_ENCODING or SOURCE where the declared form of a CSV file is not the file's.
    """
    check_driver(source)
    if source.csv is not None:
        _check_form(source.csv)
    records, width = 0, 0
    for table in source_batches(source, None):
        records, width = records + table.n_rows, table.frame.width
        if source.database is not None:
            return f"the query gives {width} columns"
    form = f", {read_as(source)}" if source.csv is not None else f", read as {kind_of(source).name}"
    return f"{records:,} records, {width} columns{form}"


Size = tuple[int, int, dict[str, int], int]
"""Records, bytes of text, different values by field (an upper bound), variables held."""


def check_records(source: Source, spec: Specification, side: Side) -> tuple[Size, str]:
    """Compare a source with a specification: its columns in all records, its cleaning on the first ones.

    Returns what the memory for signing follows from, and what was found, in words. Raises as `source_batches`,
    FIELD_MISSING with every column that is not there; SOURCE if hardly a date or number of a field can be read.
    """
    columns = [spec.custodians.of(side).identifier, *compared_columns(spec, side)]
    records = 0
    profile: Profile | None = None
    text = 0
    for table in source_batches(source, columns):
        records += table.n_rows
        if profile is None:
            cleaned = clean(table.frame, spec, side, table.places)
            profile = cleaned.profile
            text = sum(int(column.estimated_size()) for column in cleaned.columns.values())
    assert profile is not None  # noqa: S101 - a source without records is refused
    first = profile.rows
    for field in profile.fields:
        stated = first - field.blank - field.coded
        if stated and field.unreadable > _UNREADABLE * stated:
            what = f"field {field.field} cannot be read as a {field.kind} in most records"
            got = f"{field.unreadable:,} of {stated:,} unreadable"
            remedy = "compare the file with the specification: its order of dates, or another column"
            raise GemelError(ErrorCode.SOURCE, what, where=f"column {field.column!r}", got=got, remedy=remedy)
    factor = records / first
    distinct = {field.field: math.ceil(field.distinct * factor) for field in profile.fields}
    size = (records, math.ceil(text * factor), distinct, len(spec.variables_of(side)))
    missing = [f"{field.field} {field.missing / first:.0%}" for field in profile.fields if field.missing > first // 2]
    more = f"; missing in more than half of the first {first:,}: {', '.join(missing)}" if missing else ""
    return size, f"{records:,} records fit {spec.project}{more}"


def _check_form(declared: CsvSource) -> None:
    """Refuse a declared encoding or separator that is plainly not the file's."""
    found = csv_source(declared.path, CsvOptions())
    if declared.encoding != DETECT and _is_mistaken(declared.encoding, found.encoding, declared.path):
        what, where = f"the file is declared as {declared.encoding}, and is not written so", str(declared.path)
        remedy = f"write `encoding: {found.encoding}` below `csv` in the configuration, or save the file as declared"
        raise GemelError(ErrorCode.TEXT_ENCODING, what, where=where, got=found.encoding, remedy=remedy)
    if declared.separator != DETECT:
        given = CsvOptions(found.encoding, declared.separator)
        try:
            csv_source(declared.path, given)
        except GemelError as error:
            remedy = f"write `separator: {found.separator!r}` below `csv` in the configuration"
            raise GemelError(error.code, error.what, where=error.where, got=error.got, remedy=remedy) from None


def _is_mistaken(declared: str, found: str, path: Path) -> bool:
    """Whether the declared encoding reads other letters than are there, or none."""
    name = codecs.lookup(declared).name.replace("_", "-").removesuffix("-sig")
    if found == "utf-8":
        # A file of ASCII alone is the same in most encodings.
        return name != "utf-8" and not _reads_alike(path, declared)
    if found in _UNMISTAKABLE:
        return not name.startswith(found[:6])
    return name in _UNMISTAKABLE


def _reads_alike(path: Path, declared: str) -> bool:
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            if not block.isascii() or block.decode(declared, errors="replace") != block.decode("ascii"):
                return False
    return True
