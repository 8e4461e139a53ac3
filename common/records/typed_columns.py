"""Files whose columns have types, read in parts and written as text: how a number is written depends on all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from gemel.common.records.table import SourceTable, as_text, can_shorten, require_columns

Frames = Callable[[Sequence[str]], Iterator[pl.DataFrame]]
"""Reads some columns of a file from its beginning, in parts: one at least, which may be without rows."""


def text_tables(
    stored: Sequence[str], undecided: Collection[str], frames: Frames, columns: Sequence[str] | None, where: str
) -> Iterator[SourceTable]:
    """The selected columns of a file, or all, as text; `undecided` ones are read twice."""
    names = [name.strip() for name in stored]
    columns = names if columns is None else columns
    require_columns(names, columns, where)
    own: Mapping[str, str] = dict(zip(names, stored, strict=True))
    used = [own[name] for name in columns]
    twice = [name for name in used if name in undecided]
    shorten = dict.fromkeys(used, True)
    for frame in frames(twice) if twice else ():
        shorten |= {name: shorten[name] and can_shorten(frame[name]) for name in twice}
    before = 0
    for frame in frames(used):
        text = pl.DataFrame([as_text(frame[own[name]], where, shorten[own[name]]).alias(name) for name in columns])
        yield SourceTable(text, np.arange(before + 1, before + frame.height + 1, dtype=np.int64), "row", where)
        before += frame.height
