"""The Merkle tree of RFC 6962: its root, proofs that a leaf is in it, and proofs that it begins with an older tree.

Leaves and inner nodes are hashed with different first bytes, so that no leaf can be taken for a node. The left subtree
of n leaves has k of them, k the largest power of two below n. Every node over a full range of 2^h leaves is stored when
it is completed and never changes: appending costs one hash on average, a root or a proof O(log n).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()
Node = Callable[[int, int], bytes]
"""`node(height, position)`: hash over the leaves position * 2^height .. (position + 1) * 2^height - 1."""


def leaf_hash(content: bytes) -> bytes:
    """Hash of a leaf: 32 bytes."""
    return hashlib.sha256(b"\x00" + content).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of an inner node: 32 bytes."""
    return hashlib.sha256(b"\x01" + left + right).digest()


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


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], claimed: bytes) -> bool:
    """Whether `proof` shows that `leaf` (its hash) is number `index` of the `size` leaves under the root `claimed`."""
    if not 0 <= index < size or any(len(part) != HASH_BYTES for part in proof):
        return False
    value, place, last = leaf, index, size - 1
    for part in proof:
        if last == 0:
            return False
        if place % 2 == 1 or place == last:
            value = node_hash(part, value)
            while place % 2 == 0 and place:
                place, last = place // 2, last // 2
        else:
            value = node_hash(value, part)
        place, last = place // 2, last // 2
    return last == 0 and value == claimed


def verify_consistency(old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether `proof` shows that the tree of `new` leaves begins with the tree of `old`."""
    if not 0 <= old <= new or any(len(part) != HASH_BYTES for part in proof):
        return False
    if old == new:
        return not proof and old_root == new_root
    if old == 0:
        return not proof and old_root == EMPTY_ROOT
    # A full old tree is itself the first node of the path, and is not sent.
    path = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    if not path:
        return False
    place, last = old - 1, new - 1
    while place % 2 == 1:
        place, last = place // 2, last // 2
    before = after = path[0]
    for part in path[1:]:
        if last == 0:
            return False
        if place % 2 == 1 or place == last:
            before, after = node_hash(part, before), node_hash(part, after)
            while place % 2 == 0 and place:
                place, last = place // 2, last // 2
        else:
            after = node_hash(after, part)
        place, last = place // 2, last // 2
    return last == 0 and before == old_root and after == new_root


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
