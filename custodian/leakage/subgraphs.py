r"""Growth of matched subgraphs: which rows of an encoded block are which people of a block in clear.

A partial assignment of n encoded rows to m people is as likely as the evidence of all its pairs (`fingerprint_model`)
and its prior allow. Where each person of either is in the other with probability s, an assignment of k rows has the
prior

.. math:: s^k (1-s)^{n-k} (1-s)^{m-k} (m-k)! / m!

It is grown from the strongest pairs of pairs, in both orientations, row by row, each time by the row and person with
the most evidence against all that are assigned, as long as that exceeds what the prior costs. People and rows that are
in one file only do no harm.
"""

from __future__ import annotations

import numba
import numpy as np

from gemel.common.arrays import F32, F64, I64, U8
from gemel.custodian.leakage.fingerprint_model import UNLIKE

SEEDS = 6
"""Strongest pairs of pairs that an assignment is grown from."""
_NONE = -1e18


@numba.njit(cache=True, nogil=True)
def log_prior(n: int, m: int, k: int, share: float) -> float:
    """Log prior of an assignment of k of n rows to k of m people, if a share of either is in the other."""
    total: float = k * np.log(share) + (n + m - 2 * k) * np.log(1.0 - share)
    for step in range(k):
        total -= np.log(m - step)
    return float(total)


@numba.njit(cache=True, nogil=True)
def grow_assignment(
    pair_of: I64, looked_up: I64, seen_one: I64, seen_other: I64, evidence: F32, clear_of: I64, clear: U8, share: float
) -> tuple[float, I64, F64]:
    """The likeliest assignment of an encoded block's rows to the people of a block in clear.

    `pair_of` (int64, shape (n, n)): the pair of every two rows among `evidence`; `looked_up` (int64): pairs of these
    that an assignment is grown from; `seen_one`, `seen_other` (int64): the two rows of each of these, from 0 to n - 1;
    `evidence` (float32, shape (n_pairs, n_fields, n_bins)): `FingerprintModel.evidence` of the block's pairs;
    `clear_of` (int64, shape (m, m)): the pair of every two people among `clear`; `clear` (uint8, shape (n_clear,
    n_fields)): Fingerprints in clear, binned. Returns assigned : int64, shape (n,): Person of each row, -1 for none;
    margin : float64, shape (n,): By how much each row's person exceeds the next best one, or none, the others being as
    they are.

    O(pairs looked up * m^2 + SEEDS * n m min(n, m)) evaluations of the evidence.
    """
    n, m = len(pair_of), len(clear_of)
    strength = np.zeros(SEEDS)
    seeds = np.full((SEEDS, 4), -1, dtype=np.int64)
    for place in range(len(looked_up)):
        pair = looked_up[place]
        for u in range(m):
            for v in range(u + 1, m):
                found = _of(evidence, pair, clear, clear_of[u, v])
                if found > strength[SEEDS - 1]:
                    at = SEEDS - 1
                    while at > 0 and found > strength[at - 1]:
                        strength[at] = strength[at - 1]
                        seeds[at] = seeds[at - 1]
                        at -= 1
                    strength[at] = found
                    seeds[at] = (seen_one[place], seen_other[place], u, v)
    best, chosen = _NONE, np.full(n, -1, dtype=np.int64)
    best_gain = np.zeros((n, m))
    for at in range(SEEDS):
        if seeds[at, 0] < 0:
            break
        for turned in range(2):
            assigned = np.full(n, -1, dtype=np.int64)
            taken = np.zeros(m, dtype=np.bool_)
            gain = np.zeros((n, m))
            i, j = seeds[at, 0], seeds[at, 1]
            u, v = (seeds[at, 3], seeds[at, 2]) if turned else (seeds[at, 2], seeds[at, 3])
            total = strength[at]
            assigned[i], taken[u] = u, True
            _add(gain, i, u, pair_of, evidence, clear_of, clear)
            k, w, size = j, v, 2
            while True:
                assigned[k], taken[w] = w, True
                _add(gain, k, w, pair_of, evidence, clear_of, clear)
                if size in (n, m):
                    break
                more = _NONE
                for row in range(n):
                    if assigned[row] < 0:
                        for person in range(m):
                            if not taken[person] and gain[row, person] > more:
                                more, k, w = gain[row, person], row, person
                if more + np.log(share) - 2.0 * np.log(1.0 - share) - np.log(m - size) <= 0:
                    break
                total += more
                size += 1
            total += log_prior(n, m, size, share)
            if total > best:
                best, chosen, best_gain = total, assigned, gain
    return best, chosen, _margins(chosen, best_gain, share, pair_of, evidence, clear_of, clear)


@numba.njit(cache=True, nogil=True)
def _of(evidence: F32, pair: int, clear: U8, other: int) -> float:
    """Evidence of an encoded pair for a pair in clear."""
    total = 0.0
    for field in range(evidence.shape[1]):
        total += evidence[pair, field, clear[other, field]]
    return max(UNLIKE, total)


@numba.njit(cache=True, nogil=True)
def _add(gain: F64, row: int, person: int, pair_of: I64, evidence: F32, clear_of: I64, clear: U8) -> None:
    """Add to every other row and person the evidence that one assigned row and person give for them."""
    for other in range(len(gain)):
        if other == row:
            continue
        pair = pair_of[row, other]
        for its in range(gain.shape[1]):
            if its != person:
                gain[other, its] += _of(evidence, pair, clear, clear_of[person, its])


@numba.njit(cache=True, nogil=True)
def _margins(assigned: I64, gain: F64, share: float, pair_of: I64, evidence: F32, clear_of: I64, clear: U8) -> F64:
    """By how much each assigned row exceeds its next best person, none, or an exchange with another row."""
    n, m = gain.shape
    margin = np.zeros(n)
    taken = np.zeros(m, dtype=np.bool_)
    size = 0
    for row in range(n):
        if assigned[row] >= 0:
            taken[assigned[row]] = True
            size += 1
    cost = np.log(share) - 2.0 * np.log(1.0 - share) - np.log(m - size + 1)
    for row in range(n):
        mine = assigned[row]
        if mine < 0:
            continue
        minimum = gain[row, mine] + cost
        for person in range(m):
            if not taken[person]:
                minimum = min(minimum, gain[row, mine] - gain[row, person])
        for other in range(n):
            its = assigned[other]
            if other == row or its < 0:
                continue
            # Each one's evidence against the other's person is in `gain`, and must not be: they would be exchanged.
            pair = pair_of[row, other]
            both = _of(evidence, pair, clear, clear_of[mine, its])
            now = gain[row, mine] + gain[other, its] - 2.0 * both
            minimum = min(minimum, now - gain[row, its] - gain[other, mine])
        margin[row] = minimum
    return margin
