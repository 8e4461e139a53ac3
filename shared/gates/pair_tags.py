r"""Tags that show whether rows were changed while they were passed on and permuted.

A row's tag is :math:`\sum_j \alpha_j w_j` over GF(2^64), of its words w and a shared key alpha that no party knows. It
is shared, and goes where its row goes. Afterwards a random combination of all rows, with public factors rho, must
satisfy

.. math:: \sum_j \alpha_j \sum_i \rho_i w_{ij} = \sum_i \rho_i t_i .

Exclusive or is the addition of the field, so that shares of bits are shares of elements, and a product is made as an
*and* (Araki et al. 2016): one word a product goes to the previous party.

**What it detects.** Two of the parties hold all shares and follow the protocol, so a third can only add: to the words
of row i some e_ij, to its tag f_i (also where the tag is made), and, later, some d to the difference that is opened (a
wrong opening is detected by itself, as both holders vouch). It lacks one share of everything, so none of these depends
on alpha; and rho is drawn when all parties have received all rows, so e_ij does not depend on rho. If any e_ij is not
zero then E_j = sum_i rho_i e_ij is not zero but with a chance of 2^-64; and if it is not, the difference opened, which
is sum_j alpha_j E_j + sum_i rho_i f_i + d, is uniform, as alpha_j is: zero with a chance of 2^-64. Together 2^-63. What
is opened is a function of alpha, rho and the errors; of the rows it shows nothing.

A message that is wrong while its sender goes on with the right one adds nothing; the two holders of each share compare
theirs, so that this ends the run too, and the link is named.
"""

from __future__ import annotations

import numpy as np

from gemel.common.errors import ErrorCode, GemelError
from gemel.shared.gates.galois import combination, inner
from gemel.shared.gates.gates import Shared
from gemel.shared.gates.party import Party
from gemel.shared.gates.streams import Stream

BLOCK_ROWS = 1 << 17
"""Rows worked on, and in one message, at a time."""

_SEED_WORDS = 4


def tagged(party: Party, rows: Shared, key: Shared) -> Shared:
    """Rows with their tags as a last word.

    Parameters
    ----------
    rows
        uint64, shape (2, n, w).
    key
        uint64, shape (2, w): shares of alpha, drawn for these rows alone.

    Returns
    -------
    ndarray of uint64, shape (2, n, w + 1)
    """
    _, n, width = rows.shape
    result = np.empty((2, n, width + 1), dtype=np.uint64)
    result[:, :, :width] = rows
    for begin in range(0, n, BLOCK_ROWS):
        block = slice(begin, begin + BLOCK_ROWS)
        result[:, block, width] = inner_products(party, rows[:, block], key)
    return result


def check_tags(party: Party, rows: Shared, key: Shared) -> None:
    """Refuse rows that are not those which were tagged; their order may be another.

    Parameters
    ----------
    rows
        uint64, shape (2, n, w + 1): with the tags. All messages that made them were received.
    key
        As it was at `tagged`; not to be used again.
    """
    _, n, words = rows.shape
    # The coin is drawn when all have received everything: who could foresee rho could add errors that cancel.
    factors = Stream(party.coin(_SEED_WORDS).tobytes())
    sums = np.zeros((2, 1, words), dtype=np.uint64)
    for begin in range(0, n, BLOCK_ROWS):
        block = rows[:, begin : begin + BLOCK_ROWS]
        rho = factors.words(block.shape[1])
        for share in range(2):
            sums[share, 0] ^= combination(block[share], rho)
    difference = inner_products(party, np.ascontiguousarray(sums[:, :, :-1]), key) ^ sums[:, :, -1]
    opened = party.opened(difference, "check")
    party.check(party.stage)
    if opened.any():
        raise GemelError(
            ErrorCode.DEVIATION,
            "rows that were permuted are not those that were tagged before: a party has changed some of them",
            where=party.stage,
            got=f"a deviation of {party.own.next.title} or {party.own.previous.title}",
            remedy="find out with the others whose program or machine was changed, then begin the run again",
        )


def inner_products(party: Party, rows: Shared, factors: Shared) -> Shared:
    """Of each row the sum of products of its words with shared factors, over GF(2^64).

    Parameters
    ----------
    rows
        uint64, shape (2, n, w).
    factors
        uint64, shape (2, w).

    Returns
    -------
    ndarray of uint64, shape (2, n)

    Notes
    -----
    One message of n words to the previous party. A party may add what it likes to its own word; see above.
    """
    own = inner(rows[0], factors[0] ^ factors[1]) ^ inner(rows[1], factors[0]) ^ party.zero(rows.shape[1])
    following = party.exchanged(party.own.previous, own, party.own.next)
    party.agree(party.own.previous, own)
    party.agree(party.own.next, following)
    return np.stack([own, following])
