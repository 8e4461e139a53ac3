"""Joining rows by their category codes, and reading the codes by public margins.

Category codes are keyed relabellings: Carole cannot read them, but equal rows are equal. Codes that serve the whole
file separate or join rows of different rules; the more categories, the more rows have a combination of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gemel.common.signatures.category_tree import Partition, code_groups, ordered
from gemel.custodian.leakage.recovery import Recovery, score


def unique_rows(codes: NDArray[np.int64]) -> float:
    """Share of the rows, of shape (n_rows, n_variables), whose combination of codes no other row has."""
    if not len(codes):
        return 0.0
    _, counts = np.unique(codes, axis=0, return_counts=True)
    return float((counts == 1).sum() / len(codes))


def margin_alignment(
    codes: NDArray[np.int64], n_categories: int, margin: NDArray[np.float64], partitions: Sequence[Partition] = ()
) -> NDArray[np.int64]:
    """Public category taken for each code by the rank of its count, shape (n_categories,).

    Parameters
    ----------
    partitions
        The groups by which the codes are ordered, where the variable may be coarsened (`category_tree`): groups of one
        shape are ranked by their counts, and categories in their group.
    """
    counts = np.bincount(codes[codes >= 0], minlength=n_categories)
    guesses = np.empty(n_categories, dtype=np.int64)
    of_codes = [groups.tolist() for groups in code_groups(partitions, n_categories)]
    guesses[ordered(of_codes, (-counts).tolist(), sum)] = ordered(partitions, (-margin).tolist(), sum)
    return guesses


def code_recovery(
    name: str,
    codes: NDArray[np.integer],
    labels: NDArray[np.int64],
    margin: NDArray[np.float64],
    partitions: Sequence[Partition] = (),
) -> Recovery:
    """What the public margin of a variable discloses of its codes.

    Parameters
    ----------
    name
        The variable, for the result.
    codes : ndarray of int, shape (n_rows,)
        Keyed codes as sent, -1 where missing.
    labels : ndarray of int64, shape (n_categories,)
        The category that each code truly is.
    margin : ndarray of float64, shape (n_categories,)
        How common each category is in public, in any unit.
    partitions
        As in `margin_alignment`.
    """
    held = codes[codes >= 0].astype(np.int64)
    counts = np.bincount(held, minlength=len(margin))
    guesses = margin_alignment(held, len(margin), margin, partitions)
    return score("category codes and public margins", name, guesses, labels, counts, int(margin.argmax()))
