"""Rows that a step of the custodian's work keeps outside memory, encrypted, and only for as long as it works.

Each table has a random key that is in memory alone: no one can read what a killed process leaves behind.
"""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

import polars as pl

from gemel.common.errors import ErrorCode, code_of, file_error
from gemel.common.keys.vault import DataKey


@contextmanager
def on_disk(what: str, path: Path, folder: str) -> Iterator[None]:
    """Say what cannot be done where the disk refuses it: STORAGE_FULL, or CONFIGURATION for another reason."""
    try:
        yield
    except OSError as error:
        remedy = f"check the {folder} folder's permissions and the space left on its disk"
        raise file_error(code_of(error, ErrorCode.CONFIGURATION), what, path, error, remedy, inline=True) from None


class _Stored(NamedTuple):
    """A batch in the file: where it begins, the number of its first chunk, and the length of each chunk."""

    begin: int
    first: int
    lengths: tuple[int, ...]


class EncryptedTable:
    """A working table (`custodian.encoding.file_records`) in an encrypted file."""

    def __init__(self, path: Path, *, by_column: bool) -> None:
        self.n_rows = 0
        self._path, self._by_column = path, by_column
        self._key = DataKey.unkept(f"working table {path.name}")
        self._columns: list[str] = []
        self._parts: dict[int, list[_Stored]] = {}
        self._order: list[_Stored] = []
        self._chunks, self._end = 0, 0
        with self._used():
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)

    def append(self, frame: pl.DataFrame, part: int = 0) -> None:
        self._columns = frame.columns
        chosen = [[name] for name in frame.columns] if self._by_column else [frame.columns]
        begin, first, lengths = self._end, self._chunks, []
        for names in chosen:
            buffer = io.BytesIO()
            frame.select(names).write_ipc(buffer, compression="lz4")
            encrypted = self._key.encrypt(self._chunks, buffer.getvalue())
            self._write(encrypted)
            self._chunks += 1
            lengths.append(len(encrypted))
        batch = _Stored(begin, first, tuple(lengths))
        self._order.append(batch)
        self._parts.setdefault(part, []).append(batch)
        self.n_rows += frame.height

    def batches(self, columns: Sequence[str] | None = None, part: int | None = None) -> Iterator[pl.DataFrame]:
        for batch in self._order if part is None else self._parts.get(part, ()):
            if not self._by_column:
                whole = self._read(batch, 0)
                yield whole if columns is None else whole.select(columns)
                continue
            names = self._columns if columns is None else list(columns)
            yield pl.DataFrame([self._read(batch, self._columns.index(name)).to_series() for name in names])

    def erase(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            self._path.unlink(missing_ok=True)
        self._key = DataKey.unkept("erased working table")
        self._parts, self._order = {}, []

    def _read(self, batch: _Stored, place: int) -> pl.DataFrame:
        length = batch.lengths[place]
        with self._used():
            encrypted = os.pread(self._file, length, batch.begin + sum(batch.lengths[:place]))
        return pl.read_ipc(io.BytesIO(self._key.decrypt(batch.first + place, encrypted)))

    def _write(self, content: bytes) -> None:
        view = memoryview(content)
        with self._used():
            while view:
                written = os.pwrite(self._file, view, self._end)
                view, self._end = view[written:], self._end + written

    def _used(self) -> AbstractContextManager[None]:
        return on_disk("the working file cannot be used", self._path, "state")


class WorkingFolder:
    """The folder of a custodian's working tables and nothing else, which is emptied whenever it is opened."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for path in folder.iterdir():
            path.unlink(missing_ok=True)

    def table(self, *, by_column: bool = False) -> EncryptedTable:
        return EncryptedTable(self._folder / f"{secrets.token_hex(8)}.working", by_column=by_column)
