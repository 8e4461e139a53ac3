"""How an upload is cut: chunks of 1 MiB, each with its digest, and one root digest over them all.

Chunks may come in any order and any number of times. A stream would be no faster and its end would be no proof of
completeness; here only the commit, which names the number of chunks, the bytes and the root, makes an upload whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

CHUNK_BYTES = 1 << 20
"""Bytes of every chunk but the last."""


def chunk_count(total_bytes: int) -> int:
    """Number of chunks of a body; an empty body has none."""
    return -(-total_bytes // CHUNK_BYTES)


def chunk_size(index: int, total_bytes: int) -> int:
    """Bytes of the chunk at `index`."""
    return min(CHUNK_BYTES, total_bytes - index * CHUNK_BYTES)


def chunk_slices(total_bytes: int) -> Iterator[slice]:
    """The slices of a body that are its chunks, in order."""
    for start in range(0, total_bytes, CHUNK_BYTES):
        yield slice(start, min(start + CHUNK_BYTES, total_bytes))


def root_digest(digests: Iterable[bytes]) -> bytes:
    """SHA-256 over the chunks' SHA-256 digests in order: the whole body in 32 bytes."""
    root = hashlib.sha256()
    for digest in digests:
        root.update(digest)
    return root.digest()


def missing_ranges(present: Sequence[int], count: int, most: int = 1000) -> list[tuple[int, int]]:
    """The gaps among `count` chunks as ranges of indices, both ends inclusive.

    Parameters
    ----------
    present
        Indices that have arrived, ascending and distinct.
    count
        Number of chunks of the whole body.
    most
        Longest list to return; later gaps are named once the earlier ones are filled.

    Examples
    --------
    >>> missing_ranges([0, 2, 3], 6)
    [(1, 1), (4, 5)]
    """
    gaps = []
    expected = 0
    for index in [*present, count]:
        if index > expected:
            gaps.append((expected, index - 1))
            if len(gaps) == most:
                break
        expected = index + 1
    return gaps
