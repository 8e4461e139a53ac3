"""The quick way to read a CSV file that is plain, ten times as fast as the strict reader of `csv_file`.

A file is plain if it is UTF-8 without a quotation mark, a zero byte, an empty line or a carriage return of
its own, and every line has as many separators as the first. Such a file is read by splitting it at its separators,
which polars does; without the count it would fill a short line up with nulls. For any other file this module returns
None, and the strict reader reads it or reports its error.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl

from tryst.common.custodian.source.table import trimmed

_BLOCK = 1 << 25
_LONGEST_LINE = 1 << 20
_MARK = b"\xef\xbb\xbf"
_NEVER = b'\r\n"\0'


def read_plain(path: Path, separator: str, columns: Sequence[str]) -> pl.DataFrame | None:
    """Read the selected columns of a plain file as text, blanks at the ends dropped; None if it is not plain.

    Parameters
    ----------
    path
        The file.
    separator
        The character between two cells.
    columns
        Names of the selected columns.

    Returns
    -------
    polars.DataFrame or None
        The columns in the order of `columns`; row i is line i + 2 of the file.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    mark = separator.encode()
    if len(mark) != 1 or mark in _NEVER or len(set(columns)) < len(columns) or not columns:
        return None
    with path.open("rb") as file:
        header = file.readline(_LONGEST_LINE)
        if not header.endswith(b"\n") or not _clean_ends(header):
            return None
        try:
            names = [name.strip() for name in header.removeprefix(_MARK).decode().split(separator)]
        except UnicodeDecodeError:
            return None
        if len(set(names)) < len(names) or not set(columns) <= set(names):
            return None
        frames = []
        for chunk in _chunks(file):
            frame = _read(chunk, mark, names, columns)
            if frame is None:
                return None
            frames.append(frame)
    return pl.concat(frames) if frames else None


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


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    """The rest of a file in chunks of whole lines; the last gets the line end that it may lack."""
    rest = b""
    while block := file.read(_BLOCK):
        end = block.rfind(b"\n") + 1
        if end == 0:
            rest += block
            continue
        yield rest + block[:end]
        rest = block[end:]
    if rest:
        yield rest + b"\n"
