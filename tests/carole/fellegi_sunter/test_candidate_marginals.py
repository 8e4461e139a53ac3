"""Pairs that nothing excludes are answered at once: what messages along them would come to."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.fellegi_sunter.candidate_graph import candidate_graph
from gemel.carole.fellegi_sunter.link_rule import optimal_assignment
from gemel.carole.fellegi_sunter.one_to_one import CandidateMarginals, uncontested
from gemel.carole.fellegi_sunter.propagation import Propagation
from tests.carole.fellegi_sunter.enumeration import enumerated

PAIRS = st.sets(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=30).map(sorted)


def rows(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@given(PAIRS)
def test_a_pair_is_uncontested_if_both_its_records_have_no_other(pairs: list[tuple[int, int]]) -> None:
    of_a, of_b = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    assert uncontested(*rows(pairs)).tolist() == [of_a[a] == of_b[b] == 1 for a, b in pairs]


@given(PAIRS, st.integers(0, 2**32), st.sampled_from([-4.0, 0.0, 3.0]), st.sampled_from([1, 2]))
def test_as_messages_along_all_pairs(pairs: list[tuple[int, int]], seed: int, odds: float, threads: int) -> None:
    a, b = rows(pairs)
    log_ratio = np.random.default_rng(seed).normal(0, 5, len(a))
    marginals = CandidateMarginals(a, b, threads)
    marginals.weigh(log_ratio)
    settled = marginals.run(odds)
    whole = Propagation(candidate_graph(a, b), log_ratio)
    assert settled.expected_links == pytest.approx(whole.run(odds).expected_links, abs=1e-5)
    found, expected = marginals.beliefs(), whole.beliefs()
    np.testing.assert_allclose(found.probability, expected.probability, atol=1e-6)
    assert found.log_weight_sum == pytest.approx(expected.log_weight_sum, abs=1e-5)
    assert sorted(marginals.graph.order.tolist()) == np.flatnonzero(~uncontested(a, b)).tolist()


def test_exact_where_no_record_competes() -> None:
    a, b, log_ratio = np.arange(6), np.arange(6)[::-1].copy(), np.array([-800.0, -9.0, -1.0, 0.5, 7.0, 800.0])
    marginals = CandidateMarginals(a, b)
    marginals.weigh(log_ratio)
    marginals.run(0.25)
    exact, _ = enumerated(a, b, np.clip(log_ratio, -600, 600) + 0.25)
    np.testing.assert_allclose(marginals.beliefs().probability, exact, atol=1e-12)


@given(PAIRS, st.integers(0, 2**32))
def test_the_optimal_assignment_takes_every_uncontested_gain(pairs: list[tuple[int, int]], seed: int) -> None:
    a, b = rows(pairs)
    gain = np.random.default_rng(seed).normal(0, 1, len(a))
    chosen = optimal_assignment(a, b, gain)
    assert set(np.flatnonzero(uncontested(a, b) & (gain > 0))) <= set(chosen)
    assert chosen.tolist() == sorted(chosen.tolist())
    assert len(set(a[chosen])) == len(set(b[chosen])) == len(chosen)
