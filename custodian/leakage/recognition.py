"""Rows of blocks recognised by an attacker who has some of these people in clear: the strongest attack on blocks.

She compares what every two rows of a block have in common with what every two people of one birthday (or whatever makes
a block) have in common (`pair_lookup`), and assigns rows to people where that fits (`subgraphs`). Nothing of a key is
needed. She looks at more pairs and more blocks in clear for the rows in doubt, as long as that settles some.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from gemel.common.arrays import F64, I64, U8, Flags
from gemel.custodian.leakage.fingerprint_model import FingerprintModel, PairLookup
from gemel.custodian.leakage.pairs import Fingerprints
from gemel.custodian.leakage.recovery import UNKNOWN
from gemel.custodian.leakage.subgraphs import grow_assignment

SURE = 5.0
"""Margin from which a row's person is claimed for sure: other explanations have less than 1 % together."""
EFFORTS = ((5_000, 12), (50_000, 40), (200_000, 120))
"""Attempts, each on the rows that the one before leaves in doubt: pairs in clear looked at for each row, and blocks in
clear to which assignments are grown."""
PAYS = 0.005
"""Share of the rows that an attempt, from the second on, must settle for the next to be made."""
LARGEST = 48
"""Rows of a block, and people of one, that are assigned; of larger ones so many are drawn."""
_SEED_PAIRS = 3
_CERTAIN = 0.999


@dataclass(frozen=True)
class Claims:
    """Who each encoded row is taken for: a row of the people in clear (`person`, shape (n_rows,)), or ``UNKNOWN``.

    `margin`: the log posterior odds, in nats, against the next best; from ``SURE`` on it is no guess.
    """

    person: I64
    margin: F64

    @property
    def sure(self) -> Flags:
        sure: Flags = (self.person != UNKNOWN) & (self.margin >= SURE)
        return sure


@dataclass(frozen=True)
class Recognition:
    """What of an attack's claims is true; shares of 1.

    `rows`: records attacked, weighted by how many of the file's each stands for; of them `known`: in clear to the
    attacker, `recognised`: taken for the right person, `sure`: claimed for sure; `precision`: share of the sure claims
    that are right; `error`: standard error of `of_known`, from blocks; 0 where it is unknown.
    """

    rows: float
    known: float
    recognised: float
    sure: float
    precision: float
    error: float = 0.0

    @property
    def of_known(self) -> float:
        """Share of the people known to the attacker whose row is found."""
        return self.recognised / self.known if self.known else 0.0


def recognise(
    seen: Fingerprints,
    mine: I64,
    clear: Fingerprints,
    theirs: I64,
    model: FingerprintModel,
    share: float,
    rng: Generator,
    efforts: tuple[tuple[int, int], ...] = EFFORTS,
) -> Claims:
    """Claim a person for each row of encoded blocks.

    `seen`, `mine`: encoded pairs, all of each block's, and each row's block, from 0; -1: not attacked; `clear`,
    `theirs`: the same of people in clear, in an order that carries no information; `share`: of the rows whose people
    are in clear; `rng` draws rows of blocks with more than ``LARGEST``.

    O(pairs), but for the evidence: at most visits * rows of it in the search, and in the growth O(rows^3 people) for
    every block and candidate.
    """
    person = np.full(len(mine), UNKNOWN, dtype=np.int64)
    margin = np.zeros(len(mine))
    claims = Claims(person, margin)
    if not len(seen.one) or not len(clear.one):
        return claims
    share = min(share, _CERTAIN)
    blocks, people = _Blocks(seen, mine, rng), _Blocks(clear, theirs, rng)
    lookup = PairLookup(clear, theirs, model)
    binned = clear.binned()
    doubtful = blocks.sizes > 1
    claimed_by: dict[int, tuple[float, int]] = {}
    settled = 0
    for attempt, effort in enumerate(efforts):
        for block in np.flatnonzero(doubtful).tolist():
            best = _best_of_block(blocks, people, block, lookup, binned, share, effort)
            if best is None:
                continue
            total, candidate, assigned, margins = best
            rows = blocks.rows(block)
            person[rows], margin[rows] = UNKNOWN, 0.0
            former = claimed_by.get(candidate)
            if former is not None and former[1] != block:
                # A block in clear is one encoded block: the better claim holds.
                if former[0] >= total:
                    continue
                person[blocks.rows(former[1])], margin[blocks.rows(former[1])] = UNKNOWN, 0.0
                doubtful[former[1]] = True
            claimed_by[candidate] = total, block
            here = assigned >= 0
            person[rows[here]] = people.rows(candidate)[assigned[here]]
            margin[rows[here]] = margins[here]
            doubtful[block] = bool((margin[rows] < SURE).any())
        gained = int(claims.sure.sum()) - settled
        settled += gained
        if not doubtful.any() or (attempt and gained < PAYS * (mine >= 0).sum()):
            break
    return claims


