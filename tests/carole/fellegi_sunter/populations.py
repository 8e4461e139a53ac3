"""Exact populations of comparison patterns: counts as the model expects them, without sampling."""

from itertools import product

import numpy as np

from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.model import MISSING, PatternCounts


def counted_vectors(gamma):
    """Comparison vectors counted, and the pattern of each."""
    distinct, member, count = np.unique(gamma.astype(np.int8), axis=0, return_inverse=True, return_counts=True)
    return PatternCounts(distinct, np.zeros(len(distinct), dtype=np.uint32), count.astype(np.int64)), member.ravel()


def level_counts(patterns, width=2):
    """Pairs by field and level."""
    gamma, count = patterns.gamma, patterns.count
    return np.array([[count[column == k].sum() for k in range(width)] for column in gamma.T], dtype=float)


def kept_pairs(probability, member, n_a, n_b):
    """The pairs whose patterns have some probability, under one-to-one, and the pattern of each."""
    kept = np.flatnonzero(probability[member] >= 1e-4)
    return LinkPosterior("one_to_one", *np.divmod(kept, n_b), n_a, n_b), member[kept]


def link_probabilities(a, b, weight, n_a, n_b, progress=lambda _: None):
    """Probability that each pair is linked, given that no record is linked twice."""
    return LinkPosterior("one_to_one", a, b, n_a, n_b).probabilities(weight, progress)


def density(gamma, m, u, p, missing=None):
    """Plain definition: probability of each comparison vector, as (among matches, among non-matches) times p, 1 - p.

    A missing field has the probability that it is missing; without such, it adds nothing.
    """
    totals = np.full(len(gamma), p), np.full(len(gamma), 1 - p)
    for total, table in zip(totals, (m, u), strict=True):
        for q, levels in enumerate(gamma.T):
            there, lacks = levels != MISSING, 0.0 if missing is None else missing[q]
            total[there] *= np.asarray(table[q])[levels[there]] * (1 - lacks)
            total[~there] *= 1.0 if missing is None else lacks
    return totals


def exact_population(m, u, p, n_a, n_b, missing=None, rules=()):
    """Counts of every vector among n_a * n_b pairs, and the levels over all of them.

    `rules` are tuples of fields that must all be at their top level.
    """
    levels = [
        list(range(len(row))) + ([MISSING] if missing is not None and missing[q] > 0 else []) for q, row in enumerate(m)
    ]
    gamma = np.array(list(product(*levels)), dtype=np.int8)
    a, b = density(gamma, m, u, p, missing)
    count = np.rint((a + b) * (n_a * n_b)).astype(np.int64)
    count[np.argmax(count)] += n_a * n_b - count.sum()
    mask = np.zeros(len(gamma), dtype=np.uint32)
    everywhere = level_counts(PatternCounts(gamma, mask, count), max(len(row) for row in m))
    for r, rule in enumerate(rules):
        satisfied = np.all([gamma[:, q] == len(m[q]) - 1 for q in rule], axis=0)
        mask |= satisfied.astype(np.uint32) << np.uint32(r)
    kept = mask > 0 if rules else np.ones(len(gamma), dtype=bool)
    return PatternCounts(gamma[kept], mask[kept], count[kept]), everywhere


def padded(rows):
    """Distributions of different lengths as one table, padded with zeros."""
    width = max(len(row) for row in rows)
    return np.array([list(row) + [0.0] * (width - len(row)) for row in rows])
