r"""Which pairs of similar records of one file are one person, and which are kin.

Where few people are in a file twice, the pairs most alike are of households: all is equal but the given name and the
date of birth. Three such pairs are too few for a class of their own to be supported by evidence, and between two files
the assignment keeps them apart, since each has its own partner. Within one file nothing does. But every file has
households. So a pair that is not of strangers is of one person or of kin, who agree like one person in the fields of
the household and like strangers in the personal ones:

.. math:: P(\text{one person}) = \frac{n_1 B}{n_1 B + n_k}, \qquad B = \prod_{q \text{ personal}} m_q(\gamma_q) /
    u_q(\gamma_q).

Their numbers :math:`n_1` and :math:`n_k` are estimated from the same pairs by EM, with one pseudo-pair of each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PSEUDO_PAIRS = 1.0
"""Pairs that are supposed of each kind."""

MAX_STEPS = 1000
TOLERANCE = 1e-9


def without_kin(same: NDArray[np.float64], personal: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability that pairs of records of one file are of one person, where kin may be what makes them similar.

    Parameters
    ----------
    same : ndarray of float64, shape (n_pairs,)
        Probability that a pair is not of strangers.
    personal : ndarray of float64, shape (n_pairs,)
        Match weight of the personal fields, in bits.

    Returns
    -------
    ndarray of float64, shape (n_pairs,)
        At most `same`.

    Notes
    -----
    O(pairs) in each step of EM, of which there are at most `MAX_STEPS`.
    """
    against = np.exp2(-np.clip(personal, -1000.0, 1000.0))
    kin = 0.5 * float(same.sum())
    one_person = same
    for _ in range(MAX_STEPS):
        odds = (kin + PSEUDO_PAIRS) / (float(same.sum()) - kin + PSEUDO_PAIRS)
        one_person = same / (1.0 + odds * against)
        before, kin = kin, float(same.sum() - one_person.sum())
        if abs(kin - before) <= TOLERANCE * (1.0 + kin):
            break
    return one_person
