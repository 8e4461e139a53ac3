"""Co-occurrence: one field read by means of another.

In open mode a row's signatures of several fields are in one row. Where some values of one field are known, the rows
that have them say something of the other field, as given names do of sex and towns of postcodes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from risk.leakage.recovery import UNKNOWN


def cooccurrence_alignment(
    known: NDArray[np.int64],
    codes: NDArray[np.int32],
    n_values: int,
    joint: NDArray[np.float64],
    prior: NDArray[np.float64],
) -> NDArray[np.int64]:
    r"""Likeliest public value of each signature of a field, given another field's values in the same rows.

    Parameters
    ----------
    known : ndarray of int64, shape (n_rows,)
        Public value of the first field that each row is taken to have, ``UNKNOWN`` where none is.
    codes : ndarray of int32, shape (n_rows,)
        Signature of the second field, -1 where missing.
    n_values
        Distinct signatures of the second field.
    joint : ndarray of float64, shape (n_first, n_second)
        Public probability of the first field's value given the second's, columns summing to 1.
    prior : ndarray of float64, shape (n_second,)
        Public shares of the second field's values.

    Returns
    -------
    ndarray of int64, shape (n_values,)
        :math:`\arg\max_d \log p(d) + \sum_{rows} \log p(known | d)`; ``UNKNOWN`` where no row of it is known.
    """
    here = (known != UNKNOWN) & (codes >= 0)
    logarithm = np.log(np.maximum(joint, 1e-9))
    total = np.zeros((n_values, len(prior)))
    np.add.at(total, codes[here], logarithm[known[here]])
    seen = np.bincount(codes[here], minlength=n_values) > 0
    guesses: NDArray[np.int64] = (total + np.log(prior)).argmax(axis=1).astype(np.int64)
    guesses[~seen] = UNKNOWN
    return guesses
