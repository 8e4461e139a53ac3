"""Blocks that are too large: split by equality of a further field, or dropped, and reported by size.

A block of a common surname can hold more pairs than all others together. Its rows are split by the value of a
further field where the rule names one; what is still too large is dropped from the rule, so that its pairs are compared
only if another rule proposes them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from gemel.common.arrays import U64
from gemel.common.signatures.signature_sets import NO_KEY, FieldSignatures

Keys = U64


@dataclass(frozen=True)
class Skew:
    """How one rule's large blocks were treated.

    `largest_split`, `largest_dropped`: rows of A and of B in the largest of each; None if there was none.
    """

    split: int = 0
    largest_split: tuple[int, int] | None = None
    dropped: int = 0
    largest_dropped: tuple[int, int] | None = None
    pairs_dropped: int = 0


def without_large_blocks(
    keys_a: Keys, keys_b: Keys, limit: int, by: tuple[Keys, Keys] | None = None
) -> tuple[Keys, Keys, Skew]:
    """Keys of a rule with no block of more than `limit` pairs.

    `by`: a further key of each row, by which large blocks are split; `NO_KEY` where there is none. Returns `keys_a,
    keys_b` (uint64): the same objects where nothing was too large.
    """
    large, sizes = _large(keys_a, keys_b, limit)
    skew = Skew()
    if by is not None and len(large):
        skew = Skew(split=len(large), largest_split=max(sizes, key=math.prod))
        keys_a, keys_b = (_finer(keys, further, large) for keys, further in zip((keys_a, keys_b), by, strict=True))
        large, sizes = _large(keys_a, keys_b, limit)
    if len(large):
        keys_a, keys_b = (np.where(np.isin(keys, large), np.uint64(NO_KEY), keys) for keys in (keys_a, keys_b))
        dropped = sum(map(math.prod, sizes))
        skew = replace(skew, dropped=len(large), largest_dropped=max(sizes, key=math.prod), pairs_dropped=dropped)
    return keys_a, keys_b, skew


def value_keys(field: FieldSignatures) -> Keys:
    """A key of each row that is equal for equal signatures, in either file; `NO_KEY` where the field is missing.

    A linear hash: of a million different signatures two collide with probability 3e-8, which costs a comparison.
    """
    multipliers = np.random.default_rng(65).integers(0, 2**63, field.bits // 64, dtype=np.uint64) * np.uint64(2) + 1
    hashed = field.signatures @ multipliers
    return np.append(np.where(hashed == NO_KEY, np.uint64(1), hashed), np.uint64(NO_KEY))[field.codes]


def _large(keys_a: Keys, keys_b: Keys, limit: int) -> tuple[Keys, list[tuple[int, int]]]:
    """Keys of the blocks above a limit, and the rows of A and B in each."""
    in_a, size_a = np.unique(keys_a, return_counts=True)
    in_b, size_b = np.unique(keys_b, return_counts=True)
    shared, at_a, at_b = np.intersect1d(in_a, in_b, assume_unique=True, return_indices=True)
    large = (shared != NO_KEY) & (size_a[at_a].astype(np.float64) * size_b[at_b] > limit)
    sizes = zip(size_a[at_a][large].tolist(), size_b[at_b][large].tolist(), strict=True)
    return shared[large], list(sizes)


def _finer(keys: Keys, further: Keys, large: Keys) -> Keys:
    """Keys that also distinguish the rows of large blocks by a further key."""
    mixed = (keys ^ (further * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(29)
    mixed = np.where(mixed == NO_KEY, np.uint64(1), mixed)
    mixed = np.where(further == NO_KEY, np.uint64(NO_KEY), mixed)
    return np.where(np.isin(keys, large), mixed, keys)
