"""Random laws of strangers over few fields, and their complete vectors."""

from itertools import product

import numpy as np

from gemel.carole.fellegi_sunter.kinds.law import Distribution, Structure
from gemel.risk.models.graphs import Graph

LEVELS = (2, 3, 2, 3, 2)
GRAPHS = [
    [],
    [(0, 1), (1, 2), (2, 3), (3, 4)],
    [(0, 1), (0, 2), (1, 2), (2, 3)],
    [(2, 0), (2, 1), (2, 3), (2, 4)],
    [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4)],
]
EVERY = np.array(list(product(*(range(n) for n in LEVELS))), dtype=np.int8)


def random_distribution(edges, rng):
    structure = Structure(Graph.from_edges(len(LEVELS), edges))
    tables = []
    for field, parents in structure.families:
        drawn = rng.random([LEVELS[q] for q in (field, *parents)]) + 0.05
        tables.append(drawn / drawn.sum(axis=0, keepdims=True))
    return Distribution(structure, tuple(tables))


def alone(law, whole=None):
    """Levels of each field by itself: shape (n_fields, 3)."""
    whole = np.exp(law.log_probability(EVERY)) if whole is None else whole
    levels = np.zeros((len(LEVELS), 3))
    for q, n in enumerate(LEVELS):
        levels[q, :n] = np.bincount(EVERY[:, q], whole, minlength=n)
    return levels


def random_m(rng):
    """Levels of shared fields: shape (n_fields, 3)."""
    m = np.zeros((len(LEVELS), 3))
    for q, n in enumerate(LEVELS):
        m[q, :n] = rng.dirichlet(np.ones(n))
    return m


def missing_some(rng, n, share=0.3):
    """Random vectors with missing fields."""
    return np.where(rng.random((n, len(LEVELS))) < share, -1, EVERY[rng.integers(0, len(EVERY), n)]).astype(np.int8)
