import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from gemel.carole.fellegi_sunter.link_rule import assign, optimal_assignment
from gemel.common.errors import ErrorCode, GemelError

pairs = st.dictionaries(
    st.tuples(st.integers(0, 6), st.integers(0, 6)),
    st.one_of(st.integers(-3, 5).map(float), st.floats(-10, 10, allow_subnormal=False)),
    max_size=20,
)


def as_arrays(candidates):
    a = np.array([i for i, _ in candidates], dtype=np.int32)
    b = np.array([j for _, j in candidates], dtype=np.int32)
    return a, b, np.array(list(candidates.values()), dtype=np.float64)


@given(candidates=pairs)
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


def test_invalid_input_is_refused():
    with pytest.raises(GemelError, match="one length") as raised:
        optimal_assignment(np.array([0]), np.array([0, 1]), np.array([1.0]))
    assert raised.value.code is ErrorCode.PARAMETER
    for bad in (np.inf, np.nan):
        with pytest.raises(GemelError, match="finite weights"):
            optimal_assignment(np.array([0]), np.array([0]), np.array([bad]))
