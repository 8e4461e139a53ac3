r"""How much the fingerprint of two encoded rows speaks for two people in clear: a likelihood ratio.

For two rows of a block with estimated similarities q and two people with similarities p the evidence, in nats, is

.. math:: \sum_f \log P(q_f \mid p_f) - \log P_0(q),

where a similarity is normal about the true one with the variance of its signature, equality is certain for equal
values and as likely for others as that all bits agree, and :math:`P_0` is how often two rows of any block look like
this: the share of pairs with the same fields equal and missing, times the density of each other similarity. The share
is a joint one since relatives and households are equal in several fields at once. Where several pairs of a block are of
the same two signatures, their similarity is one draw of the noise, and counts once in all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from gemel.common.arrays import F32, F64, I32, I64, U8
from gemel.custodian.leakage.pairs import ABSENT, ABSENT_BIN, BINS, EQUAL, EQUAL_BIN, Fingerprints

UNLIKE = -12.0
"""Least evidence of a field, and of a pair: a register may be wrong, or older."""
_LOW, _HIGH = -1.0, 1.25  # an estimate's range that is tabulated
_SQUARE_ROOT = 0.5 * np.log(2 * np.pi)
_FEWEST = 0.05  # of the variance: of nearly equal values few bits differ, and these few are no normal noise


@dataclass(frozen=True)
class FingerprintModel:
    """The noise of each field's similarities, and how common each fingerprint is.

    By field `bits` of the signatures, and `scale`, what randomised response leaves of a similarity, (1 - 2r)^2; `half`
    and `level`, shape (n_fields, BINS + 1): by true similarity half the precision of an estimate, and the log density
    at its mean; `background`, shape (n_fields, n_bins): log density of an estimate where values differ; `patterns`,
    ascending, and `shares`: which fields are equal and missing, in base 3, and the log share of the pairs of which that
    is so.
    """

    bits: F64
    scale: F64
    half: F64
    level: F64
    background: F64
    patterns: I64
    shares: F64

    @classmethod
    def of(cls, bits: F64, randomised_response: F64, clear: Fingerprints, seen: Fingerprints) -> FingerprintModel:
        """The model of fields with these bits and this noise, both public, shape (n_fields,).

        `clear` are pairs of people of such blocks, from whom the attacker knows how similar people are; `seen` the
        encoded pairs, which show how often fields are equal or missing.
        """
        scale = (1.0 - 2.0 * randomised_response) ** 2
        truly = np.arange(BINS + 1) / BINS
        variance = np.maximum(1.0 - (scale[:, None] * truly) ** 2, _FEWEST) / (bits * scale**2)[:, None]
        half, level = 0.5 / variance, -0.5 * np.log(variance) - _SQUARE_ROOT
        density = []
        width = max(1e-3, 0.25 * float(np.sqrt(variance.min())))
        edges = np.arange(_LOW, _HIGH + width, width)
        middle = 0.5 * (edges[1:] + edges[:-1])
        for field in range(len(bits)):
            p = clear.similar[:, field]
            held = np.bincount(np.rint(p[(p >= 0) & (p < EQUAL)] * BINS).astype(np.int64), minlength=BINS + 1)
            weight = held + 1e-3 * held.sum() / (BINS + 1) + 1e-3
            there = np.exp(level[field][:, None] - half[field][:, None] * (middle - truly[:, None]) ** 2)
            density.append(np.log((weight / weight.sum()) @ there + 1e-9))
        both = np.concatenate([pattern_of(clear.similar), pattern_of(seen.similar)])
        patterns, counts = np.unique(both, return_counts=True)
        return cls(bits, scale, half, level, np.stack(density), patterns, np.log(counts / max(1, len(both))))

    def evidence(self, seen: Fingerprints) -> F32:
        """The evidence of encoded pairs for every similarity in clear that each field may have, in nats.

        float32, shape (n_pairs, n_fields, BINS + 3), by class of similarity (`Fingerprints.binned`), the pair's
        surprise in the first field. The evidence for a pair in clear is the sum over the fields, `UNLIKE` at least.
        """
        n_pairs, n_fields = seen.similar.shape
        found = np.full((n_pairs, n_fields, BINS + 3), UNLIKE, dtype=np.float32)
        truly = np.arange(BINS + 1) / BINS
        for field in range(n_fields):
            q = seen.similar[:, field]
            absent, equal = q == ABSENT, q == EQUAL
            differ = ~(absent | equal)
            apart = q[differ, None] - truly
            near = self.level[field] - self.half[field] * apart**2
            once = _times(seen, field)[differ, None]
            found[differ, field, : BINS + 1] = np.maximum(UNLIKE, near) / once
            found[equal, field, : BINS + 1] = np.maximum(UNLIKE, self.bits[field] * np.log(0.5 + 0.5 * truly))
            found[equal, field, EQUAL_BIN] = 0.0
            found[absent, field, ABSENT_BIN] = 0.0
        found[:, 0] += self.surprise(seen)[:, None].astype(np.float32)
        return found

    def surprise(self, seen: Fingerprints) -> F64:
        """Minus the log probability of each encoded pair's fingerprint among all pairs, shape (n_pairs,)."""
        place = np.searchsorted(self.patterns, pattern_of(seen.similar))
        total = -self.shares[place]
        bins = self.background.shape[1]
        for field in range(seen.similar.shape[1]):
            q = seen.similar[:, field]
            here = (q != ABSENT) & (q != EQUAL)
            at = np.clip(((q[here] - _LOW) / (_HIGH - _LOW) * bins).astype(np.int64), 0, bins - 1)
            total[here] -= self.background[field][at] / _times(seen, field)[here]
        return total


