"""Which blocks of people in clear an encoded block resembles: its pairs' fingerprints looked up, the rarest first.

For each field the pairs in clear stand in the order of their similarity. An encoded pair is compared with those alone
that are near to it in the field where the fewest are. A block in clear is as likely as its best *star*: an encoded row
taken for a person, with what the row's pairs find at best among the pairs of that person. Pairs of the right block meet
in the right person; those of a wrong block resemble now these two people, now those, and added up over the block they
would outweigh the right one's, the more so the larger the blocks.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from gemel.custodian.leakage.fingerprint_model import FingerprintModel
from gemel.custodian.leakage.pairs import ABSENT, EQUAL, Fingerprints

_DEVIATIONS = 3.5
_UNLIKELY = -5.0  # log probability that two values which differ so much have one signature
_COMMON = 1.0  # maximum evidence below which a pair tells nothing worth the time
_CHANCE = 2.0  # evidence that a person's pairs in a wrong block find for about every encoded pair: no more counts


class PairLookup:
    """The pairs of people in clear, ready to be looked up.

    Parameters
    ----------
    clear
        The pairs.
    theirs : ndarray of int64, shape (n_people,)
        Each one's block, from 0; -1: in none.
    model
        The evidence of two pairs for each other.

    Notes
    -----
    O(n_pairs log n_pairs) for every field; a copy of the pairs, in bytes, for each.
    """

    def __init__(self, clear: Fingerprints, theirs: NDArray[np.int64], model: FingerprintModel) -> None:
        self._model = model
        order = np.argsort(clear.similar, axis=0, kind="stable").T
        self._ranked = np.sort(clear.similar, axis=0).T.copy()
        self._binned = clear.binned()[order]
        self._people = np.stack([clear.one, clear.other], axis=1).astype(np.int32)[order]
        self._theirs = theirs
        self._n_blocks = 1 + int(theirs.max(initial=-1))

    def _windows(self, seen: Fingerprints) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """For each encoded pair the field where the fewest pairs in clear are near, and which these are.

        Returns
        -------
        field, first, last : ndarray of int64, shape (n_seen,)
            Places `first` to `last` - 1 in the field's order.
        """
        n_seen, n_fields = seen.similar.shape
        field = np.zeros(n_seen, dtype=np.int64)
        first, last = np.zeros(n_seen, dtype=np.int64), np.full(n_seen, np.iinfo(np.int64).max)
        for each in range(n_fields):
            q = seen.similar[:, each].astype(np.float64)
            apart = _DEVIATIONS / np.sqrt(self._model.bits[each]) / self._model.scale[each]
            low = np.where(q == ABSENT, ABSENT, np.maximum(q - apart, -1.0))
            high = np.where(q == ABSENT, ABSENT, np.minimum(q + apart, np.nextafter(EQUAL, np.float32(0))))
            equal = q == EQUAL
            low[equal], high[equal] = 2.0 * np.exp(_UNLIKELY / self._model.bits[each]) - 1.0, EQUAL
            start = np.searchsorted(self._ranked[each], low.astype(np.float32), side="left")
            stop = np.searchsorted(self._ranked[each], high.astype(np.float32), side="right")
            fewer = stop - start < last - first
            field[fewer], first[fewer], last[fewer] = each, start[fewer], stop[fewer]
        return field, first, last

    def candidates(
        self, seen: Fingerprints, evidence: NDArray[np.float32], visits: int, maximum: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """The blocks in clear with the best stars for one encoded block.

        Parameters
        ----------
        seen, evidence
            The block's pairs, of rows from 0, and `FingerprintModel.evidence` of them.
        visits
            Pairs in clear that are looked at.
        maximum
            Blocks returned.

        Returns
        -------
        found : ndarray of int64, shape (n_found,)
            Blocks in clear, the likeliest first.
        best : ndarray of float64, shape (n_found,)
            Evidence of each one's best star, in nats.
        looked_up : ndarray of int64
            Pairs of the encoded block that were looked up, the rarest first.

        Notes
        -----
        O(visits * n_fields + n_rows * n_people), and memory of a number for every row and person.
        """
        field, first, last = self._windows(seen)
        maxima = evidence.max(axis=2)
        informative = np.flatnonzero(maxima.sum(axis=1) > _COMMON)
        pairs = informative[np.argsort((last - first)[informative], kind="stable")]
        looked_up = pairs[np.cumsum((last - first)[pairs]) <= visits]
        # What the fields not yet looked at may add: most pairs are ruled out by the first ones.
        rest = np.cumsum(maxima[:, ::-1], axis=1)[:, ::-1] - maxima
        star = _stars(
            looked_up,
            seen.one,
            seen.other,
            evidence,
            rest,
            field,
            first,
            last,
            self._binned,
            self._people,
            np.zeros((1 + int(seen.other.max(initial=0)), len(self._theirs)), dtype=np.float32),
        )
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
    looked_up: NDArray[np.int64],
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    evidence: NDArray[np.float32],
    rest: NDArray[np.float32],
    field: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    binned: NDArray[np.uint8],
    people: NDArray[np.int32],
    star: NDArray[np.float32],
) -> NDArray[np.float32]:
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