def _best_of_block(
    blocks: _Blocks, people: _Blocks, block: int, lookup: PairLookup, binned: U8, share: float, effort: tuple[int, int]
) -> tuple[float, int, I64, F64] | None:
    """The likeliest block in clear and its assignment: log posterior, block, person and margin of each row."""
    (visits, maximum), seen = effort, blocks.pairs
    rows, pair_of = blocks.rows(block), blocks.pair_of(block)
    n = len(rows)
    pairs = pair_of[np.triu_indices(n, 1)]
    times = None if seen.times is None else seen.times[pairs]
    its = Fingerprints(*np.triu_indices(n, 1), np.zeros(len(pairs), dtype=np.int64), seen.similar[pairs], times)
    local = np.zeros((n, n), dtype=np.int64)
    local[its.one, its.other] = local[its.other, its.one] = np.arange(len(pairs))
    evidence = lookup.model.evidence(its)
    found, _, looked_up = lookup.candidates(its, evidence, visits * n, maximum)
    seeds = looked_up[: _SEED_PAIRS * n]
    ends = its.one[seeds], its.other[seeds]
    total, second = -np.inf, _no_claim(people.sizes, n, share)
    best: tuple[int, I64, F64] | None = None
    for candidate in found.tolist():
        clear_of = people.pair_of(candidate)
        fit, assigned, margins = grow_assignment(local, seeds, *ends, evidence, clear_of, binned, share)
        if fit > total:
            total, second, best = fit, max(total, second), (candidate, assigned, margins)
        else:
            second = max(second, fit)
    if best is None:
        return None
    candidate, assigned, margins = best
    # k rows are k (k - 1) / 2 pairs, of which k - 1 tell something new: two rows equal to a third are so to each other.
    overstated = max(1.0, 0.5 * int((assigned >= 0).sum()))
    return total, candidate, assigned, np.clip(np.minimum(margins, total - second), 0.0, None) / overstated


def judge(claims: Claims, truth: I64, weight: F64, block: I64) -> Recognition:
    """Judge the claims of all rows by the truth; arrays of shape (n_rows,).

    `truth` is a row of the people in clear, ``UNKNOWN`` for people not among them; `weight` the records of the file
    that each row stands for, 0 where it was not attacked or is no record; `block` which rows were drawn together.
    """
    total = float(weight.sum())
    if not total:
        return Recognition(0.0, 0.0, 0.0, 0.0, 0.0)
    right = (claims.person == truth) & (truth != UNKNOWN)
    known = float(weight[truth != UNKNOWN].sum())
    sure = float(weight[claims.sure].sum())
    found = float(weight[right].sum())
    error = 0.0
    if known:
        residual = weight * (right - found / known * (truth != UNKNOWN))
        error = float(np.sqrt((np.bincount(block[weight > 0], weights=residual[weight > 0]) ** 2).sum())) / known
    precision = float(weight[right & claims.sure].sum()) / sure if sure else 0.0
    return Recognition(total, known / total, found / total, sure / total, precision, error)


class _Blocks:
    """The rows of each block, and where their pairs are."""

    def __init__(self, pairs: Fingerprints, block: I64, rng: Generator) -> None:
        order = np.argsort(block, kind="stable")
        order = order[block[order] >= 0]
        self.sizes = np.bincount(block[order], minlength=1)
        self._starts = np.cumsum(self.sizes) - self.sizes
        self._pairs = np.cumsum(self.sizes * (self.sizes - 1) // 2) - self.sizes * (self.sizes - 1) // 2
        self.pairs, self._order, self._rng = pairs, order, rng
        self._drawn: dict[int, I64] = {}

    def _places(self, block: int) -> I64:
        size = int(self.sizes[block])
        if size <= LARGEST:
            return np.arange(size)
        if block not in self._drawn:
            self._drawn[block] = np.sort(self._rng.permutation(size)[:LARGEST])
        return self._drawn[block]

    def rows(self, block: int) -> I64:
        """Its rows, or as many as are assigned."""
        rows: I64 = self._order[self._starts[block] + self._places(block)]
        return rows

    def pair_of(self, block: int) -> I64:
        """The pair of every two of these rows, as `pairs_within` has them; the diagonal means nothing."""
        places, size = self._places(block), int(self.sizes[block])
        low, high = np.minimum.outer(places, places), np.maximum.outer(places, places)
        found: I64 = self._pairs[block] + low * size - low * (low + 1) // 2 + high - low - 1
        np.fill_diagonal(found, 0)
        return found


def _no_claim(sizes: I64, n: int, share: float) -> float:
    """Log posterior of all that assigns fewer than two of a block's n rows, on the scale of `grow_assignment`."""
    kinds, times = np.unique(np.minimum(sizes, LARGEST), return_counts=True)
    none = np.log(times) + (n + kinds) * np.log(1.0 - share)
    one = none + np.log(n * share) - 2.0 * np.log(1.0 - share)
    return float(np.logaddexp.reduce(np.concatenate([none, one[kinds > 0]])))