def _times(seen: Fingerprints, field: int) -> F32:
    return np.ones(len(seen.one), dtype=np.float32) if seen.times is None else seen.times[:, field]


def pattern_of(similar: F32) -> I64:
    """Which fields of each pair are equal, and which missing, as a number in base 3; shape (n_pairs,)."""
    digit = np.where(similar == ABSENT, 2, np.where(similar == EQUAL, 1, 0)).astype(np.int64)
    powers: I64 = 3 ** np.arange(similar.shape[1], dtype=np.int64)
    return digit @ powers


# For each field the pairs in clear stand in the order of their similarity. An encoded pair is compared with those near
# to it in the field where the fewest are. A block in clear is as likely as its best *star*: an encoded row taken for a
# person, with what its pairs find at best among the pairs of that person; those of a wrong block resemble now these
# two people, now those, and added up over the block would outweigh the right one's.

_DEVIATIONS = 3.5
_UNLIKELY = -5.0  # log probability that two values which differ so much have one signature
_COMMON = 1.0  # maximum evidence below which a pair tells nothing worth the time
_CHANCE = 2.0  # evidence that a person's pairs in a wrong block find for about every encoded pair: no more counts


class PairLookup:
    """The pairs of people in clear, ready to be looked up; `theirs` is each one's block, shape (n_people,), or -1.

    O(n_pairs log n_pairs) for every field; a copy of the pairs for each.
    """

    def __init__(self, clear: Fingerprints, theirs: I64, model: FingerprintModel) -> None:
        self.model = model
        order = np.argsort(clear.similar, axis=0, kind="stable").T
        self._ranked = np.sort(clear.similar, axis=0).T.copy()
        self._binned = clear.binned()[order]
        self._people = np.stack([clear.one, clear.other], axis=1).astype(np.int32)[order]
        self._theirs = theirs
        self._n_blocks = 1 + int(theirs.max(initial=-1))

    def _windows(self, seen: Fingerprints) -> tuple[I64, I64, I64]:
        """For each encoded pair the field where the fewest pairs in clear are near, and their places in its order.

        Three arrays of int64, shape (n_seen,): the field, and places `first` to `last` - 1.
        """
        n_seen, n_fields = seen.similar.shape
        field = np.zeros(n_seen, dtype=np.int64)
        first, last = np.zeros(n_seen, dtype=np.int64), np.full(n_seen, np.iinfo(np.int64).max)
        for each in range(n_fields):
            q = seen.similar[:, each].astype(np.float64)
            apart = _DEVIATIONS / np.sqrt(self.model.bits[each]) / self.model.scale[each]
            low = np.where(q == ABSENT, ABSENT, np.maximum(q - apart, -1.0))
            high = np.where(q == ABSENT, ABSENT, np.minimum(q + apart, np.nextafter(EQUAL, np.float32(0))))
            equal = q == EQUAL
            low[equal], high[equal] = 2.0 * np.exp(_UNLIKELY / self.model.bits[each]) - 1.0, EQUAL
            start = np.searchsorted(self._ranked[each], low.astype(np.float32), side="left")
            stop = np.searchsorted(self._ranked[each], high.astype(np.float32), side="right")
            fewer = stop - start < last - first
            field[fewer], first[fewer], last[fewer] = each, start[fewer], stop[fewer]
        return field, first, last

    def candidates(self, seen: Fingerprints, evidence: F32, visits: int, maximum: int) -> tuple[I64, F64, I64]:
        """The blocks in clear with the best stars for one encoded block.

        `seen`, `evidence`: the block's pairs, of rows from 0, and `FingerprintModel.evidence` of them; `visits`: pairs
        in clear that are looked at; `maximum`: blocks returned. Returns the blocks found, the likeliest first; the
        evidence of each one's best star, in nats; and the encoded pairs that were looked up, the rarest first.

        O(visits * n_fields + n_rows * n_people), and memory of a number for every row and person.
        """
        field, first, last = self._windows(seen)
        maxima = evidence.max(axis=2)
        informative = np.flatnonzero(maxima.sum(axis=1) > _COMMON)
        pairs = informative[np.argsort((last - first)[informative], kind="stable")]
        looked_up = pairs[np.cumsum((last - first)[pairs]) <= visits]
        # What the fields not yet looked at may add: most pairs are ruled out by the first ones.
        rest = np.cumsum(maxima[:, ::-1], axis=1)[:, ::-1] - maxima
        star = np.zeros((1 + int(seen.other.max(initial=0)), len(self._theirs)), dtype=np.float32)
        windows, clear = (field, first, last), (self._binned, self._people)
        star = _stars(looked_up, seen.one, seen.other, evidence, rest, *windows, *clear, star)
        best = np.zeros(self._n_blocks)
        here = np.flatnonzero((star > 0) & (self._theirs >= 0))
        np.maximum.at(best, self._theirs[here], star[here])
        touched = np.flatnonzero(best)
        if len(touched) > maximum:
            touched = touched[np.argpartition(-best[touched], maximum)[:maximum]]
        found = touched[np.argsort(-best[touched], kind="stable")]
        return found, best[found], looked_up


