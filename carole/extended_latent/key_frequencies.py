"""Distributions of the keys that stand alone: how common each of their many values is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.carole.extended_latent.bayes_factor import AloneKey
from gemel.carole.extended_latent.pairs import WeightedPairs
from gemel.carole.extended_latent.variables import Values


def frequencies(
    values: Values, weighted: WeightedPairs | None = None, training: NDArray[np.int32] | None = None
) -> list[AloneKey]:
    r"""Distributions of the keys that stand alone, from how many people have each value.

    Parameters
    ----------
    values : Values
    weighted : WeightedPairs, optional
        Pairs and their match probabilities: one person in both files counts once.
    training : ndarray of int32, shape (n_records, n_variables), optional
        Records of other people.

    Returns
    -------
    list of AloneKey
        Their shares need not sum to 1: the rest is the values that neither file has, on which no pair can agree.

    Notes
    -----
    The weight of a pair's agreement on x must not be estimated from the pair itself. If the pair is no match, the
    second record has a name that the first has and n others: that has probability (n + 1 - d) / N. The discount d is
    Pitman and Yor's, n1 / (n1 + 2 n2) from the values that a file has once and twice: most names that occur once are
    far rarer than 1 / N. Plain shares would give agreement on the rarest names no weight.
    """
    found = []
    for column in values.alone_columns:
        levels = values.variables[column].levels
        in_a, in_b = (_counts(codes[:, column], levels) for codes in (values.codes_a, values.codes_b))
        people = in_a + in_b
        if training is not None:
            people = people + _counts(training[:, column], levels)
        twice = np.zeros(levels)
        if weighted is not None:
            of_a, of_b = values.codes_a[weighted.row_a, column], values.codes_b[weighted.row_b, column]
            agree = (of_a == of_b) & (of_a >= 0)
            twice = np.bincount(of_a[agree], weighted.weight[agree], minlength=levels).astype(np.float64)
            twice = np.minimum(twice, np.minimum(in_a, in_b))
        total = max(float(people.sum() - twice.sum()), 1.0)
        elsewhere = twice * (1 - 1 / np.maximum(in_a * in_b, 1))
        others = np.maximum(people - 1 - elsewhere, 1.0)
        share = (others - max(discount(in_a), discount(in_b))) / total
        if share.sum() > 1:
            share /= share.sum()
        found.append(AloneKey(column, share, share, share))
    return found


def discount(counts: NDArray[np.float64]) -> float:
    """Pitman and Yor's discount of counts of values, between 0 (few values, all common) and .95."""
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return min(once / (once + 2 * twice), 0.95) if once else 0.0


def _counts(codes: NDArray[np.int32], levels: int) -> NDArray[np.float64]:
    return np.bincount(codes[codes >= 0], minlength=levels).astype(np.float64)
