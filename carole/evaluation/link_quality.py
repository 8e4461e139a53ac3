"""Precision, recall and F1: of the decision, and of the best threshold given the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gemel.common.arrays import F64, Flags, Ints
from gemel.common.errors import GemelError, parameter


@dataclass(frozen=True)
class TiedClasses:
    """Classes of pairs, by descending probability.

    `probability` (float64, shape (n_classes,)): strictly descending; `pairs`, `matches` (float64, shape (n_classes,)):
    pairs in each class, and matches among them.
    """

    probability: F64
    pairs: F64
    matches: F64


def tied_classes(probability: F64, is_match: Flags) -> TiedClasses:
    """Group pairs by their probability, or any score that rises with it.

    `probability`, `is_match` (float64 and bool, shape (n_pairs,)). Raises PARAMETER if the arrays differ in length or a
    probability is not a number.
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
    return parameter("evaluation", f"expected {expected}", got, "score the pairs again")


@dataclass(frozen=True)
class Quality:
    """Quality of a set of links.

    `matches`: matches between the two files, those that blocking lost included.
    """

    links: int
    true_links: int
    matches: int

    @property
    def precision(self) -> float:
        """Share of links that are matches; 1 where nothing is linked, as nothing is linked wrongly."""
        return self.true_links / self.links if self.links else 1.0

    @property
    def recall(self) -> float:
        """Share of matches that are linked; 1 where there is none to find."""
        return self.true_links / self.matches if self.matches else 1.0

    @property
    def f1(self) -> float:
        return 2 * self.true_links / (self.links + self.matches) if self.links + self.matches else 1.0


def quality(is_match: Flags, n_matches: int) -> Quality:
    """Quality of links, of each of which is known whether it is a match."""
    true_links = int(np.count_nonzero(is_match))
    check_matches(n_matches, true_links)
    return Quality(len(is_match), true_links, n_matches)


def best_threshold(probability: F64, is_match: Flags, n_matches: int) -> tuple[float, Quality]:
    """Threshold at which linking every pair of at least that probability gives the greatest F1, and the quality then.

    `probability`, `is_match` (float64 and bool, shape (n_pairs,)). Returns the highest threshold among equals; 1 where
    there is no pair. Raises PARAMETER if the inputs disagree.
    """
    classes = tied_classes(probability, is_match)
    if len(probability) == 0:
        return 1.0, Quality(0, 0, n_matches)
    links, true_links = np.cumsum(classes.pairs), np.cumsum(classes.matches)
    check_matches(n_matches, float(true_links[-1]))
    best = int(np.argmax(true_links / (links + n_matches)))
    return float(classes.probability[best]), Quality(int(links[best]), int(true_links[best]), n_matches)


# The expected precision-recall curve and the area under it.
#
# Pairs of equal probability form one class, in which the order is arbitrary, so the curve through a class is the
# expectation over its orders. With T0 matches among the n0 pairs before a class of n pairs with match share h, the
# expected precision after k more is :math:`(T_0 + h k) / (n_0 + k)`, while recall rises by h / T a pair. The area is
#
# .. math:: \sum \frac{h}{T} \int_0^n \frac{T_0 + h k}{n_0 + k} dk
#     = \sum \frac{h}{T} \left[ h n + (T_0 - h n_0) \log(1 + n / n_0) \right].
#
# Trapezia between the ends of classes draw a straight line where the curve is convex, and overstate the area; they are
# given beside it because published figures use them.


@dataclass(frozen=True)
class PrecisionRecall:
    """An expected precision-recall curve.

    `threshold`, `recall`, `precision` (float64, shape (n_points,)): at the end of each class of equal probability, most
    probable first; one point per distinct recall and precision; `auc`: area under the expected curve, from recall 0 to
    the last point; 0 where there is no match.
    """

    threshold: F64
    recall: F64
    precision: F64
    auc: float
    auc_trapezium: float


