"""The quick way to read a CSV file that is plain, ten times as fast as the strict reader of `csv_file`.

A file is plain as far as it is UTF-8 without a quotation mark, a zero byte, an empty line or a carriage return of its
own, and every line has as many separators as the first. That part is read by splitting it at its separators, which
polars does; without the count it would fill a short line up with nulls. From the first block of lines that is not plain
the strict reader goes on, and reads it or reports its error.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import IO

import numpy as np
import polars as pl

from gemel.common.records.table import trimmed

_BLOCK = 1 << 23
_LONGEST_LINE = 1 << 20
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
    while block := file.read(_BLOCK):
        end = block.rfind(b"\n") + 1
        if end == 0:
            rest += block
            continue
        yield rest + block[:end], len(rest) + end
        rest = block[end:]
    if rest:
        yield rest + b"\n", len(rest)
