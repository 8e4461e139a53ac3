"""Distributions of dependent fields beside plain sums over all complete vectors."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.fellegi_sunter.dependence.structure import Distribution, Structure, estimated
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


@given(st.integers(0, 2**32), st.sampled_from(GRAPHS))
def test_missing_fields_are_summed_out(seed, edges):
    rng = np.random.default_rng(seed)
    distribution = random_distribution(edges, rng)
    whole = np.exp(distribution.log_probability(EVERY))
    assert whole.sum() == pytest.approx(1, rel=1e-12)
    gamma = np.where(rng.random((12, 5)) < 0.4, -1, EVERY[rng.integers(0, len(EVERY), 12)]).astype(np.int8)
    found = np.exp(distribution.log_probability(gamma))
    for vector, value in zip(gamma, found, strict=True):
        fits = ((vector == -1) | (vector == EVERY)).all(axis=1)
        assert value == pytest.approx(whole[fits].sum(), rel=1e-9)


@pytest.mark.parametrize("edges", GRAPHS)
def test_many_pairs_give_the_tables_back(edges):
    rng = np.random.default_rng(1)
    truth = random_distribution(edges, rng)
    whole = np.exp(truth.log_probability(EVERY))
    alone = np.zeros((5, 3))
    for q, n in enumerate(LEVELS):
        alone[q, :n] = np.bincount(EVERY[:, q], whole, minlength=n)
    back = estimated(truth.structure, EVERY, 1e9 * whole, alone, LEVELS, 1.0)
    np.testing.assert_allclose(np.exp(back.log_probability(EVERY)), whole, rtol=1e-6)


def test_levels_never_seen_together_use_the_estimate_of_each():
    """Parents 0 and 1 both raise field 2; they were never 1 together, where the two effects are joined."""
    structure = Structure(Graph.from_edges(3, [(0, 1), (0, 2), (1, 2)]))
    gamma = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1]], dtype=np.int8)
    weight = np.array([900.0, 100.0, 50.0, 50.0, 50.0, 50.0])
    alone = np.array([[0.9, 0.1], [0.9, 0.1], [0.83, 0.17]])
    found = estimated(structure, gamma, weight, alone, (2, 2, 2), 1.0)
    joint = np.exp(found.log_probability(np.array(list(product((0, 1), repeat=3)), dtype=np.int8))).reshape(2, 2, 2)
    given = joint[:, :, 1] / joint.sum(axis=2)
    assert joint.sum() == pytest.approx(1)
    assert given[0, 1] == pytest.approx(0.5, abs=0.03)
    assert given[1, 1] > given[0, 1]


def test_nothing_learnt_is_the_fields_by_themselves():
    structure = Structure(Graph.from_edges(2, [(0, 1)]))
    alone = np.array([[0.3, 0.7], [0.9, 0.1]])
    nothing = np.zeros((0, 2), dtype=np.int8)
    found = estimated(structure, nothing, np.zeros(0), alone, (2, 2), 1.0)
    every = np.array(list(product((0, 1), repeat=2)), dtype=np.int8)
    assert np.exp(found.log_probability(every)).tolist() == pytest.approx([0.27, 0.03, 0.63, 0.07])
