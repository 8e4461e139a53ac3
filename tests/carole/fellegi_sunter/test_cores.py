"""Records that compete in a cycle, against the enumeration of every matching."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.fellegi_sunter import cores
from gemel.carole.fellegi_sunter.candidate_graph import candidate_graph
from gemel.carole.fellegi_sunter.cores import without_cycles
from gemel.carole.fellegi_sunter.propagation import Propagation
from tests.carole.fellegi_sunter.enumeration import enumerated


def corrected(a, b, log_ratio):
    """Probabilities by propagation, the same corrected, and the number of groups of each kind."""
    graph = candidate_graph(a, b)
    messages = Propagation(graph, log_ratio)
    messages.run(0.0)
    before = messages.beliefs().probability
    result = without_cycles(graph, messages.messages())
    after = np.empty(len(a))
    after[graph.order] = result.probability
    return before, after, result


@given(
    seed=st.integers(0, 2**32),
    shape=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    spread=st.sampled_from([1.0, 4.0, 20.0, 60.0]),
)
def test_exact_on_every_small_graph(seed, shape, spread):
    rng = np.random.default_rng(seed)
    a, b = np.nonzero(rng.random(shape) < 0.9)
    log_ratio = rng.normal(0, spread, len(a))
    _, after, result = corrected(a, b, log_ratio)
    np.testing.assert_allclose(after, enumerated(a, b, log_ratio)[0], atol=1e-6)
    assert result.sampled == result.left == 0


def dense(rng, n=5):
    """The graphs on which propagation is worst: each with each, weights of all kinds."""
    a, b = (index.ravel() for index in np.indices((n, n)))
    return a, b, rng.normal(0, 4, len(a))


def errors(cases):
    """The largest error of a link's probability by propagation, and of one put right."""
    largest = []
    for a, b, log_ratio in cases:
        before, after, result = corrected(a, b, log_ratio)
        exact = enumerated(a, b, log_ratio)[0]
        largest.append([np.abs(found - exact).max() for found in (before, after)])
        assert result.enumerated == 1
        for side in (a, b):
            assert np.bincount(side, after).max() <= 1 + 1e-9
    return np.max(largest, axis=0)


def test_a_cycle_that_propagation_misjudges_is_put_right():
    rng = np.random.default_rng(6)
    wrong, right = errors(dense(rng, 4) for _ in range(20))
    assert wrong > 0.1
    assert right < 1e-12


def test_a_cycle_within_a_component_too_large_to_enumerate(monkeypatch):
    """Messages from outside stand for what is left out; the group's probabilities come near the exact ones."""
    monkeypatch.setattr(cores, "MAX_SUBSET_SIDE", 3)
    rng = np.random.default_rng(7)

    def three_and_two_that_hang_on_them():
        weight = np.full((5, 5), -9.5) + rng.normal(0, 0.3, (5, 5))
        weight[:3, :3] = rng.normal(3, 3, (3, 3))
        return *(index.ravel() for index in np.indices((5, 5))), weight.ravel()

    wrong, right = errors(three_and_two_that_hang_on_them() for _ in range(15))
    assert wrong > 0.03
    assert right < 0.004


def test_what_is_too_large_is_sampled(monkeypatch):
    monkeypatch.setattr(cores, "MAX_SUBSET_SIDE", 1)
    monkeypatch.setattr(cores, "THRESHOLDS", (0.0,))
    rng = np.random.default_rng(8)
    for _ in range(5):
        a, b, log_ratio = dense(rng)
        _, after, result = corrected(a, b, log_ratio)
        assert result.sampled == 1
        # 4,000 sweeps: a standard error of at most .5 / sqrt(4,000) = .008, were they independent.
        np.testing.assert_allclose(after, enumerated(a, b, log_ratio)[0], atol=0.05)


def test_what_cannot_be_afforded_is_left_and_counted(monkeypatch):
    monkeypatch.setattr(cores, "MAX_PRODUCTS", 10.0)
    monkeypatch.setattr(cores, "MAX_SAMPLED", 10.0)
    a, b, log_ratio = dense(np.random.default_rng(9))
    before, after, result = corrected(a, b, log_ratio)
    assert (result.enumerated, result.sampled, result.left) == (0, 0, 1)
    np.testing.assert_allclose(after, before, atol=1e-12)


def test_trees_are_left_alone():
    a, b = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1])
    before, after, result = corrected(a, b, np.array([2.0, 1.0, 0.5, 3.0]))
    np.testing.assert_allclose(after, before, atol=1e-12)
    assert result.groups == 0
