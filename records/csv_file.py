"""A CSV file, read strictly: what is not plainly a table is refused with the line where it goes wrong.

Python's own reader is used because it reports the line and refuses a broken quotation; faster readers fill a short line
up with nulls, so that a lost separator silently shifts a person's values. It reads about 600,000 lines a second, and
only the selected columns are kept, in batches. As far as a file is shown to have no such errors it is read by
`PlainReader`.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl

from gemel.common.errors import ErrorCode, GemelError
from gemel.records.csv_form import MARKS, as_found, likely_separator
from gemel.records.sources import CsvSource
from gemel.records.table import NO_COLUMN_FOUND, SourceTable, line_tables, require_columns, trimmed, unreadable

# The quick way to read a CSV file that is plain, ten times as fast as the strict reader of `csv_file`.
#
# A file is plain as far as it is UTF-8 without a quotation mark, a zero byte, an empty line or a carriage return of
# its own, and every line has as many separators as the first. That part is read by splitting it at its separators,
# which polars does; without the count it would fill a short line up with nulls. From the first block of lines that is
# not plain the strict reader goes on, and reads it or reports its error.

_BLOCK_BYTES = 1 << 23
_MARK = b"\xef\xbb\xbf"
_NEVER = b'\r\n"\0'


class PlainReader:
    """Reads the selected columns of a file as far as it is plain."""

    def __init__(self, file: IO[bytes], separator: str, columns: Sequence[str] | None) -> None:
        self._file, self._columns = file, columns
        self._mark = separator.encode()
        self.lines = self._begin = 0
        self.names: list[str] = []
        distinct = columns is None or (len(columns) > 0 and len(set(columns)) == len(columns))
        if len(self._mark) == 1 and self._mark not in _NEVER and distinct:
            self.names = self._header(separator)
        if not self.names:
            file.seek(0)

    def frames(self) -> Iterator[pl.DataFrame]:
        """Tables of texts without blanks at their ends, for some lines each, without gaps."""
        if not self.names:
            return
        begin = self._begin
        for chunk, length in _chunks(self._file):
            frame = _read(chunk, self._mark, self.names, self.names if self._columns is None else self._columns)
            if frame is None:
                self._file.seek(begin)
                return
            begin += length
            self.lines += frame.height
            yield frame

    def _header(self, separator: str) -> list[str]:
        header = self._file.readline(_LONGEST_LINE)
        if not header.endswith(b"\n") or not _clean_ends(header):
            return []
        try:
            names = [name.strip() for name in header.removeprefix(_MARK).decode().split(separator)]
        except UnicodeDecodeError:
            return []
        self.lines, self._begin = 1, len(header)
        chosen = {name for name in names if name} if self._columns is None else set(self._columns)
        complete = self._columns is not None or all(names)
        return names if complete and len(set(names)) == len(names) and chosen <= set(names) else []


def _read(chunk: bytes, mark: bytes, names: list[str], columns: Sequence[str]) -> pl.DataFrame | None:
    """A chunk of whole lines as a table."""
    if not _clean_ends(chunk):
        return None
    octets = np.frombuffer(chunk, dtype=np.uint8)
    ends = np.flatnonzero(octets == ord("\n"))
    lengths = np.diff(ends, prepend=-1)
    separators = np.searchsorted(np.flatnonzero(octets == ord(mark)), ends)
    regular = (np.diff(separators, prepend=0) == len(names) - 1).all() and lengths.min() > 1
    if not regular or lengths.max() > _LONGEST_LINE:
        return None
    try:
        chunk.decode()
        frame = pl.read_csv(
            io.BytesIO(chunk.replace(b"\r\n", b"\n")),
            has_header=False,
            new_columns=names,
            columns=[names.index(name) for name in columns],
            separator=mark.decode(),
            quote_char=None,
            infer_schema=False,
        )
    except (UnicodeDecodeError, pl.exceptions.PolarsError):
        return None
    if frame.height != len(ends):
        return None
    return frame.select(trimmed(frame[name]).alias(name) for name in columns)


def _clean_ends(chunk: bytes) -> bool:
    r"""No quotation mark, no zero byte, no ``\r`` but before ``\n``, no empty line."""
    if b'"' in chunk or b"\0" in chunk or b"\n\r" in chunk or chunk.startswith((b"\n", b"\r")):
        return False
    return b"\r" not in chunk or chunk.count(b"\r") == chunk.count(b"\r\n")


def _chunks(file: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    """The rest of a file in chunks of whole lines, with their lengths; the last gets the line end that it may lack."""
    rest = b""
    while block := file.read(_BLOCK_BYTES):
        end = block.rfind(b"\n") + 1
        if end == 0:
            rest += block
            continue
        yield rest + block[:end], len(rest) + end
        rest = block[end:]
    if rest:
        yield rest + b"\n", len(rest)


_ROWS_AT_ONCE = 50_000
_LONGEST_LINE = 1 << 20
_BLOCK = 1 << 20


def csv_batches(source: CsvSource, columns: Sequence[str] | None) -> Iterator[SourceTable]:
    """Read the selected columns of a CSV file, or all that have a name, as text, some lines at a time.

    Names of columns and cells lose blanks at their ends; wholly empty lines are skipped; columns without a name cannot
    be selected and are ignored. Raises `GemelError`, with the line and never with a value: SOURCE for a file that
    cannot be read or is no table, TEXT_ENCODING for bytes that are not in the declared encoding, EMPTY_SOURCE for a
    file without a header line, FIELD_MISSING for a missing column.
    """
    source = as_found(source)
    path = source.path
    encoding = "utf-8-sig" if codecs.lookup(source.encoding).name == "utf-8" else source.encoding
    try:
        refuse_other_mark(path, source.encoding)
        with path.open("rb") as file:
            header, lines = None, 0
            if encoding == "utf-8-sig":
                plain = PlainReader(file, source.separator, columns)
                for frame in plain.frames():
                    first = plain.lines - frame.height + 1
                    lines_here = np.arange(first, plain.lines + 1, dtype=np.int64)
                    yield SourceTable(frame, lines_here, "line", str(path))
                if plain.names:
                    header, lines, encoding = plain.names, plain.lines, "utf-8"
            with io.TextIOWrapper(file, encoding=encoding, errors="strict", newline="") as text:
                yield from _strictly(text, source, columns, header, lines)
    except UnicodeError:
        raise undecodable(path, source.encoding) from None
    except OSError as error:
        raise unreadable(path, error, "check the path in the configuration and the file's permissions") from None


def _strictly(
    file: IO[str], source: CsvSource, selected: Sequence[str] | None, header: Sequence[str] | None, before: int
) -> Iterator[SourceTable]:
    """The rest of a file and the line of each row, after so many lines; `header` if its first line is among these."""
    path = source.path
    reader = csv.reader(lines_of(file, path, before), delimiter=source.separator, strict=True)
    try:
        if header is None:
            header = [name.lstrip("\ufeff").strip() for name in next(reader, [])]
        if not any(header):
            what = "the first line must hold the names of the columns"
            got = "an empty file" if reader.line_num == 0 else "an empty line"
            remedy = "check that the right file is configured"
            raise GemelError(ErrorCode.EMPTY_SOURCE, what, where=str(path), got=got, remedy=remedy)
        named = [name for name in header if name]
        columns = require_columns(named, selected, str(path), _separator_hint(header, source.separator))
        places = [header.index(name) for name in columns]
        rows = _rows(reader, path, before, len(header), source.separator)
        chosen = ((line, [row[place] for place in places]) for line, row in rows)
        yield from line_tables(chosen, columns, str(path), _ROWS_AT_ONCE)
    except csv.Error as error:
        what = f"not a table: {error}"
        remedy = "check the quotation marks: a cell that begins with one ends with one, and one inside it is doubled"
        where = f"{path}, up to line {before + reader.line_num}"
        raise GemelError(ErrorCode.SOURCE, what, where=where, remedy=remedy) from None


def _rows(reader: Any, path: Path, before: int, width: int, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Each row, wholly empty ones left out, and the line in which it begins."""
    last_line = before + reader.line_num
    for row in reader:
        if row and len(row) != width:
            raise _ragged(path, last_line + 1, width, len(row), separator)
        if row:
            yield last_line + 1, row
        last_line = before + reader.line_num


