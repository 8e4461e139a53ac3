"""Pairs in classes of equal probability, most probable first: within a class the order is arbitrary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gemel.carole.arrays import F64, Flags
from gemel.common.errors import GemelError, parameter


@dataclass(frozen=True)
class TiedClasses:
    """Classes of pairs, by descending probability.

    Parameters
    ----------
    probability : ndarray of float64, shape (n_classes,)
        Strictly descending.
    pairs, matches : ndarray of float64, shape (n_classes,)
        Pairs in each class, and matches among them.
    """

    probability: F64
    pairs: F64
    matches: F64


def tied_classes(probability: F64, is_match: Flags) -> TiedClasses:
    """Group pairs by their probability.

    Parameters
    ----------
    probability : ndarray of float64, shape (n_pairs,)
        Or any score that rises with it.
    is_match : ndarray of bool, shape (n_pairs,)

    Raises
    ------
    GemelError
        ``PARAMETER`` if the arrays differ in length or a probability is not a number.
    """
    if probability.shape != is_match.shape or probability.ndim != 1:
        raise wrong("one probability and one truth per pair", f"{probability.shape} and {is_match.shape}")
    if np.isnan(probability).any():
        raise wrong("probabilities", f"{int(np.isnan(probability).sum())} NaN values")
    distinct, member = np.unique(-probability, return_inverse=True)
    return TiedClasses(
        probability=-distinct,
        pairs=np.bincount(member, minlength=len(distinct)).astype(np.float64),
        matches=np.bincount(member, weights=is_match, minlength=len(distinct)).astype(np.float64),
    )


def check_matches(n_matches: int, found: float) -> None:
    """Raise unless there are at least as many matches in total as among the given pairs."""
    if n_matches < found:
        raise wrong(f"at least the {int(found)} matches among the pairs", str(n_matches))


def wrong(expected: str, got: str) -> GemelError:
    """The error for inconsistent inputs."""
    return parameter("evaluation", f"expected {expected}", got, "score the pairs again")
