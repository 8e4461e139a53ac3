"""Distribution of a cell's published count given all true counts: what many protections of one table must follow."""

from __future__ import annotations

from math import comb

import numpy as np
from scipy.stats import binom

from gemel.risk.arrays import Floats, Integers
from gemel.risk.attribution.laws import Law
from gemel.risk.attribution.protections.records import Randomised, Swapped


def published_counts(law: Law, counts: Integers, index: tuple[int, ...]) -> Floats:
    """Over 0 .. the true counts' sum, or more. For most laws it depends on the cell's own count alone."""
    if isinstance(law, Swapped):
        return swapped_counts(law, counts, index)
    if isinstance(law, Randomised):
        return redrawn_counts(law, counts, index)
    return law.probability(np.arange(int(counts.sum()) + 1001), counts[index])


def swapped_counts(law: Swapped, counts: Integers, index: tuple[int, ...]) -> Floats:
    """Distribution of a cell's published count, given all true counts.

    Of the cell's stratum, s records take part; their counts in (level, rest), (level, other rest) and (other level,
    rest) are multivariate hypergeometric, and a random order of the levels puts a hypergeometric number back.
    """
    # The cell's own stratum, as a two-by-two table: its level or not, its rest or not.
    inside = tuple(index[a] if a in law.stratum else slice(None) for a in range(counts.ndim))
    part = counts[inside]
    axes = [a for a in range(counts.ndim) if a not in law.stratum]
    place = axes.index(law.variable)
    level = int(np.take(part, index[law.variable], axis=place).sum())
    rest_index = tuple(slice(None) if a == law.variable else index[a] for a in axes)
    rest, both, people = int(part[rest_index].sum()), int(counts[index]), int(part.sum())
    shape = [counts.shape[a] for a in law.stratum]
    number = int(np.ravel_multi_index([index[a] for a in law.stratum], shape)) if shape else 0
    s = law.taking_part[number]
    result = np.zeros(int(counts.sum()) + 1)
    for in_both in range(max(0, both + s - people), min(both, s) + 1):
        chance = hypergeometric(in_both, people, both, s)
        for in_level in range(min(level - both, s - in_both) + 1):
            left = s - in_both - in_level
            step = hypergeometric(in_level, people - both, level - both, s - in_both)
            for in_rest in range(min(rest - both, left) + 1):
                weight = chance * step * hypergeometric(in_rest, people - level, rest - both, left)
                if weight > 0:
                    for back in range(min(in_both + in_level, in_both + in_rest) + 1):
                        put = hypergeometric(back, s, in_both + in_level, in_both + in_rest)
                        result[both - in_both + back] += weight * put
    return result


def redrawn_counts(law: Randomised, counts: Integers, index: tuple[int, ...]) -> Floats:
    """Distribution of a cell's published count: a sum of binomials, one for each true level it may come from."""
    theta = np.asarray(law.matrix)
    level = index[law.axis]
    result = np.ones(1)
    for k in range(theta.shape[0]):
        source = tuple(k if a == law.axis else i for a, i in enumerate(index))
        n = int(counts[source])
        result = np.convolve(result, binom.pmf(np.arange(n + 1), n, theta[k, level]))
    return np.pad(result, (0, int(counts.sum()) + 1 - len(result)))


def hypergeometric(k: int, people: int, group: int, drawn: int) -> float:
    """P(k of a group among the people drawn); scipy's has no value where the group is empty."""
    if k > group or not 0 <= drawn - k <= people - group:
        return 0.0
    return comb(group, k) * comb(people - group, drawn - k) / comb(people, drawn)
