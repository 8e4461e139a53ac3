"""Which blocks of people in clear an encoded block resembles: its pairs' fingerprints looked up, the rarest first.

For each field the pairs in clear stand in the order of their similarity. An encoded pair is compared with those alone
that are near to it in the field where the fewest are. Of each block in clear the best pair counts, and a block's pairs
are added up: no partial assignment of the two blocks can have more evidence from the pairs looked up.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from tryst.risk.leakage.fingerprint_model import FingerprintModel
from tryst.risk.leakage.pairs import ABSENT, EQUAL, Fingerprints

_DEVIATIONS = 3.5
_UNLIKELY = -5.0  # log probability that two values which differ so much have one signature
_COMMON = 1.0  # maximum evidence below which a pair tells nothing worth the time


class PairLookup:
    """The pairs of people in clear, ready to be looked up.

    Parameters
    ----------
    clear
        The pairs; their blocks are numbers from 0 to `n_blocks` - 1.
    n_blocks
        Blocks in clear.
    model
        The evidence of two pairs for each other.

    Notes
    -----
    O(n_pairs log n_pairs) for every field; a copy of the pairs, in bytes, for each.
    """

    def __init__(self, clear: Fingerprints, n_blocks: int, model: FingerprintModel) -> None:
        self._model = model
        order = np.argsort(clear.similar, axis=0, kind="stable").T
        self._ranked = np.sort(clear.similar, axis=0).T.copy()
        self._binned, self._blocks = clear.binned()[order], clear.block.astype(np.int32)[order]
        self._total, self._of_pair = np.zeros(n_blocks), np.zeros(n_blocks)
        self._stamp = np.full(n_blocks, -1, dtype=np.int64)

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
        """The blocks in clear with most evidence for one encoded block.

        Parameters
        ----------
        seen, evidence
            The block's pairs, and `FingerprintModel.evidence` of them.
        visits
            Pairs in clear that are looked at.
        maximum
            Blocks returned.

        Returns
        -------
        found : ndarray of int64, shape (n_found,)
            Blocks in clear, the likeliest first.
        bound : ndarray of float64, shape (n_found,)
            Evidence of each, in nats.
        looked_up : ndarray of int64
            Pairs of the encoded block that were looked up, the rarest first.
        """
        field, first, last = self._windows(seen)
        informative = np.flatnonzero(evidence.max(axis=2).sum(axis=1) > _COMMON)
        pairs = informative[np.argsort((last - first)[informative], kind="stable")]
        looked_up = pairs[np.cumsum((last - first)[pairs]) <= visits]
        touched = _look_up(
            looked_up, evidence, field, first, last, self._binned, self._blocks, self._total, self._of_pair, self._stamp
        )
        if len(touched) > maximum:
            touched = touched[np.argpartition(-self._total[touched], maximum)[:maximum]]
        found = touched[np.argsort(-self._total[touched], kind="stable")]
        return found, self._total[found].copy(), looked_up


@numba.njit(cache=True, nogil=True)
def _look_up(
    looked_up: NDArray[np.int64],
    evidence: NDArray[np.float32],
    field: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    binned: NDArray[np.uint8],
    block: NDArray[np.int32],
    total: NDArray[np.float64],
    of_pair: NDArray[np.float64],
    stamp: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Add up, in `total`, the best evidence of each block in clear; the blocks that have any."""
    n_touched, n_fields = 0, evidence.shape[1]
    touched = np.empty(len(total), dtype=np.int64)
    stamp[:] = -1
    for pair in looked_up:
        ordered = field[pair]
        for place in range(first[pair], last[pair]):
            found = np.float32(0.0)
            for each in range(n_fields):
                found += evidence[pair, each, binned[ordered, place, each]]
            if found <= 0:
                continue
            its = block[ordered, place]
            if stamp[its] < 0:
                touched[n_touched] = its
                n_touched += 1
                total[its] = 0.0
            if stamp[its] != pair:
                stamp[its] = pair
                of_pair[its] = 0.0
            if found > of_pair[its]:
                total[its] += found - of_pair[its]
                of_pair[its] = found
    return touched[:n_touched].copy()
