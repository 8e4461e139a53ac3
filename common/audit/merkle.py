"""The Merkle tree of RFC 6962, as a reader verifies it: that a leaf is in it, and that it begins with an older tree.

Leaves and inner nodes are hashed with different first bytes, so that no leaf can be taken for a node. The left subtree
of n leaves has k of them, k the largest power of two below n. Carole keeps the tree, and proves both
(`carole.store.log_tree`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(content: bytes) -> bytes:
    """Hash of a leaf: 32 bytes."""
    return hashlib.sha256(b"\x00" + content).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of an inner node: 32 bytes."""
    return hashlib.sha256(b"\x01" + left + right).digest()


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
