"""Attacks on rows, blocks and handles by who has these people in clear, for the leakage benchmark's section `shared`.

`by_levels` recognises rows by comparison levels between the two files, `blocks_by_size` blocks by how many rows they
have in both, and `handles_by_levels` records by the levels of the pairs above the floor. What attacks signatures inside
one file is in `gemel.custodian.leakage.recognition` and `_leakage_embedding`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from gemel.custodian.leakage.fingerprint_model import FingerprintModel
from gemel.custodian.leakage.pairs import ABSENT, EQUAL, Fingerprints, pairs_within
from gemel.custodian.leakage.recognition import EFFORTS, Claims, recognise
from gemel.custodian.leakage.recovery import UNKNOWN

LEVEL_BITS = 64.0
"""Bits of a signature whose noise is about that of a level's middle, with a level of .2 and signatures of 128."""

PREFERRED = 2.0
"""Log odds, in nats, that a record has as many kept pairs as in the attacker's own linkage rather than one more."""

_RARE = 0.05  # added to each count of the noise


@dataclass(frozen=True)
class BetweenFiles:
    """Rows of two files in blocks (-1: in none), and levels of pairs of one row each.

    Rows of the second file are numbered behind those of the first. `similar`, shape (n_pairs, n_fields), has
    similarities, `EQUAL` or `ABSENT`.
    """

    block_a: NDArray[np.int64]
    block_b: NDArray[np.int64]
    row_a: NDArray[np.int64]
    row_b: NDArray[np.int64]
    similar: NDArray[np.float32]

    @property
    def block(self) -> NDArray[np.int64]:
        """Of all rows."""
        return np.concatenate([self.block_a, self.block_b])

    def fingerprints(self) -> Fingerprints:
        """Of all pairs of rows in a block: of two rows of one file nothing is known."""
        one, other = pairs_within(self.block)
        n, n_a = len(self.block), len(self.block_a)
        low, high = np.minimum(one, other), np.maximum(one, other)
        similar = np.full((len(one), self.similar.shape[1]), ABSENT, dtype=np.float32)
        number = self.row_a * n + self.row_b + n_a
        order = np.argsort(number)
        place = np.minimum(np.searchsorted(number[order], low * n + high), len(order) - 1)
        here = number[order][place] == low * n + high
        similar[here] = self.similar[order[place[here]]]
        return Fingerprints(one, other, self.block[one], similar)


def middles(level: NDArray[np.int8], bounds: list[tuple[float, ...]]) -> NDArray[np.float32]:
    """Similarities that levels (-1: missing) may stand for: the middle of each, `EQUAL` at the top.

    `bounds` has the inclusive upper bounds of each field's levels.
    """
    similar = np.empty(level.shape, dtype=np.float32)
    for field, upper in enumerate(bounds):
        lower = np.array([0.0, *upper[:-1]])
        value = np.append(np.where(lower == upper[-2], EQUAL, (lower + np.array(upper)) / 2), ABSENT)
        if len(upper) == 2:
            value[0] = 0.0  # equal or not: values that differ have little in common
        similar[:, field] = value[level[:, field]]
    return similar


def by_levels(seen: BetweenFiles, clear: BetweenFiles, rng: np.random.Generator) -> Claims:
    """Claim a person for each row of both files, by levels of the pairs between them."""
    of_rows, of_people = seen.fingerprints(), clear.fingerprints()
    bits = np.full(seen.similar.shape[1], LEVEL_BITS)
    model = FingerprintModel.of(bits, np.zeros(len(bits)), of_people, of_rows)
    return recognise(of_rows, seen.block, of_people, clear.block, model, 1.0, rng, EFFORTS[:2])


