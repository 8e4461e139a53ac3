"""Arrays of one dimension by name, as bytes in one canonical form.

An array is its name's number (1), the number of its items (4) and the items, all numbers little-endian. Each array
comes once at most, in the order of the kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Kinds = Mapping[str, np.dtype[Any]]
"""Names of arrays with their types. An array's number is its place here: append only."""

_COUNT_BYTES = 4


def pack_arrays(kinds: Kinds, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays by names in `kinds` as bytes."""
    return b"".join(_packed(kinds, name, arrays[name]) for name in kinds if name in arrays)


def unpack_arrays(kinds: Kinds, payload: bytes) -> dict[str, NDArray[Any]]:
    """The arrays packed by `pack_arrays`."""
    names = list(kinds)
    arrays: dict[str, NDArray[Any]] = {}
    position, last = 0, -1
    while position < len(payload):
        head = payload[position : position + 1 + _COUNT_BYTES]
        # One encoding for one message: each array once, in order.
        if len(head) <= _COUNT_BYTES or not last < head[0] < len(names):
            raise ValueError("an array that this version does not know, or not in its place")
        last, count = head[0], int.from_bytes(head[1:], "little")
        kind = kinds[names[last]]
        position += len(head)
        if count * kind.itemsize > len(payload) - position:
            raise ValueError("an array that is longer than the data")
        arrays[names[last]] = np.frombuffer(payload, kind, count, position)
        position += count * kind.itemsize
    return arrays


def _packed(kinds: Kinds, name: str, array: NDArray[Any]) -> bytes:
    items = np.ascontiguousarray(array, dtype=kinds[name])
    return bytes([list(kinds).index(name)]) + items.size.to_bytes(_COUNT_BYTES, "little") + items.tobytes()
