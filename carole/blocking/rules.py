"""Blocking rules that write their own pairs and recognise pairs of any source.

A rule numbers the pairs of its blocks, so that any stretch of them can be written at any time; a pair in several blocks
of the rule is written in the first. `KeyedRule` is for rules with a few keys per row, one of which must be shared:
LSH bands. `ValueRule` is for rules that relate values of a field: multibit trees and canopies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from gemel.carole.blocking.candidates import MAX_RULES, Block, CandidatePairs, PairsByRule, Part
from gemel.carole.blocking.value_relation import ValuePairs
from gemel.common.arrays import I32, I64, U32, U64, Flags
from gemel.common.errors import parameter
from gemel.common.signatures.signature_sets import NO_KEY, FieldSignatures


class KeyedRule:
    """Rows that share at least one of several keys.

    `keys_a`, `keys_b`: the keys of A's and of B's rows: one array for each, such as a band; keys are compared within it
    only.
    """

    def __init__(self, keys_a: Sequence[U64], keys_b: Sequence[U64]) -> None:
        # Each key is treated as a separate rule, numbered consecutively; a pair written by the first of them is not
        # written again.
        self._pairs = CandidatePairs(keys_a, keys_b, max_rules=max(1, len(keys_a)))
        self._ends = np.cumsum(self._pairs.pairs_per_rule)
        self.n_pairs = self._pairs.n_pairs

    def write(self, start: int, stop: int, row_a: I32, row_b: I32) -> int:
        """Write the pairs numbered `start` to `stop`, each pair of the rule once; return how many there are."""
        n = 0
        ignored = np.empty(stop - start, dtype=np.uint32)
        key = int(np.searchsorted(self._ends, start, side="right"))
        while start < stop:
            before = int(self._ends[key - 1]) if key else 0
            end = min(stop, int(self._ends[key]))
            if end > start:
                n += self._pairs.write(Part(key, start - before, end - before), row_a[n:], row_b[n:], ignored)
            start, key = end, key + 1
        return n

    def mark(self, row_a: I32, row_b: I32, n: int, bit: np.uint32, mask: U32) -> None:
        """Set a bit in the masks of those of the first `n` pairs that satisfy the rule."""
        _mark_keys(row_a, row_b, n, bit, *self._pairs.keys_by_row, mask)

    def blocks_above(self, rule: int, pairs: int) -> list[Block]:
        return [Block(rule, block.rows_a, block.rows_b) for block in self._pairs.blocks_above(pairs)]

    def without_key(self) -> tuple[Flags, Flags]:
        """Rows of A and of B that satisfy the rule with no row of the other file."""
        keys_a, keys_b = self._pairs.keys_by_row
        return (keys_a == 0).all(axis=1), (keys_b == 0).all(axis=1)


class ValueRule:
    """Rows whose values of a field are related.

    `codes_a`, `codes_b` (int32, shape (n_rows,)): the rows' values, -1 where missing.
    """

    def __init__(self, related: ValuePairs, codes_a: I32, codes_b: I32) -> None:
        self._related = related
        self._codes_a, self._codes_b = np.ascontiguousarray(codes_a), np.ascontiguousarray(codes_b)
        n_a = len(related.first) - 1
        n_b = max(int(related.partner.max(initial=-1)), int(codes_b.max(initial=-1))) + 1
        order_a, first_a = _grouped(codes_a, n_a)
        order_b, first_b = _grouped(codes_b, n_b)
        value_a = np.repeat(np.arange(n_a, dtype=np.int32), np.diff(related.first))
        ends = np.cumsum(np.diff(first_a)[value_a] * np.diff(first_b)[related.partner], dtype=np.int64)
        self._blocks = _ValueBlocks(ends, value_a, related.partner, first_a, first_b, order_a, order_b)
        self.n_pairs = int(ends[-1]) if len(ends) else 0

    def write(self, start: int, stop: int, row_a: I32, row_b: I32) -> int:
        return int(_related_pairs(start, stop, self._blocks, row_a, row_b))

    def mark(self, row_a: I32, row_b: I32, n: int, bit: np.uint32, mask: U32) -> None:
        _mark_related(
            row_a, row_b, n, bit, self._codes_a, self._codes_b, self._related.first, self._related.partner, mask
        )

    def blocks_above(self, rule: int, pairs: int) -> list[Block]:
        """Pairs of values that more than `pairs` pairs of rows have."""
        blocks = self._blocks
        large = np.flatnonzero(np.diff(blocks.ends, prepend=0) > pairs)
        size_a = np.diff(blocks.first_a)[blocks.value_a[large]]
        size_b = np.diff(blocks.first_b)[blocks.value_b[large]]
        return [Block(rule, int(a), int(b)) for a, b in zip(size_a, size_b, strict=True)]

    def without_key(self) -> tuple[Flags, Flags]:
        return self._codes_a < 0, self._codes_b < 0


Rule = KeyedRule | ValueRule


def _grouped(codes: I32, n: int) -> tuple[I32, I64]:
    """Rows in the order of their values, those without one left out, and where each value begins."""
    order = np.argsort(codes, kind="stable").astype(np.int32)
    present = codes[codes >= 0]
    first = np.concatenate(([0], np.cumsum(np.bincount(present, minlength=n))))
    return np.ascontiguousarray(order[len(codes) - len(present) :]), first.astype(np.int64)


@njit(nogil=True, cache=True)
def _mark_keys(row_a: I32, row_b: I32, n: int, bit: np.uint32, keys_a: U64, keys_b: U64, mask: U32) -> None:
    for i in range(n):
        for k in range(keys_a.shape[1]):
            key = keys_a[row_a[i], k]
            if key != 0 and key == keys_b[row_b[i], k]:
                mask[i] |= bit
                break


@njit(nogil=True, cache=True)
def _mark_related(
    row_a: I32, row_b: I32, n: int, bit: np.uint32, codes_a: I32, codes_b: I32, first: I64, partner: I32, mask: U32
) -> None:
    for i in range(n):
        a, b = codes_a[row_a[i]], codes_b[row_b[i]]
        if a >= 0 and b >= 0:
            lo, hi = first[a], first[a + 1]
            while lo < hi:
                middle = (lo + hi) // 2
                if partner[middle] < b:
                    lo = middle + 1
                else:
                    hi = middle
            if lo < first[a + 1] and partner[lo] == b:
                mask[i] |= bit


class _ValueBlocks(NamedTuple):
    """Related values of two files, and the rows that have them.

    `ends` (int64, shape (n_relations,)): pairs of rows with each two related values and all before them; `value_a`,
    `value_b` (int32, shape (n_relations,)): the two values; `first_a`, `first_b` (int64, shape (n_values + 1,)): where
    the rows of each value begin in `order_a` and `order_b`.
    """

    ends: I64
    value_a: I32
    value_b: I32
    first_a: I64
    first_b: I64
    order_a: I32
    order_b: I32


@njit(nogil=True, cache=True)
def _related_pairs(start: int, stop: int, blocks: _ValueBlocks, row_a: I32, row_b: I32) -> int:
    n = 0
    block = np.searchsorted(blocks.ends, start, side="right")
    at = start
    while at < stop:
        before = blocks.ends[block - 1] if block > 0 else 0
        end = min(stop, blocks.ends[block])
        start_a, start_b = blocks.first_a[blocks.value_a[block]], blocks.first_b[blocks.value_b[block]]
        size_b = blocks.first_b[blocks.value_b[block] + 1] - start_b
        while at < end:
            row_a[n] = blocks.order_a[start_a + (at - before) // size_b]
            row_b[n] = blocks.order_b[start_b + (at - before) % size_b]
            n += 1
            at += 1
        block += 1
    return n


class UnionPairs(PairsByRule):
    """The pairs that satisfy at least one rule.

    `rules`: at most `MAX_RULES`. As `CandidatePairs` does for rules with one key each: a pair is written by the first
    rule it satisfies, which every other rule tests, so that nothing is remembered between parts.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        if not 1 <= len(rules) <= MAX_RULES:
            raise parameter("blocking", f"1 to {MAX_RULES} blocking rules expected", str(len(rules)), "use fewer")
        super().__init__(rules)
        self._rules = list(rules)

    @property
    def rows_without_key(self) -> tuple[int, int]:
        """Rows of A and of B that no rule can pair with any row."""
        sides = zip(*(rule.without_key() for rule in self._rules), strict=True)
        in_a, in_b = (int(np.logical_and.reduce(of_rules).sum()) for of_rules in sides)
        return in_a, in_b

    def write(self, part: Part, row_a: I32, row_b: I32, mask: U32) -> int:
        n = self._rules[part.rule].write(part.start, part.stop, row_a, row_b)
        self.mark(row_a, row_b, n, mask)
        return int(_without(n, np.uint32((1 << part.rule) - 1), row_a, row_b, mask))

    def mark(self, row_a: I32, row_b: I32, n: int, mask: U32) -> None:
        mask[:n] = 0
        for number, rule in enumerate(self._rules):
            rule.mark(row_a, row_b, n, np.uint32(1 << number), mask)


