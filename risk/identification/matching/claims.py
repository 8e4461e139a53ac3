"""What an intruder claims who links a release to people he knows, and how often he is right (SE17 section 3.1).

He has a probability for each pair of a person and a record. Two ways of going about it: claim the most probable pair of
all, or for every person the most probable record, where that is probable enough. Without the truth the probabilities
must serve, and then it matters that they are not below the truth: `Claims` has both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import GemelError, parameter
from gemel.risk.arrays import Floats, Mask


@dataclass(frozen=True)
class Claims:
    """Claims of re-identification.

    `number`: how many are made; `claimed`: mean probability that the intruder gives them; 0 where none is made; `true`:
    share of them that is right, in expectation where several pairs are as probable; None where the truth is not known.
    """

    number: int
    claimed: float
    true: float | None

    @property
    def correct(self) -> float | None:
        return None if self.true is None else self.true * self.number


def claim_most_probable(probability: Floats, is_match: Mask | None = None) -> Claims:
    """One claim: the most probable pair, drawn at random from those that are as probable.

    `probability` (float64, shape (n_pairs,)); `is_match` (bool, shape (n_pairs,), optional).
    """
    _check(probability, is_match)
    if not len(probability):
        return Claims(0, 0.0, None if is_match is None else 0.0)
    top = float(probability.max())
    true = None if is_match is None else float(is_match[probability == top].mean())
    return Claims(1, top, true)


def claim_best_of_each(
    target: NDArray[np.integer], probability: Floats, is_match: Mask | None = None, minimum: float = 0.0
) -> Claims:
    """One claim for every target whose most probable pair reaches `minimum`; equally probable pairs by lot.

    `target` (int, shape (n_pairs,)): whom the pair is about: the person, or the record where the intruder starts from
    the release; `probability` (float64, shape (n_pairs,)); `is_match` (bool, shape (n_pairs,), optional); `minimum`:
    probability below which nothing is claimed.

    O(n_pairs).
    """
    _check(probability, is_match)
    if len(target) != len(probability):
        raise _wrong("one target for each pair", f"{len(target)} for {len(probability)} pairs")
    if not 0.0 <= minimum <= 1.0:
        raise _wrong("minimum in 0 to 1", f"{minimum:g}")
    people, who = np.unique(target, return_inverse=True)
    best = np.zeros(len(people))
    np.maximum.at(best, who, probability)
    claiming = best >= minimum if len(people) else np.zeros(0, dtype=bool)
    number = int(claiming.sum())
    if not number:
        return Claims(0, 0.0, None if is_match is None else 0.0)
    claimed = float(best[claiming].mean())
    if is_match is None:
        return Claims(number, claimed, None)
    tied = probability == best[who]
    ties = np.bincount(who[tied], minlength=len(people))
    right = np.bincount(who[tied], weights=is_match[tied], minlength=len(people)) / np.maximum(ties, 1)
    return Claims(number, claimed, float(right[claiming].mean()))


def _check(probability: Floats, is_match: Mask | None) -> None:
    if len(probability) and not (probability.min() >= 0 and probability.max() <= 1):
        raise _wrong("probabilities", "numbers outside 0 to 1")
    if is_match is not None and is_match.shape != probability.shape:
        raise _wrong("one truth for each pair", f"{len(is_match)} for {len(probability)} pairs")


def _wrong(expected: str, got: str) -> GemelError:
    return parameter("claims", f"expected {expected}", got)