def blocks_by_size(seen: NDArray[np.int64], clear: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """The block in clear that each block is taken for: one of the same sizes in both files, each once.

    Sizes have shape (n_blocks, 2): rows of each block in either file. `UNKNOWN` where no block in clear is left.
    """
    base = 1 + max(int(seen.max(initial=0)), int(clear.max(initial=0)))
    of_seen, of_clear = (sizes[:, 0] * base + sizes[:, 1] for sizes in (seen, clear))
    guessed = np.full(len(seen), UNKNOWN, dtype=np.int64)
    order, theirs = rng.permutation(len(seen)), rng.permutation(len(clear))
    order, theirs = (
        order[np.argsort(of_seen[order], kind="stable")],
        theirs[np.argsort(of_clear[theirs], kind="stable")],
    )
    first = np.searchsorted(of_clear[theirs], of_seen[order], side="left")
    rank = np.arange(len(order)) - np.searchsorted(of_seen[order], of_seen[order], side="left")
    place = first + rank
    here = place < np.searchsorted(of_clear[theirs], of_seen[order], side="right")
    guessed[order[here]] = theirs[place[here]]
    return guessed


@dataclass(frozen=True)
class KeptPairs:
    """Pairs above the floor, as a resolver has them, or as who links a register by herself has them.

    `a` and `b` are records of the two files: handles, or people; `level` has shape (n_pairs, n_fields), -1:
    missing.
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    level: NDArray[np.int8]

    def of(self, chosen: NDArray[np.bool_]) -> KeptPairs:
        """Some of the pairs."""
        return KeptPairs(self.a[chosen], self.b[chosen], self.level[chosen])

    def components(self) -> NDArray[np.int64]:
        """Of each pair, the connected part of the graph that it is in."""
        _, one = np.unique(self.a, return_inverse=True)
        _, other = np.unique(self.b, return_inverse=True)
        n = 2 + int(one.max(initial=0)) + int(other.max(initial=0))
        edges = coo_matrix((np.ones(len(one)), (one, other + int(one.max(initial=0)) + 1)), shape=(n, n))
        found: NDArray[np.int64] = connected_components(edges, directed=False)[1][one].astype(np.int64)
        return found


def handles_by_levels(
    seen: KeptPairs,
    own: KeptPairs,
    noise: list[NDArray[np.float64]],
    chosen: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """The person of `own.a` that each of some handles of the first file is taken for.

    First the handle's component of the graph of pairs is taken for one of the attacker's, by the levels of all its
    pairs; then the handle for a person of that component, by the levels of its own pairs. `own` is the attacker's
    own linkage of her register; `noise` has by field the log probability of level l (last: missing) where her own
    pair has level k.
    """
    part_seen, part_own = seen.components(), own.components()
    whole = replace(seen, a=part_seen), replace(own, a=part_own)
    of_chosen = part_seen[_first_of(seen.a, chosen)]
    parts = np.unique(of_chosen)
    taken_for = _likeliest(*whole, noise, parts, rng)[np.searchsorted(parts, of_chosen)]
    named = np.empty(len(chosen), dtype=np.int64)
    for place, part in enumerate(taken_for):
        named[place] = _likeliest(seen, own.of(part_own == part), noise, chosen[place : place + 1], rng)[0]
    return named


def _likeliest(
    seen: KeptPairs,
    own: KeptPairs,
    noise: list[NDArray[np.float64]],
    chosen: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """The person, or component, that each chosen one is likeliest to be.

    It is as likely as, for each of the chosen one's pairs, the best of its own, less what it costs to have another
    number of pairs. Of equally likely ones one is drawn. O(different levels of the chosen ones' pairs * own pairs).
    """
    by_person = rng.permutation(len(own.a))
    by_person = by_person[np.argsort(own.a[by_person], kind="stable")]
    people, first, degree = np.unique(own.a[by_person], return_index=True, return_counts=True)
    theirs, of_theirs = np.unique(own.level[by_person], axis=0, return_inverse=True)
    pairs = np.flatnonzero(np.isin(seen.a, chosen))
    pairs = pairs[np.argsort(seen.a[pairs], kind="stable")]
    mine, of_mine = np.unique(seen.level[pairs], axis=0, return_inverse=True)
    likely = np.zeros((len(mine), len(theirs)))
    for field, table in enumerate(noise):
        likely += table[theirs[:, field]][:, mine[:, field]].T
    best = np.stack([np.maximum.reduceat(row[of_theirs.ravel()], first) for row in likely])
    start, stop = (np.searchsorted(seen.a[pairs], chosen, side=side) for side in ("left", "right"))
    named = np.empty(len(chosen), dtype=np.int64)
    for place in range(len(chosen)):
        its = of_mine.ravel()[start[place] : stop[place]]
        score = best[its].sum(axis=0) - PREFERRED * np.abs(degree - len(its))
        named[place] = people[rng.choice(np.flatnonzero(score >= score.max() - 1e-9))]
    return named


def _first_of(values: NDArray[np.int64], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of some values, which are there, is first."""
    kinds, first = np.unique(values, return_index=True)
    found: NDArray[np.int64] = first[np.searchsorted(kinds, chosen)]
    return found


def noise_of(seen: KeptPairs, own: KeptPairs) -> list[NDArray[np.float64]]:
    """What levels the resolver's pairs have where the attacker's own have such, given to her from the truth.

    By field the log probability, shape (levels of `own` + 1, levels of `seen` + 1); missing is last.
    """
    base = 1 + max(int(each.max()) for each in (seen.b, own.b))
    _, one, other = np.intersect1d(seen.a * base + seen.b, own.a * base + own.b, return_indices=True)
    tables = []
    for field in range(seen.level.shape[1]):
        size = 2 + max(int(each.level[:, field].max()) for each in (seen, own))
        counts = np.full((size, size), _RARE)
        np.add.at(counts, (own.level[other, field], seen.level[one, field]), 1)
        tables.append(np.log(counts / counts.sum(axis=1, keepdims=True)))
    return tables


def learnt(words: NDArray[np.uint64], truth: NDArray[np.bool_], rng: np.random.Generator) -> tuple[float, float, float]:
    """What a linear classifier finds of pairs by bits of theirs, which it has learnt from the half of them.

    Bit k of word w is of pair 64 w + k. Of the other half: the share classified rightly, the share of the commoner
    kind, and their standard error.
    """
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")[:, : len(truth)]
    signs = 2.0 * bits.T.astype(np.float64) - 1.0
    order = rng.permutation(len(truth))
    known, other = order[: len(order) // 2], order[len(order) // 2 :]
    kernel = signs[known] @ signs[known].T
    kernel[np.diag_indices(len(known))] += signs.shape[1]
    mean = truth[known].mean()
    found = signs[other] @ (signs[known].T @ np.linalg.solve(kernel, truth[known] - mean)) + mean > 0.5
    right, common = float((found == truth[other]).mean()), float(truth[other].mean())
    return right, max(common, 1 - common), 0.5 / float(np.sqrt(len(other)))
