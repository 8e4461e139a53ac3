"""Integrity checks of an upload: chunk by chunk as it arrives, and as a whole before it counts."""

from __future__ import annotations

import json

import numpy as np

from tryst.carole.store.payload_reader import PayloadReader
from tryst.common.encoding.intervals import WHOLE, Interval
from tryst.common.encoding.layout import JOINT, FieldLayout, Layout, SetLayout, VariableLayout, where_of
from tryst.common.encoding.payload import counts_from_bytes, from_bytes, variable_bytes, variable_from_bytes
from tryst.common.encoding.signature_sets import check_interval
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.wire.chunks import Chunk, chunk_count, chunk_size

MAX_RANGES = 100
"""Maximum number of gaps in a reply; further ones are reported when these are filled."""


def validate_payload(layout: Layout, reader: PayloadReader) -> None:
    """Check a payload array by array: each field as a small separate contribution, so that only one is in memory."""
    layout.validate()
    for part in layout.sets:
        for field in part.fields:
            if field.content != "fixed":
                alone = Layout((SetLayout(part.rule, part.rows, (field,), ()),))
                from_bytes(alone, reader.take(alone.total_bytes))
        for rule in part.blocks:
            keys = reader.take(part.rows * 8)  # any 64-bit number is a blocking key
            if rule == part.rule:
                check_interval(np.frombuffer(keys, dtype="<u8"), part.interval, where_of(rule))
        for variable in part.variables:
            variable_from_bytes(part, variable, reader.take(variable_bytes(part)))
        if part.rule == JOINT:
            counts_from_bytes(part, reader.take(part.rows * 8))


def check_place(chunk: Chunk, total_bytes: int, where: str) -> None:
    """Refuse a chunk that the upload has no place for, or that does not match its digest."""
    count = chunk_count(total_bytes)
    if chunk.index >= count or chunk.count != count:
        got = f"index {chunk.index} of {chunk.count}"
        raise TrystError(ErrorCode.PARAMETER, f"the upload has {count} chunks", where=where, got=got)
    size = chunk_size(chunk.index, total_bytes)
    if len(chunk.data) != size:
        got = f"{len(chunk.data)} bytes"
        raise TrystError(ErrorCode.PARAMETER, f"this chunk has {size} bytes", where=where, got=got)
    chunk.check(total_bytes, where)


def gaps_error(gaps: list[tuple[int, int]], where: str) -> TrystError:
    """The refusal of a commit, with the first gaps."""
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in gaps[:20])
    more = ", ..." if len(gaps) > 20 or len(gaps) == MAX_RANGES else ""
    return TrystError(
        ErrorCode.UPLOAD_GAPS,
        "the upload is not complete",
        where=where,
        got=f"chunks {shown}{more} missing",
        remedy="send the missing chunks, which BeginUpload names too, and commit again",
    )


def layout_to_text(layout: Layout) -> str:
    """A layout as stored: equal texts are equal layouts."""
    sets = [
        [
            part.rule,
            part.rows,
            [[f.name, f.bits, f.distinct, *([f.content] * (f.content != "signatures"))] for f in part.fields],
            list(part.blocks),
            *([[[v.name, v.categories] for v in part.variables]] if part.variables or part.interval != WHOLE else []),
            *([list(part.interval)] if part.interval != WHOLE else []),
        ]
        for part in layout.sets
    ]
    content = {"records": layout.records, "sets": sets} if layout.records else sets
    return json.dumps(content, separators=(",", ":"))


def layout_from_text(text: str) -> Layout:
    """The layout that `layout_to_text` stored."""
    content = json.loads(text)
    sets, records = (content["sets"], content["records"]) if isinstance(content, dict) else (content, 0)
    return Layout(
        tuple(
            SetLayout(
                rule,
                rows,
                tuple(FieldLayout(*field) for field in fields),
                tuple(blocks),
                tuple(VariableLayout(*variable) for listed in rest[:1] for variable in listed),
                *(Interval(*interval) for interval in rest[1:]),
            )
            for rule, rows, fields, blocks, *rest in sets
        ),
        records,
    )
