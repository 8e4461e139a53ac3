r"""More weight for agreement on a rare value: the value-specific weight of Fellegi and Sunter, an option of a field.

For a pair that agrees exactly on a value x of a field, two different people do so by chance with probability
:math:`P(x)^2`, two records of one person with probability P(x). Given that they agree exactly, the additional Bayes
factor is

.. math:: \frac{P(x)}{P(x)^2 / c} = \frac{c}{P(x)}, \qquad c = \sum_x P(x)^2 ,

above 1 for a value rarer than non-matches that agree have on average. Both distributions sum to 1, so that m and u,
which hold whatever the value is, are unchanged; the factor is added to a pair's weight in the decision.
Frequencies are those of the distinct signatures in both files, each file with weight one half: no further data are
sent for it, and a value that is missing on either side or not equal on both adds nothing.

Factors of several fields multiply, as if their values were independent: a rare suburb and its rare postcode would count
twice. The option is set for each field; set it for only one of such fields.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet

Codes = NDArray[np.int64]


def joint_codes(a: FieldSignatures, b: FieldSignatures) -> tuple[Codes, Codes]:
    """Codes of the values on both sides, equal where signatures (or values) are; -1 where a value is missing."""
    both = np.ascontiguousarray(np.concatenate([a.signatures, b.signatures]))
    _, joint = np.unique(both.view([("", both.dtype)] * both.shape[1]).ravel(), return_inverse=True)
    joint = joint.ravel().astype(np.int64)

    def codes(field: FieldSignatures, of_values: Codes) -> Codes:
        if not len(of_values):
            return np.full(len(field.codes), -1, dtype=np.int64)
        return np.where(field.codes >= 0, of_values[field.codes], -1)

    return codes(a, joint[: len(a.signatures)]), codes(b, joint[len(a.signatures) :])


def value_weights(code_a: Codes, code_b: Codes) -> NDArray[np.float64]:
    """Weight of agreement on each value, in bits: log2 of c / P(x).

    Parameters
    ----------
    code_a, code_b : ndarray of int64
        Value of each row, or -1.

    Returns
    -------
    ndarray of float64, shape (n_values,)
        0 for a value that no row has.
    """
    n = max(int(code_a.max(initial=-1)), int(code_b.max(initial=-1))) + 1
    share = np.zeros(n)
    for code in (code_a, code_b):
        there = code[code >= 0]
        if len(there):
            share += np.bincount(there, minlength=n) / (2 * len(there))
    share /= max(float(share.sum()), 1e-300)
    chance = float(share @ share)
    seen = share > 0
    weights = np.zeros(n)
    weights[seen] = np.log2(chance / share[seen])
    return weights


def rarity(
    a: SignatureSet,
    b: SignatureSet,
    names: Sequence[str],
    row_a: NDArray[np.integer],
    row_b: NDArray[np.integer],
) -> NDArray[np.float64]:
    """What the rarity of common values adds to the weight of pairs, in bits.

    Parameters
    ----------
    a, b : SignatureSet
    names : sequence of str
        The fields with the option.
    row_a, row_b : ndarray of int, shape (n_pairs,)

    Returns
    -------
    ndarray of float64, shape (n_pairs,)

    Notes
    -----
    O(distinct values log distinct values + rows + pairs) a field.
    """
    total = np.zeros(len(row_a))
    for name in names:
        code_a, code_b = joint_codes(a.fields[name], b.fields[name])
        weights = value_weights(code_a, code_b)
        first, second = code_a[row_a], code_b[row_b]
        agree = (first == second) & (first >= 0)
        total[agree] += weights[first[agree]]
    return total
