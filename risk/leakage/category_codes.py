"""Joining rows by their category codes, and reading the codes by public margins.

Category codes are keyed relabellings: Carole cannot read them, but equal rows are equal. Codes that serve the whole
file tell rows of different rules apart or together; the more categories, the more rows have a combination of their own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tryst.risk.leakage.recovery import UNKNOWN, Recovery, score


def unique_rows(codes: NDArray[np.int64]) -> float:
    """Share of the rows, of shape (n_rows, n_variables), whose combination of codes no other row has."""
    if not len(codes):
        return 0.0
    _, counts = np.unique(codes, axis=0, return_counts=True)
    return float((counts == 1).sum() / len(codes))


def joined_rows(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row of the second set that each row of the first is, where both have the combination alone; else ``UNKNOWN``."""
    joined = np.full(len(one), UNKNOWN, dtype=np.int64)
    if not len(one) or not len(other):
        return joined
    _, of = np.unique(np.concatenate([one, other]), axis=0, return_inverse=True)
    mine, theirs = of[: len(one)], of[len(one) :]
    alone = np.bincount(theirs, minlength=of.max() + 1)
    place = np.full(len(alone), UNKNOWN, dtype=np.int64)
    place[theirs] = np.arange(len(theirs))
    single = (np.bincount(mine, minlength=len(alone))[mine] == 1) & (alone[mine] == 1)
    joined[single] = place[mine[single]]
    return joined


def margin_alignment(codes: NDArray[np.int64], n_categories: int, margin: NDArray[np.float64]) -> NDArray[np.int64]:
    """Public category taken for each code by the rank of its count, shape (n_categories,)."""
    counts = np.bincount(codes[codes >= 0], minlength=n_categories)
    guesses = np.empty(n_categories, dtype=np.int64)
    guesses[np.argsort(-counts, kind="stable")] = np.argsort(-margin, kind="stable")
    return guesses


def code_recovery(
    name: str, codes: NDArray[np.integer], labels: NDArray[np.int64], margin: NDArray[np.float64]
) -> Recovery:
    """What the public margin of a variable tells of its codes.

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
    """
    held = codes[codes >= 0].astype(np.int64)
    counts = np.bincount(held, minlength=len(margin))
    guesses = margin_alignment(held, len(margin), margin)
    return score("category codes and public margins", name, guesses, labels, counts, int(margin.argmax()))
