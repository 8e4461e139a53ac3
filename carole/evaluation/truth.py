"""Which pairs are matches, when the person behind each record is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1
"""The person of a record that the truth does not cover: it matches no record."""


def number_of_matches(person_a: NDArray[np.integer], person_b: NDArray[np.integer]) -> int:
    """Number of pairs of records of the same person, over the whole product of the two files.

    Parameters
    ----------
    person_a, person_b : ndarray of int, shape (n_a,) and (n_b,)
        A number for the person behind each record, the same in both files, or ``UNKNOWN``.

    Returns
    -------
    int
        More than the number of persons in both files where a file holds a person twice.
    """
    a, times_a = np.unique(person_a[person_a != UNKNOWN], return_counts=True)
    b, times_b = np.unique(person_b[person_b != UNKNOWN], return_counts=True)
    _, in_a, in_b = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    return int(times_a[in_a] @ times_b[in_b])


def matching_pairs(
    person_a: NDArray[np.integer],
    person_b: NDArray[np.integer],
    row_a: NDArray[np.integer],
    row_b: NDArray[np.integer],
) -> NDArray[np.bool_]:
    """Whether each pair of rows is a match.

    Parameters
    ----------
    person_a, person_b : ndarray of int, shape (n_a,) and (n_b,)
        As for `number_of_matches`.
    row_a, row_b : ndarray of int, shape (n_pairs,)

    Returns
    -------
    ndarray of bool, shape (n_pairs,)
    """
    of_a, of_b = person_a[row_a], person_b[row_b]
    return np.asarray((of_a == of_b) & (of_a != UNKNOWN))
