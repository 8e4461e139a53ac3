"""Signature sets as bytes.

The payload of a contribution is plain arrays, one after the other, little-endian, every array padded with
zero bytes to a multiple of 8 so that the receiver can use the arrays in place:

    for each set
        for each field    signatures   distinct x bits/64   uint64     strictly ascending as byte strings; in trusted
                                                                       mode the values themselves (`values`)
                          codes        rows                 int32      index into signatures, -1 = missing
                          (neither of a fixed field, whose whole value is in the key of the set's blocks, nor of one
                          that is shared or withheld: see `party_sets`)
        for each rule     keys         rows                 uint64     0 = the row has no blocking key
        for each variable codes        rows                 int16      keyed code of the row's category, -1 = missing
        (of `JOINT`)      counts       rows                 float64    what the cell counts
        (of mode shared)  sealed       rows x words         uint64     a share of the rows' words, encrypted, and behind
                                                                       it 16 bytes that show that it is unchanged

Its size follows from the `Layout` alone, which is known before any data arrives. Everything that comes from
another party is untrusted: `from_bytes` accepts only the one canonical payload of a set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.signatures.layout import JOINT, WORD_BITS, Layout, SetLayout, VariableLayout, padded, where_of
from gemel.common.signatures.signature_sets import (
    FieldSignatures,
    SignatureSet,
    VariableCodes,
    check_counts,
    check_range,
    corrupt,
)

Number = TypeVar("Number", np.uint64, np.int32, np.int16, np.float64)


def to_bytes(sets: Sequence[SignatureSet]) -> Iterator[memoryview]:
    """Canonical payload of a contribution, as a series of views of the arrays themselves (nothing is copied). The views
    are as long as the arrays are; their lengths sum to ``layout_of(sets).total_bytes``."""
    for part in sets:
        for field in part.fields.values():
            if field.content != "fixed":
                yield from _chunks(field.signatures)
                yield from _chunks(field.codes)
        for keys in part.blocks.values():
            yield from _chunks(keys)
        for variable in part.variables.values():
            yield from _chunks(variable.codes)
        if part.counts is not None:
            yield from _chunks(part.counts)


def from_bytes(layout: Layout, payload: bytes | bytearray | memoryview) -> tuple[SignatureSet, ...]:
    """Read a contribution's payload, for instance a memory map, and check it: its sets, in the order of `layout`.

    The arrays are read-only views of it. Raises UPLOAD_LIMIT if the layout is out of bounds, UPLOAD_CORRUPT if the
    payload is not the canonical one of such sets.
    """
    layout.validate()
    view = memoryview(payload).cast("B").toreadonly()
    if view.nbytes != layout.total_bytes:
        what = f"the payload must have the {layout.total_bytes} bytes of its layout"
        got = f"{view.nbytes} bytes"
        remedy = "upload the contribution again"
        raise GemelError(ErrorCode.UPLOAD_CORRUPT, what, where="contribution", got=got, remedy=remedy)
    reader, sets = _Reader(view), []
    for part in layout.sets:
        sets.append(_read_set(part, reader))
        sets[-1].validate()
    return tuple(sets)


def set_from_bytes(part: SetLayout, payload: bytes | bytearray | memoryview) -> SignatureSet:
    """Read and check one set of a contribution by itself: errors as for `from_bytes`, which has the layout checked."""
    found = _read_set(part, _Reader(memoryview(payload).cast("B").toreadonly()))
    found.validate()
    return found


def _read_set(part: SetLayout, reader: _Reader) -> SignatureSet:
    if part.is_shared:
        raise corrupt("a set with signatures expected", where_of(part.rule), "shares, which only compute parties read")
    fields = {}
    for field in part.fields:
        if field.content == "fixed":
            fields[field.name] = FieldSignatures.fixed(field.bits, part.rows)
            continue
        where = f"{where_of(part.rule)}, field {field.name}"
        words = field.bits // WORD_BITS
        signatures = reader.take(field.distinct * words, np.uint64, where).reshape(field.distinct, words)
        codes = reader.take(part.rows, np.int32, where)
        fields[field.name] = FieldSignatures(field.bits, signatures, codes, field.content)
    blocks = {rule: reader.take(part.rows, np.uint64, where_of(part.rule)) for rule in part.blocks}
    variables = {}
    for variable in part.variables:
        where = f"{where_of(part.rule)}, variable {variable.name}"
        variables[variable.name] = VariableCodes(variable.categories, reader.take(part.rows, np.int16, where))
    counts = reader.take(part.rows, np.float64, f"{where_of(part.rule)}, counts") if part.rule == JOINT else None
    return SignatureSet(part.rule, part.rows, fields, blocks, variables, part.interval, counts)


def counts_from_bytes(part: SetLayout, payload: bytes | bytearray | memoryview) -> NDArray[np.float64]:
    """Read and check the counts of a `JOINT` set by themselves; errors as for `from_bytes`."""
    where = f"{where_of(part.rule)}, counts"
    counts = _Reader(memoryview(payload).cast("B").toreadonly()).take(part.rows, np.float64, where)
    check_counts(counts, where)
    return counts


def variable_bytes(part: SetLayout) -> int:
    return padded(part.rows * 2)


def variable_from_bytes(
    part: SetLayout, variable: VariableLayout, payload: bytes | bytearray | memoryview
) -> VariableCodes:
    """Read and check one variable of a set by itself; errors as for `from_bytes`."""
    where = f"{where_of(part.rule)}, variable {variable.name}"
    codes = _Reader(memoryview(payload).cast("B").toreadonly()).take(part.rows, np.int16, where)
    check_range(codes, variable.categories, f"{where}, codes")
    return VariableCodes(variable.categories, codes)


class _Reader:
    """Takes arrays from a payload, one after the other."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._offset = 0

    def take(self, count: int, kind: type[Number], where: str) -> NDArray[Number]:
        """Take the next `count` numbers: a view, or a copy where the payload is not aligned."""
        stored = np.dtype(kind).newbyteorder("<")
        size = count * stored.itemsize
        end = self._offset + padded(size)
        if any(self._view[self._offset + size : end]):
            raise corrupt("padding must be zero bytes", where, "other bytes")
        if count == 0:
            return np.empty(0, dtype=kind)
        array = np.frombuffer(self._view, dtype=stored, count=count, offset=self._offset)
        self._offset = end
        return np.require(array, dtype=kind, requirements="A")


def _chunks(array: NDArray[Number]) -> Iterator[memoryview]:
    """One array's bytes and its padding, as views."""
    if array.size == 0:
        return
    stored = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(-1)
    yield memoryview(stored.view(np.uint8).data).toreadonly()
    if padding := padded(stored.nbytes) - stored.nbytes:
        yield memoryview(bytes(padding))