def _separator_hint(header: Sequence[str], declared: str) -> str:
    """What to try where none of the columns was found; the first line may hold a record, so none of it is shown."""
    likely = likely_separator(declared.join(header))
    if likely in (None, declared):
        return NO_COLUMN_FOUND
    return f"the first line seems to be separated by {likely!r} and not by {declared!r}: declare its separator"


def lines_of(file: IO[str], path: Path, number: int) -> Iterator[str]:
    """The file's lines after so many; refuses a line that is too long or has a zero character."""
    while line := file.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE:
            what = "a line is longer than a million characters"
            remedy = "check that this is a text file with one record on a line"
            raise GemelError(ErrorCode.SOURCE, what, where=f"{path}, line {number}", remedy=remedy)
        if "\0" in line:
            what = "a text file must not contain a zero character"
            remedy = "if the file is in UTF-16, declare `encoding: utf-16` in the configuration"
            raise GemelError(ErrorCode.TEXT_ENCODING, what, where=f"{path}, line {number}", remedy=remedy)
        yield line


def _ragged(path: Path, line: int, width: int, found: int, separator: str) -> GemelError:
    hint = "" if found != 1 else f", and that the separator is {separator!r}"
    what = f"every line must have {width} cells as the first has"
    remedy = f"check that line: a separator or a quotation mark too many or too few{hint}"
    return GemelError(ErrorCode.SOURCE, what, where=f"{path}, line {line}", got=str(found), remedy=remedy)


def refuse_other_mark(path: Path, encoding: str) -> None:
    with path.open("rb") as file:
        head = file.read(4)
    declared = codecs.lookup(encoding).name
    for mark, found in MARKS:
        if head.startswith(mark):
            if not declared.startswith(found):
                what = f"the file is declared as {encoding} but begins with the byte order mark of {found}"
                remedy = f"declare `encoding: {found}` in the configuration"
                raise GemelError(ErrorCode.TEXT_ENCODING, what, where=f"{path}, byte 0", remedy=remedy)
            return


def undecodable(path: Path, encoding: str) -> GemelError:
    """Find the first byte that is not in the encoding, by reading again: a buffered reader does not report it."""
    decoder = codecs.getincrementaldecoder(encoding)()
    done = line = 0
    with path.open("rb") as file:
        while True:
            block = file.read(_BLOCK)
            # Bytes held back from the block before are at the front of what the error's position counts.
            held = len(decoder.getstate()[0])
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                at = done - held + error.start
                line += error.object[: error.start].decode(encoding, errors="ignore").count("\n")
                break
            except UnicodeError:
                at = done
                break
            line += text.count("\n")
            done += len(block)
            if not block:
                at = done
                break
    what = f"the file is not in {encoding}"
    remedy = (
        "mend that line, or declare the file's encoding in the configuration, such as `encoding: cp1252` (in a"
        " trial --encoding), or save it as UTF-8"
    )
    return GemelError(ErrorCode.TEXT_ENCODING, what, where=f"{path}, line {line + 1}, byte {at}", remedy=remedy)
