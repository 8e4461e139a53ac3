"""Persons inside one file, against the enumeration of every choice of antecedents."""

from itertools import product

import numpy as np
import pytest

from gemel.carole.fellegi_sunter.entities import SURE, persons, same_person


def pairs_of(n):
    earlier, later = np.triu_indices(n, 1)
    return earlier, later


def choices(n, rng):
    """P(j is a copy of i), i < j, or of none."""
    antecedent = np.zeros((n, n))
    for j in range(1, n):
        antecedent[:j, j] = rng.dirichlet(np.full(j + 1, 0.7))[:j]
    return antecedent


def enumerated(antecedent):
    n = len(antecedent)
    same = np.zeros((n, n))
    for chosen in product(*[range(-1, j) for j in range(n)]):
        weight, person = 1.0, np.arange(n)
        for j in range(n):
            i = chosen[j]
            weight *= antecedent[i, j] if i >= 0 else 1 - antecedent[:j, j].sum()
            if i >= 0:
                person[j] = person[i]
        same += weight * (person[:, None] == person[None, :])
    return same


@pytest.mark.parametrize("seed", range(8))
def test_probabilities_of_one_person_are_exact(seed):
    rng = np.random.default_rng(seed)
    antecedent = choices(6, rng)
    order = rng.permutation(15)
    earlier, later = (rows[order] for rows in pairs_of(6))
    found = same_person(earlier, later, antecedent[earlier, later])
    np.testing.assert_allclose(found, enumerated(antecedent)[earlier, later], atol=1e-9)


def test_three_equal_records_are_one_person_in_all_pairs():
    earlier, later = pairs_of(3)
    found = same_person(earlier, later, np.array([1.0, 0.5, 0.5]))
    np.testing.assert_allclose(found, 1.0)
    assert persons(earlier, later, found, 4, 0.5).tolist() == [0, 0, 0, 3]


def test_estimation_reaches_no_third_record_through_doubtful_ones():
    """Three of a household: a third each, and no more in estimation."""
    earlier, later = pairs_of(3)
    antecedent = np.array([0.4, 0.3, 0.3])
    np.testing.assert_allclose(same_person(earlier, later, antecedent, SURE), antecedent)
    assert (same_person(earlier, later, antecedent)[1:] > 0.4).all()


def test_pairs_that_are_not_listed_are_of_two_people():
    found = same_person(np.array([0, 3]), np.array([7, 7]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(found, 0.5)
    assert persons(np.array([0, 3]), np.array([7, 7]), found, 8, 0.5).tolist() == [0, 1, 2, 3, 4, 5, 6, 0]


def test_a_record_joins_the_person_that_it_most_probably_is():
    earlier, later = np.array([0, 1, 2]), np.array([4, 4, 4])
    assert persons(earlier, later, np.array([0.6, 0.7, 0.2]), 5, 0.5)[4] == 1
    assert persons(earlier, later, np.array([0.4, 0.3, 0.2]), 5, 0.5)[4] == 4


def test_no_pairs():
    nothing = np.zeros(0, dtype=np.int64)
    assert len(same_person(nothing, nothing, np.zeros(0))) == 0
    assert persons(nothing, nothing, np.zeros(0), 2, 0.5).tolist() == [0, 1]
