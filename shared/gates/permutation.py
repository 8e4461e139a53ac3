"""Rows in an order that no party knows, on fresh shares (after Laur, Willemson and Zhang 2011).

Three rounds. In round k two parties, k and k - 1, draw an order pi from randomness that they alone share; the third,
k + 1, does not learn it. With x the shares before and y those after, indices modulo three::

    y_(k+1), known to k and k + 1, and y_(k-1), known to k - 1 and k + 1, are drawn from their keys
    k sends      pi(x_k ^ x_(k+1)) ^ y_(k+1)  to k - 1
    k - 1 sends  pi(x_(k-1)) ^ y_(k-1)        to k
    y_k, known to both, is the exclusive or of the two messages

so that y_0 ^ y_1 ^ y_2 = pi(x_0 ^ x_1 ^ x_2). The receiver of a message lacks the share that masks it, and k + 1 gets
no message at all: each party's view can be drawn without knowledge of the rows, and every party lacks one of the
orders. A party that permutes otherwise, or sends other words, adds an error that does not depend on what it does not
know; tags detect it (`pair_tags`).

References
----------
Laur, Willemson and Zhang, Round-efficient oblivious database manipulation, ISC 2011. doi:10.1007/978-3-642-24861-0_18
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from gemel.common.parties import ComputeParty
from gemel.shared.gates.gates import Shared
from gemel.shared.gates.pair_tags import BLOCK_ROWS, check_tags, tagged
from gemel.shared.gates.party import Party
from gemel.shared.gates.streams import Stream

# A random order that follows from a key, the same for all who have it, whatever their version of NumPy.

_WORDS_AT_ONCE = 1 << 16


def random_order(key: bytes, n: int) -> NDArray[np.int64]:
    """A permutation of 0 to n - 1, each as probable as any other, from a key of 32 bytes used for nothing else. O(n).

    The shuffle of Fisher and Yates: from the last place down, place i is exchanged with place j, a word of the key's
    stream modulo i + 1; words from the largest multiple of i + 1 on are left out, as they would make some j more
    probable.
    """
    order = np.arange(n, dtype=np.int64)
    stream = Stream(key)
    place = n - 1
    while place > 0:
        place = _shuffle(order, place, stream.words(min(place, _WORDS_AT_ONCE)))
    return order


@numba.njit(cache=True, nogil=True)
def _shuffle(order, place, words):  # type: ignore[no-untyped-def]
    """Exchange from `place` down as far as the words are enough; the place that is next."""
    for word in words:
        choices = np.uint64(place + 1)
        # 2^64 mod choices, in 64 bits.
        excess = (np.uint64(0) - choices) % choices
        if word > np.uint64(0xFFFFFFFFFFFFFFFF) - excess:
            continue
        other = np.int64(word % choices)
        order[place], order[other] = order[other], order[place]
        place -= 1
        if place == 0:
            break
    return place


_KEY_WORDS = 4


def permuted(party: Party, rows: Shared, stage: str) -> Shared:
    """The same rows, uint64 of shape (2, n, w), in an order that no party knows, on fresh shares.

    Raises `GemelError`: DEVIATION if a party changed rows, or did not follow the protocol otherwise; it is verified
    before this returns. 16 (w + 1) + 8 bytes are sent for each row and party, in blocks that are sent and received by
    turns. Memory: three times that of `rows`.
    """
    party.stage = stage
    width = rows.shape[2]
    key = party.random((width,))
    current = tagged(party, rows, key)
    for knowing in ComputeParty:
        current = _round(party, current, knowing)
    check_tags(party, current, key)
    return np.ascontiguousarray(current[:, :, :width])


def _round(party: Party, rows: Shared, knowing: ComputeParty) -> Shared:
    """One round: `knowing` and the one before it permute, the third only draws its new shares."""
    _, n, width = rows.shape
    seeds = party.random((_KEY_WORDS,))
    place = {knowing: 0, knowing.previous: 1}.get(party.own)
    order = None if place is None else random_order(seeds[place].tobytes(), n)
    fresh = np.empty_like(rows)
    for begin in range(0, n, BLOCK_ROWS):
        block = slice(begin, min(begin + BLOCK_ROWS, n))
        fresh[:, block] = party.random((block.stop - begin, width))
        if place is None or order is None:
            continue
        partner = knowing.previous if place == 0 else knowing
        # The mask is the share that the partner lacks; the other one is to be that which both hold.
        own = fresh[1 - place, block].copy()
        _add(rows if place == 0 else rows[:1], order[block], own)
        fresh[place, block] = own ^ party.exchanged(partner, own, partner)
        party.agree(partner, fresh[place, block])
    return fresh


@numba.njit(cache=True, nogil=True)
def _add(shares, places, result):  # type: ignore[no-untyped-def]
    """Add the rows at some places, of all shares given."""
    for row in range(len(places)):
        place = places[row]
        for share in range(shares.shape[0]):
            for word in range(shares.shape[2]):
                result[row, word] ^= shares[share, place, word]
