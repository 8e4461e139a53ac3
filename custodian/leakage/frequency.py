"""Frequency alignment: the commonest signature is the commonest public value, the next one the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.custodian.leakage.public import PublicValues
from gemel.custodian.leakage.recovery import UNKNOWN
from gemel.custodian.leakage.view import FieldView

OVERDISPERSION = 3.0
"""Variance of a value's count over its mean: families share names, and public counts are of other people."""


def frequency_alignment(view: FieldView, public: PublicValues) -> NDArray[np.int64]:
    """Public value for each signature by rank alone, ``UNKNOWN`` after the dictionary's end.

    Notes
    -----
    The likeliest assignment one to one when counts are all that is known: counts and expected counts are both sorted,
    since exchanging two claims that are out of order never lowers the likelihood of independent Poisson counts.
    """
    guesses = np.full(view.n_values, UNKNOWN, dtype=np.int64)
    order = view.commonest_first()[: len(public)]
    guesses[order] = np.arange(len(order))
    return guesses


def count_fit(
    counts: NDArray[np.int64], expected: NDArray[np.float64], overdispersion: float = OVERDISPERSION
) -> NDArray[np.float64]:
    r"""Log-likelihood of each count under each expected one, up to a constant, shape (n_counts, n_expected).

    :math:`-2(\sqrt{c} - \sqrt{\lambda})^2/\phi`: the square root of a count has a variance of a quarter (times the
    overdispersion) whatever its mean.
    """
    difference = np.sqrt(counts)[:, None] - np.sqrt(expected)[None, :]
    fitted: NDArray[np.float64] = -2.0 * difference**2 / overdispersion
    return fitted
