"""Integrity checks of an upload: chunk by chunk as it arrives, and as a whole before it counts."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

import numpy as np

from gemel.carole.store.payloads.payload_reader import PayloadReader
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.signatures.intervals import WHOLE, Interval
from gemel.common.signatures.layout import JOINT, FieldLayout, Layout, SetLayout, VariableLayout, where_of
from gemel.common.signatures.party_sets import check_shared_digests
from gemel.common.signatures.payload import counts_from_bytes, from_bytes, variable_bytes, variable_from_bytes
from gemel.common.signatures.signature_sets import check_interval
from gemel.common.wire.chunks import CHUNK_BYTES, Chunk, chunk_count, chunk_size

MAX_RANGES = 100
"""Maximum number of gaps in a reply; further ones are reported when these are filled."""


def validate_payload(layout: Layout, reader: PayloadReader) -> None:
    """Check a payload array by array: each field as a small separate contribution, so that only one is in memory.

    Of a share that is sealed to others nothing can be checked here but that all of it is there.
    """
    layout.validate()
    for part in layout.sets:
        for field in part.fields:
            if field.content in ("signatures", "values"):
                alone = Layout((SetLayout(part.rule, part.rows, (field,), ()),))
                from_bytes(alone, reader.take(alone.total_bytes))
        for rule in part.blocks:
            keys = np.frombuffer(reader.take(part.rows * 8), dtype="<u8")  # any 64-bit number is a blocking key
            if part.is_shared:
                check_shared_digests(keys, rule, part.interval)
            elif rule == part.rule:
                check_interval(keys, part.interval, where_of(rule))
        for variable in part.variables:
            variable_from_bytes(part, variable, reader.take(variable_bytes(part)))
        if part.rule == JOINT:
            counts_from_bytes(part, reader.take(part.rows * 8))
        for begin in range(0, part.sealed_bytes, CHUNK_BYTES):
            reader.take(min(CHUNK_BYTES, part.sealed_bytes - begin))


def check_place(chunk: Chunk, total_bytes: int, where: str) -> None:
    """Refuse a chunk that the upload has no place for, or that does not match its digest."""
    count = chunk_count(total_bytes)
    if chunk.index >= count or chunk.count != count:
        got = f"index {chunk.index} of {chunk.count}"
        raise parameter(where, f"the upload has {count} chunks", got)
    size = chunk_size(chunk.index, total_bytes)
    if len(chunk.data) != size:
        got = f"{len(chunk.data)} bytes"
        raise parameter(where, f"this chunk has {size} bytes", got)
    chunk.check(total_bytes, where)


def gaps_error(gaps: list[tuple[int, int]], where: str) -> GemelError:
    """The refusal of a commit, with the first gaps."""
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in gaps[:20])
    more = ", ..." if len(gaps) > 20 or len(gaps) == MAX_RANGES else ""
    return GemelError(
        ErrorCode.UPLOAD_GAPS,
        "the upload is not complete",
        where=where,
        got=f"chunks {shown}{more} missing",
        remedy="send the missing chunks, which BeginUpload names too, and commit again",
    )


def layout_to_text(layout: Layout, sealed_seeds: Sequence[bytes] = ()) -> str:
    """A layout as stored, with what opens its shares in mode shared: equal texts are equal layouts."""
    sets = [
        [
            part.rule,
            part.rows,
            [[f.name, f.bits, f.distinct, *([f.content] * (f.content != "signatures"))] for f in part.fields],
            list(part.blocks),
            *_rest(part),
        ]
        for part in layout.sets
    ]
    seeds = {"seeds": [base64.b64encode(sealed).decode() for sealed in sealed_seeds]} if sealed_seeds else {}
    content = {"records": layout.records, "sets": sets, **seeds} if layout.records else sets
    return json.dumps(content, separators=(",", ":"))


def _rest(part: SetLayout) -> list[object]:
    """What few sets have, each behind the ones before it: variables, an interval, shared tags."""
    rest: list[object] = [[[v.name, v.categories] for v in part.variables], list(part.interval), list(part.tags or ())]
    if part.is_shared:
        return rest
    return rest[:2] if part.interval != WHOLE else rest[:1] if part.variables else []


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
                Interval(*rest[1]) if rest[1:] else WHOLE,
                tuple(rest[2]) if rest[2:] else None,
            )
            for rule, rows, fields, blocks, *rest in sets
        ),
        records,
    )


def sealed_seeds_from_text(text: str) -> tuple[bytes, ...]:
    """What opens the shares, by compute party, of a layout that `layout_to_text` stored; none in other modes."""
    content = json.loads(text)
    return tuple(base64.b64decode(sealed) for sealed in content.get("seeds", ())) if isinstance(content, dict) else ()
