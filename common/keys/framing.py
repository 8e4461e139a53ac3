"""Length-prefixed framing: a list of byte strings to bytes and back, with exactly one encoding for each list.

Everything that is signed, hashed or bound as associated data is framed here, so that no two different lists of parts
ever give the same bytes, and a message has exactly one encoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_PREFIX = 4  # bytes of a big-endian length


class FramingError(ValueError):
    """The bytes are not the expected frame; the message names the part, never its content."""


@dataclass(frozen=True)
class Part:
    """One part of a frame: its name, for messages, and its length in bytes."""

    name: str
    minimum: int
    maximum: int

    @classmethod
    def fixed(cls, name: str, length: int) -> Part:
        """A part of exactly `length` bytes."""
        return cls(name, length, length)


def frame(*parts: bytes) -> bytes:
    """Join `parts`, each behind its length as four bytes, big-endian."""
    return b"".join(len(part).to_bytes(_PREFIX, "big") + part for part in parts)


def unframe(data: bytes, expected: Sequence[Part]) -> list[bytes]:
    """Split what `frame` joined, refusing everything that is not exactly the `expected` parts. Raises FramingError if a
    part is missing, cut off, or of a length outside its bounds, or if bytes follow the last one."""
    parts = []
    position = 0
    for part in expected:
        start = position + _PREFIX
        if start > len(data):
            raise FramingError(f"the part '{part.name}' is missing")
        length = int.from_bytes(data[position:start], "big")
        if not part.minimum <= length <= part.maximum:
            bounds = " to ".join(map(str, dict.fromkeys((part.minimum, part.maximum))))
            raise FramingError(f"the part '{part.name}' must have {bounds} bytes, its prefix gives {length}")
        if start + length > len(data):
            raise FramingError(f"the part '{part.name}' is cut off")
        parts.append(data[start : start + length])
        position = start + length
    if position != len(data):
        raise FramingError(f"{len(data) - position} bytes follow the last part")
    return parts