def expected_precision_recall(
    probability: F64, is_match: Flags, n_matches: int, n_unscored: int = 0
) -> PrecisionRecall:
    """Expected precision and recall at every threshold, and the area under them.

    `probability` (float64, shape (n_pairs,)): match or link probabilities, or any score that rises with them;
    `is_match` (bool, shape (n_pairs,)); `n_unscored`: unscored pairs below the floor, treated as one last class that
    holds the remaining matches. With 0, matches without a score are never reached, and the curve ends before recall 1.
    O(n_pairs log n_pairs).
    """
    return curve_of(tied_classes(probability, is_match), n_matches, n_unscored)


def curve_of(classes: TiedClasses, n_matches: int, n_unscored: int = 0) -> PrecisionRecall:
    """As `expected_precision_recall`, from counted classes. O(n_classes)."""
    threshold, pairs, matches = classes.probability, classes.pairs, classes.matches
    found = float(matches.sum())
    check_matches(n_matches, found)
    if n_unscored > 0:
        threshold = np.append(threshold, -np.inf)
        pairs, matches = np.append(pairs, float(n_unscored)), np.append(matches, n_matches - found)
    if len(pairs) == 0 or n_matches == 0:
        none = np.zeros(0)
        return PrecisionRecall(none, none, none, 0.0, 0.0)
    seen, true = np.cumsum(pairs), np.cumsum(matches)
    before, true_before = seen - pairs, true - matches
    share = matches / pairs
    with np.errstate(divide="ignore"):
        stretch = np.where(before > 0, np.log1p(pairs / np.where(before > 0, before, 1.0)), 0.0)
    area = share * (share * pairs + (true_before - share * before) * stretch) / n_matches
    recall, precision = true / n_matches, true / seen
    start = np.concatenate((precision[:1], precision[:-1]))
    trapezia = matches / n_matches * (start + precision) / 2
    distinct = np.ones(len(recall), dtype=np.bool_)
    distinct[1:] = (np.diff(recall) != 0) | (np.diff(precision) != 0)
    return PrecisionRecall(
        threshold[distinct], recall[distinct], precision[distinct], float(area.sum()), float(trapezia.sum())
    )


@dataclass(frozen=True)
class Calibration:
    """A calibration curve: the diagonal if probabilities are calibrated.

    `expected`, `observed` (float64, shape (n_points,)): sum of the probabilities of the most probable pairs, and
    matches among them, at the end of each class of equal probability; `largest_gap`: greatest difference of the two, as
    a share of all matches observed; above 0, probabilities are too high, below 0 too low.
    """

    expected: F64
    observed: F64
    largest_gap: float


def calibration(probability: F64, is_match: Flags) -> Calibration:
    """Cumulative probability against cumulative matches.

    `probability` (float64, shape (n_pairs,)); `is_match` (bool, shape (n_pairs,)). O(n_pairs log n_pairs). The order
    inside a class is arbitrary, so the curve has one point per class; its observed values are the expectation over the
    orders (Smith and Elliot 2017, figure 2).
    """
    classes = tied_classes(probability, is_match)
    expected = np.cumsum(classes.probability * classes.pairs)
    observed = np.cumsum(classes.matches)
    gap = expected - observed
    worst = float(gap[np.argmax(np.abs(gap))]) if len(gap) else 0.0
    return Calibration(expected, observed, worst / max(float(observed[-1]) if len(observed) else 0.0, 1.0))


UNKNOWN = -1
"""The person of a record that the truth does not cover: it matches no record."""


def number_of_matches(person_a: Ints, person_b: Ints) -> int:
    """Number of pairs of records of the same person, over the whole product of the two files.

    `person_a`, `person_b` (int, shape (n_a,) and (n_b,)): a number for the person behind each record, the same in both
    files, or ``UNKNOWN``. Returns int: more than the number of persons in both files where a file holds a person twice.
    """
    a, times_a = np.unique(person_a[person_a != UNKNOWN], return_counts=True)
    b, times_b = np.unique(person_b[person_b != UNKNOWN], return_counts=True)
    _, in_a, in_b = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    return int(times_a[in_a] @ times_b[in_b])


def matching_pairs(person_a: Ints, person_b: Ints, row_a: Ints, row_b: Ints) -> Flags:
    """Whether each pair of rows (int, shape (n_pairs,)) is a match; persons as for `number_of_matches`."""
    of_a, of_b = person_a[row_a], person_b[row_b]
    return np.asarray((of_a == of_b) & (of_a != UNKNOWN))