@numba.njit(cache=True, nogil=True)
def _stars(
    looked_up: I64,
    one: I64,
    other: I64,
    evidence: F32,
    rest: F32,
    field: I64,
    first: I64,
    last: I64,
    binned: U8,
    people: I32,
    star: F32,
) -> F32:
    """Add up, in `star`, by row and person the best evidence of each pair; the best of each person's."""
    n_people, n_fields = star.shape[1], evidence.shape[1]
    best = np.zeros(n_people, dtype=np.float32)
    touched = np.empty(n_people, dtype=np.int64)
    largest = np.zeros(n_people, dtype=np.float32)
    for pair in looked_up:
        ordered, n_touched = field[pair], 0
        for place in range(first[pair], last[pair]):
            found = np.float32(0.0)
            for each in range(n_fields):
                found += evidence[pair, each, binned[ordered, place, each]]
                if found + rest[pair, each] <= _CHANCE:
                    break
            if found <= _CHANCE:
                continue
            for end in range(2):
                person = people[ordered, place, end]
                if best[person] == 0:
                    touched[n_touched] = person
                    n_touched += 1
                best[person] = max(best[person], found - np.float32(_CHANCE))
        for at in range(n_touched):
            person = touched[at]
            for row in (one[pair], other[pair]):
                star[row, person] += best[person]
                largest[person] = max(largest[person], star[row, person])
            best[person] = 0.0
    return largest
