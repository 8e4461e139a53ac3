"""The Merkle tree of RFC 6962, as Carole keeps it: its root, and proofs that a leaf is in it or that it begins with an
older tree, which readers verify (`common.audit.merkle`).

Every node over a full range of 2^h leaves is stored when it is completed and never changes: appending costs one hash on
average, a root or a proof O(log n).
"""

from __future__ import annotations

from collections.abc import Callable

from gemel.common.audit.merkle import EMPTY_ROOT, node_hash

Node = Callable[[int, int], bytes]
"""`node(height, position)`: hash over the leaves position * 2^height .. (position + 1) * 2^height - 1."""


def completed(size: int, leaf: bytes, node: Node) -> list[tuple[int, int, bytes]]:
    """The full nodes that leaf number `size` (from 0) completes, itself first, as (height, position, hash)."""
    made = [(0, size, leaf)]
    height, position, value = made[0]
    while position % 2 == 1:
        value = node_hash(node(height, position - 1), value)
        height, position = height + 1, position // 2
        made.append((height, position, value))
    return made


def root(size: int, node: Node) -> bytes:
    """Root of the first `size` leaves; cost O(log size)."""
    return _range(0, size, node) if size else EMPTY_ROOT


def inclusion_proof(index: int, size: int, node: Node) -> list[bytes]:
    """Hashes that lead from leaf `index` to the root of the first `size` leaves. Raises ValueError if there is no such
    leaf."""
    if not 0 <= index < size:
        raise ValueError(f"leaf {index} is not among {size}")
    return _path(index, 0, size, node)


def consistency_proof(old: int, new: int, node: Node) -> list[bytes]:
    """Hashes that show that the tree of `new` leaves begins with the tree of `old`; none if they are the same or the
    old one is empty. Raises ValueError if the old tree is the larger one."""
    if not 0 <= old <= new:
        raise ValueError(f"a tree of {new} leaves does not begin with one of {old}")
    return _subproof(old, 0, new, True, node) if 0 < old < new else []


class Tree:
    """A tree in memory, for reading a whole log; `size` is its number of leaves."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[int, int], bytes] = {}
        self.size = 0

    def append(self, leaf: bytes) -> None:
        for height, position, value in completed(self.size, leaf, self.node):
            self._nodes[height, position] = value
        self.size += 1

    def node(self, height: int, position: int) -> bytes:
        return self._nodes[height, position]

    @property
    def root(self) -> bytes:
        return root(self.size, self.node)

    def root_at(self, size: int) -> bytes:
        if not 0 <= size <= self.size:
            raise ValueError(f"{size} leaves are not among {self.size}")
        return root(size, self.node)


def _split(size: int) -> int:
    return 1 << ((size - 1).bit_length() - 1)


def _range(start: int, size: int, node: Node) -> bytes:
    """Hash over `size` leaves from `start`, which is a multiple of the smallest power of two not below `size`."""
    if size & (size - 1) == 0:
        height = size.bit_length() - 1
        return node(height, start >> height)
    split = _split(size)
    return node_hash(_range(start, split, node), _range(start + split, size - split, node))


def _path(index: int, start: int, size: int, node: Node) -> list[bytes]:
    if size == 1:
        return []
    split = _split(size)
    if index < split:
        return [*_path(index, start, split, node), _range(start + split, size - split, node)]
    return [*_path(index - split, start + split, size - split, node), _range(start, split, node)]


def _subproof(old: int, start: int, size: int, whole: bool, node: Node) -> list[bytes]:
    if old == size:
        return [] if whole else [_range(start, size, node)]
    split = _split(size)
    if old <= split:
        return [*_subproof(old, start, split, whole, node), _range(start + split, size - split, node)]
    return [*_subproof(old - split, start + split, size - split, False, node), _range(start, split, node)]