@njit(nogil=True, cache=True)
def _without(n: int, bits: np.uint32, row_a: I32, row_b: I32, mask: U32) -> int:
    """Drop those of the first `n` pairs that have any of some bits; return how many are left."""
    left = 0
    for i in range(n):
        if mask[i] & bits == 0:
            row_a[left] = row_a[i]
            row_b[left] = row_b[i]
            mask[left] = mask[i]
            left += 1
    return left


# Locality-sensitive hashing: rows are compared when their signatures of a field agree on all bits of some band.
#
# A 1-bit minwise signature is cut into bands of some bits each. Two values of Jaccard similarity J agree in a bit with
# probability (1 + J)/2, so in a band of r bits with the r-th power of that, and in at least one of b bands with
#
# .. math:: 1 - (1 - ((1 + J)/2)^r)^b.
#
# More bits per band let fewer chance pairs through, more bands lose fewer similar ones. Carole forms the bands from
# the signatures she holds, without the custodians. No two bands share a bit. Where each bit was randomised with
# probability f on either side, J is replaced by (1 - 2f)^2 J.
#
# References
# ----------
# .. [1] Indyk and Motwani, Approximate nearest neighbors, STOC 1998. doi:10.1145/276698.276876


MAX_BITS = 63
"""Largest number of bits of a band: one more would leave no code for "no key"."""


