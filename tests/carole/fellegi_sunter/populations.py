"""Exact populations of comparison patterns: counts as the model expects them, without sampling."""

from itertools import product

import numpy as np

from gemel.carole.fellegi_sunter.model import MISSING, PatternCounts


def density(gamma, m, u, p, missing=None):
    """Plain definition: probability of each comparison vector, as (among matches, among non-matches) times p, 1 - p."""
    a, b = np.full(len(gamma), p), np.full(len(gamma), 1 - p)
    for i, vector in enumerate(gamma):
        for q, k in enumerate(vector):
            lacks = 0.0 if missing is None else missing[q]
            if k == MISSING:
                a[i] *= lacks
                b[i] *= lacks
            else:
                a[i] *= m[q][k] * (1 - lacks)
                b[i] *= u[q][k] * (1 - lacks)
    return a, b


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
    width = max(len(row) for row in m)
    everywhere = np.array([[count[gamma[:, q] == k].sum() for k in range(width)] for q in range(len(m))], dtype=float)
    mask = np.zeros(len(gamma), dtype=np.uint32)
    for r, rule in enumerate(rules):
        satisfied = np.all([gamma[:, q] == len(m[q]) - 1 for q in rule], axis=0)
        mask |= (satisfied.astype(np.uint32) << np.uint32(r)).astype(np.uint32)
    kept = mask > 0 if rules else np.ones(len(gamma), dtype=bool)
    return PatternCounts(gamma[kept], mask[kept], count[kept]), everywhere


def padded(rows):
    """Distributions of different lengths as one table, padded with zeros."""
    width = max(len(row) for row in rows)
    return np.array([list(row) + [0.0] * (width - len(row)) for row in rows])
