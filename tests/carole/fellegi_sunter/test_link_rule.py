"""Decisions: each assignment agrees with its definition, thresholds follow from costs and from rates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.optimize import linear_sum_assignment

from gemel.carole.fellegi_sunter.link_rule import assign, assigned, largest_f1, optimal_assignment, within_rate
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.specification.model.content import Cost

A, B = np.array([0, 0, 1]), np.array([0, 1, 1])
P = np.array([0.6, 0.5, 0.7])


def test_a_small_case_by_hand():
    assert assigned(A, B, P, 0.5, "none").tolist() == [0, 1, 2]
    assert assigned(A, B, P, 0.5, "one_to_one").tolist() == [0, 2]
    assert assigned(A, B, P, 0.65, "one_to_one").tolist() == [2]
    assert assigned(A[1:2], B[1:2], P[1:2], 0.5, "one_to_one").tolist() == [0]
    assert assigned(A, B, np.array([0.35, 0.5, 0.35]), 0.3, "one_to_one").tolist() == [1]
    assert assigned(A, B, np.array([0.45, 0.5, 0.45]), 0.3, "one_to_one").tolist() == [0, 2]
    # Where the best set is not the greedy one.
    assert assigned(A, B, np.array([0.45, 0.5, 0.45]), 0.3, "greedy").tolist() == [1]
    assert assigned(A, B, P, 0.5, "many_to_one").tolist() == [0, 2]
    assert assigned(np.array([0, 1]), np.array([5, 5]), np.array([0.9, 0.8]), 0.5, "many_to_one").tolist() == [0, 1]


@st.composite
def candidates(draw):
    pairs = draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), unique=True, max_size=12))
    probability = draw(st.lists(st.sampled_from([0.1, 0.3, 0.5, 0.6, 0.9]), min_size=len(pairs), max_size=len(pairs)))
    a, b = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    return a, b, np.array(probability)


@given(case=candidates(), others=st.sampled_from([0.0, 0.4, 3.0]))
def test_no_other_links_have_a_larger_expected_f1(case, others):
    """Against every set of pairs with no record in two, and no pair too improbable."""
    a, b, probability = case
    links, threshold = largest_f1(a, b, probability, float(probability.sum()) + others, "one_to_one")
    expected = f1(probability, links, others)
    for chosen in subsets(len(a)):
        if len(set(a[chosen])) == len(set(b[chosen])) == len(chosen):
            assert f1(probability, chosen, others) <= expected + 1e-6
    assert not len(links) or threshold == pytest.approx(expected / 2, abs=1e-6)
    assert (probability[links] >= threshold - 1e-9).all()


def f1(probability, links, others):
    matches = probability.sum() + others
    return 2 * probability[links].sum() / (len(links) + matches) if len(links) else 0.0


def subsets(n):
    return (np.flatnonzero([code >> k & 1 for k in range(n)]).astype(np.int64) for code in range(1 << n))


def test_nothing_is_linked_where_there_is_probably_no_match():
    one = np.array([0])
    assert len(largest_f1(one, one, np.array([0.3]), 0.9, "one_to_one")[0]) == 1
    links, threshold = largest_f1(one, one, np.array([0.3]), 0.9, "one_to_one", none=0.4)
    assert (len(links), threshold) == (0, 0.5)
    assert len(largest_f1(one[:0], one[:0], np.array([]), 0.0, "one_to_one")[0]) == 0


@given(case=candidates(), threshold=st.sampled_from([0.2, 0.5, 0.55]))
def test_greedy_many_to_one_and_one_to_many_are_those_of_the_definition(case, threshold):
    a, b, probability = case
    for assignment, one_a, one_b in (
        ("greedy", True, True),
        ("many_to_one", True, False),
        ("one_to_many", False, True),
    ):
        chosen, rows, columns = [], set(), set()
        for k in sorted(range(len(a)), key=lambda k: -probability[k]):
            taken = (one_a and a[k] in rows) or (one_b and b[k] in columns)
            if probability[k] >= threshold and not taken:
                rows.add(a[k])
                columns.add(b[k])
                chosen.append(k)
        assert assigned(a, b, probability, threshold, assignment).tolist() == sorted(chosen)


@given(case=candidates(), rate=st.sampled_from([0.05, 0.2, 0.5]))
def test_a_requested_rate_takes_as_many_links_as_it_allows(case, rate):
    probability = case[2]
    everything = np.arange(len(probability))
    links, threshold = within_rate(probability, everything, rate)
    assert len(links) == 0 or (1 - probability[links]).mean() <= rate + 1e-12
    assert sorted(links.tolist()) == np.flatnonzero(probability >= threshold).tolist()
    for lower in np.unique(probability[probability < threshold]):
        assert (1 - probability[probability >= lower]).mean() > rate - 1e-12


@pytest.mark.parametrize(("false_link", "missed_match"), [(1, 1), (9, 1), (1, 4), (0.5, 0.25)])
def test_the_threshold_of_two_costs_is_the_cheapest(false_link, missed_match):
    threshold = Cost(false_link=false_link, missed_match=missed_match).threshold
    for p in np.linspace(0.01, 0.99, 99):
        linking, not_linking = (1 - p) * false_link, p * missed_match
        if abs(linking - not_linking) > 1e-9:
            assert (linking < not_linking) == (p > threshold)


def test_nothing_to_decide():
    nobody = np.zeros(0, dtype=np.int64)
    for assignment in ("one_to_one", "greedy", "many_to_one", "one_to_many", "none"):
        assert len(assigned(nobody, nobody, np.zeros(0), 0.5, assignment)) == 0
    links, threshold = within_rate(np.zeros(0), nobody, 0.1)
    assert (len(links), threshold) == (0, 1.0)
    assert within_rate(np.array([0.5]), np.array([0]), 0.1)[1] == 1.0


def test_invalid_input_is_refused():
    for threshold in (0.0, 1.5):
        with pytest.raises(GemelError, match="threshold"):
            assigned(A, B, P, threshold, "one_to_one")
    for rate in (0.0, 1.0, -0.1):
        with pytest.raises(GemelError, match="false_link_rate"):
            within_rate(P, np.arange(3), rate)
    for costs in ((-1.0, 1.0), (1.0, 0.0), (np.inf, 1.0), (1.0, np.nan)):
        with pytest.raises(ValidationError, match=r"greater than 0|finite number"):
            Cost(false_link=costs[0], missed_match=costs[1])


# Optimal assignment.


PAIRS = st.dictionaries(
    st.tuples(st.integers(0, 6), st.integers(0, 6)),
    st.one_of(st.integers(-3, 5).map(float), st.floats(-10, 10, allow_subnormal=False)),
    max_size=20,
)


def as_arrays(candidates):
    a = np.array([i for i, _ in candidates], dtype=np.int32)
    b = np.array([j for _, j in candidates], dtype=np.int32)
    return a, b, np.array(list(candidates.values()), dtype=np.float64)


@given(candidates=PAIRS)
def test_no_other_choice_weighs_more(candidates):
    """As the dense assignment problem has it, in which a pair that gains nothing weighs nothing."""
    a, b, weight = as_arrays(candidates)
    dense = np.zeros((7, 7))
    for (i, j), w in candidates.items():
        dense[i, j] = max(w, 0.0)
    chosen = optimal_assignment(a, b, weight)
    assert len(set(a[chosen])) == len(set(b[chosen])) == len(chosen)
    assert (weight[chosen] > 0).all()
    assert (np.diff(chosen) > 0).all()
    assert weight[chosen].sum() == pytest.approx(dense[linear_sum_assignment(-dense)].sum(), abs=1e-9)


@pytest.mark.parametrize("kind", ["ties", "continuous", "crowded"])
def test_prices_prove_that_many_pairs_are_chosen_best(kind):
    """Weak duality: a choice that weighs as much as feasible prices sum to is optimal."""
    rng = np.random.default_rng(20)
    n_rows, n_columns, degree = (20_000, 20_000, 5) if kind != "crowded" else (5_000, 500, 20)
    pair = np.unique(rng.integers(0, n_rows * n_columns, n_rows * degree))
    row, column = pair // n_columns, pair % n_columns
    weight = rng.integers(1, 4, len(pair)).astype(float) if kind == "ties" else rng.exponential(1.0, len(pair))
    first = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=n_rows))))
    chosen, u, v = assign(first, column, weight, n_columns)
    linked = chosen >= 0
    assert len(set(column[chosen[linked]])) == linked.sum()
    assert (row[chosen[linked]] == np.flatnonzero(linked)).all()
    assert u.min() >= -1e-9
    assert v.min() >= 0
    assert (u[row] + v[column] - weight).min() > -1e-9
    assert weight[chosen[linked]].sum() == pytest.approx(u.sum() + v.sum(), rel=1e-12)


def test_a_weak_pair_gives_way_so_that_two_stronger_ones_fit():
    a, b = np.array([0, 0, 1]), np.array([0, 1, 0])
    assert optimal_assignment(a, b, np.array([5.0, 4.0, 4.0])).tolist() == [1, 2]
    assert optimal_assignment(a, b, np.array([9.0, 4.0, 4.0])).tolist() == [0]


def test_nothing_is_linked_that_gains_nothing():
    a, b = np.array([0, 1]), np.array([0, 1])
    assert optimal_assignment(a, b, np.array([0.0, -1.0])).tolist() == []
    assert optimal_assignment(a[:0], b[:0], np.zeros(0)).tolist() == []


def test_rows_may_have_any_numbers():
    a, b = np.array([10**9, 3]), np.array([7, 10**9])
    assert optimal_assignment(a, b, np.array([1.0, 2.0])).tolist() == [0, 1]


def test_an_invalid_assignment_is_refused():
    with pytest.raises(GemelError, match="one length") as raised:
        optimal_assignment(np.array([0]), np.array([0, 1]), np.array([1.0]))
    assert raised.value.code is ErrorCode.PARAMETER
    for bad in (np.inf, np.nan):
        with pytest.raises(GemelError, match="finite match weights"):
            optimal_assignment(np.array([0]), np.array([0]), np.array([bad]))