def band_keys(field: FieldSignatures, bands: int, bits: int) -> list[U64]:
    """Keys of every row, one array per band: the bits of the band themselves, `NO_KEY` where the field is missing.

    Raises PARAMETER if the signatures have fewer bits than the bands need. O(bands * (distinct values + rows)).
    """
    if not (1 <= bits <= MAX_BITS and bands >= 1 and bands * bits <= field.bits):
        what = f"expected bands of 1 to {MAX_BITS} bits that fit into the signature"
        got = f"{bands} bands of {bits} bits for signatures of {field.bits}"
        raise parameter("blocking.lsh", what, got, "use fewer bands or bits, or longer signatures")
    of_values = (_bits(field.signatures, band * bits, bits) + np.uint64(1) for band in range(bands))
    return [np.append(of_value, np.uint64(NO_KEY))[field.codes] for of_value in of_values]


def _bits(signatures: U64, start: int, n: int) -> U64:
    """Bits `start` to `start + n` of each signature as a number."""
    word, shift = divmod(start, 64)
    found = signatures[:, word] >> np.uint64(shift)
    if shift + n > 64:
        found = found | (signatures[:, word + 1] << np.uint64(64 - shift))
    return np.asarray(found & np.uint64((1 << n) - 1), dtype=np.uint64)
