"""A custodian's source, read on trial: found wrong before a project needs it, and nothing of it kept or shown."""

from __future__ import annotations

import codecs
from pathlib import Path

from tryst.common.custodian.source.reading import compared_columns
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Side
from tryst.common.records.csv_form import CsvOptions, csv_source, read_as
from tryst.common.records.registry import check_driver, kind_of, source_batches
from tryst.common.records.sources import DETECT, CsvSource, Source
from tryst.common.specification import Specification

_UNMISTAKABLE = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32")
"""Encodings that a file shows by itself; one of one byte a letter is only known not to be these."""


def check_source(source: Source, spec: Specification | None = None, side: Side | None = None) -> str:
    """Read a source once, as its configuration declares it; what was found, in words.

    Parameters
    ----------
    spec, side
        Whose columns are read; without them all columns are, and of a database the first rows.

    Raises
    ------
    TrystError
        As `source_batches`; TEXT_ENCODING or SOURCE where the declared form of a CSV file is not the file's.
    """
    check_driver(source)
    if source.csv is not None:
        _check_form(source.csv)
    columns = None
    if spec is not None and side is not None:
        columns = [spec.custodians.of(side).identifier, *compared_columns(spec, side)]
    records, width = 0, 0
    for table in source_batches(source, columns):
        records, width = records + table.n_rows, table.frame.width
        if columns is None and source.database is not None:
            return f"the query gives {width} columns"
    form = f", {read_as(source)}" if source.csv is not None else f", read as {kind_of(source).name}"
    return f"{records:,} records, {width} columns{form}"


def _check_form(declared: CsvSource) -> None:
    """Refuse a declared encoding or separator that is plainly not the file's."""
    found = csv_source(declared.path, CsvOptions())
    if declared.encoding != DETECT and _is_mistaken(declared.encoding, found.encoding, declared.path):
        raise TrystError(
            ErrorCode.TEXT_ENCODING,
            f"the file is declared as {declared.encoding}, and is not written so",
            where=str(declared.path),
            got=found.encoding,
            remedy=f"write `encoding: {found.encoding}` below `csv` in the configuration, or save the file as declared",
        )
    if declared.separator != DETECT:
        given = CsvOptions(found.encoding, declared.separator)
        try:
            csv_source(declared.path, given)
        except TrystError as error:
            remedy = f"write `separator: {found.separator!r}` below `csv` in the configuration"
            raise TrystError(error.code, error.what, where=error.where, got=error.got, remedy=remedy) from None


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
