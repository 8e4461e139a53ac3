r"""Comparison of values themselves, where Carole is trusted with them: Jaro and Jaro-Winkler similarity.

With c characters in common (equal, and no further apart than half the longer string less one) and t half the number of
those that stand in another order, Jaro's similarity of strings of lengths x and y is
:math:`(c/x + c/y + (c - t)/c)/3`. Winkler adds a tenth of what is missing to 1 for each of up to four characters in
which the strings begin alike, where the similarity exceeds .7. Both are 1 for equal strings only.

As with signatures, every pair of distinct values is compared once, and pairs of rows look their level up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Jaro, JaroWinkler
from rapidfuzz.process import cdist, cpdist

Comparator = Literal["jaro", "jaro_winkler"]

_SIMILARITY: dict[str, Any] = {"jaro": Jaro.similarity, "jaro_winkler": JaroWinkler.similarity}

_ROUNDING = 1e-9
"""A similarity above a bound by no more than this counts as the bound: .9 is computed as .9000000000000001."""


def similarity_table(
    a: Sequence[str], b: Sequence[str], comparator: Comparator, threads: int = 1
) -> NDArray[np.float64]:
    """Similarity of every pair of values.

    Parameters
    ----------
    a, b : sequence of str
        Distinct values of the two sides.
    comparator : {"jaro", "jaro_winkler"}
    threads : int
        Threads to use.

    Returns
    -------
    ndarray of float64, shape (len(a), len(b))
        From 0 to 1.

    Notes
    -----
    O(len(a) * len(b)) comparisons, about 5 million a second and core for names.

    References
    ----------
    .. [1] Jaro, JASA 84, 1989. doi:10.1080/01621459.1989.10478785
    .. [2] Winkler, String comparator metrics and enhanced decision rules, 1990.
    """
    if not len(a) or not len(b):
        return np.zeros((len(a), len(b)))
    table: NDArray[np.float64] = cdist(a, b, scorer=_SIMILARITY[comparator], dtype=np.float64, workers=threads)
    return table


def pair_similarities(a: Sequence[str], b: Sequence[str], comparator: Comparator) -> NDArray[np.float64]:
    """Similarity of each value of one list to the value at its place in the other, shape (len(a),)."""
    if not len(a):
        return np.zeros(0)
    found: NDArray[np.float64] = cpdist(a, b, scorer=_SIMILARITY[comparator], dtype=np.float64, workers=1)
    return found


def levels_of(similarity: NDArray[np.float64], bounds: Sequence[float]) -> NDArray[np.int8]:
    """Comparison level of each similarity: the first inclusive upper bound that it does not exceed."""
    upper = np.asarray(bounds, dtype=np.float64)[:-1] + _ROUNDING
    return np.searchsorted(upper, similarity, side="left").astype(np.int8)
