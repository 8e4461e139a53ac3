"""Entities of two files: against plain definitions, and against every partition of the records of both.

The exact posterior is by enumeration. Prior and weights: each record of a file is a copy of an earlier one of it with
prior odds `ODDS`, which makes the persons of the file; a person of A and one of B are one with prior odds `ODDS`, none
twice; the likelihood ratio of two records is two to their weight, and of two persons the mean over the pairs of their
records. A run takes each pair of one file by itself, with the same odds.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gemel.carole.fellegi_sunter.entities import Entities, OwnPersons, persons, same_entity
from gemel.carole.fellegi_sunter.link_rule import assigned

ODDS = 0.1


def files_persons(odds):
    """Every choice of antecedents in a file: the first record of each record's person, and what it weighs.

    `odds[i, j]`: of record j being a copy of i, before it, beside none.
    """
    n = len(odds)
    for chosen in product(*(range(-1, j) for j in range(n))):
        first, total = list(range(n)), 1.0
        for j, i in enumerate(chosen):
            if i >= 0:
                first[j] = first[i]
                total *= odds[i, j]
        yield tuple(first), total


def persons_links(first_a, first_b, weight):
    """Every set of links one to one between persons, and what it weighs."""
    of_a, of_b = sorted(set(first_a)), sorted(set(first_b))
    ratio = {
        (p, q): np.mean([2.0 ** weight[i, j] for i in members(first_a, p) for j in members(first_b, q)])
        for p in of_a
        for q in of_b
    }
    for chosen in product([None, *of_b], repeat=len(of_a)):
        taken = [q for q in chosen if q is not None]
        if len(taken) == len(set(taken)):
            links = [(p, q) for p, q in zip(of_a, chosen, strict=True) if q is not None]
            yield links, ODDS ** len(links) * np.prod([ratio[link] for link in links])


def members(first, person):
    return [i for i, p in enumerate(first) if p == person]


def exact(weight_a, weight_b, weight):
    """Probability that each record of A and each of B are of one entity, over all partitions."""
    total, together = 0.0, np.zeros(weight.shape)
    for first_a, in_a in files_persons(ODDS * 2.0**weight_a):
        for first_b, in_b in files_persons(ODDS * 2.0**weight_b):
            for links, between in persons_links(first_a, first_b, weight):
                total += in_a * in_b * between
                for p, q in links:
                    together[np.ix_(members(first_a, p), members(first_b, q))] += in_a * in_b * between
    return together / total


def own_persons(weight):
    """The persons of a file, found within it."""
    n = len(weight)
    earlier, later = np.triu_indices(n, 1)
    odds = ODDS * 2.0 ** weight[earlier, later]
    same = odds / (1 + odds)
    return OwnPersons.of(persons(earlier, later, same, n, 0.5), earlier, later, same)


def two_steps(weight_a, weight_b, weight):
    """The same by persons of each file first, and links between these."""
    own = own_persons(weight_a), own_persons(weight_b)
    total, linked = 0.0, np.zeros(weight.shape)
    for links, between in persons_links(own[0].first.tolist(), own[1].first.tolist(), weight):
        total += between
        for p, q in links:
            linked[np.ix_(members(own[0].first, p), members(own[1].first, q))] += between
    pairs = tuple(index.ravel() for index in np.indices(weight.shape))
    found = same_entity(own, pairs, weight.ravel(), (linked / total).ravel(), pairs)
    return found.reshape(weight.shape)


def cases(rng, sure, n=40):
    """Weights of three records each, of people drawn at random: `sure` bits for or against within a file."""
    for _ in range(n):
        people = rng.integers(0, 3, 3), rng.integers(0, 3, 3)
        within = [np.where(p[:, None] == p, sure, -sure) + rng.normal(0, sure / 4, (3, 3)) for p in people]
        yield *within, np.where(people[0][:, None] == people[1], 8, -4) + rng.normal(0, 3, (3, 3))


def test_with_certain_persons_it_is_the_exact_posterior_over_all_partitions():
    for case in cases(np.random.default_rng(1), 40.0):
        np.testing.assert_allclose(two_steps(*case), exact(*case), atol=1e-4)


@pytest.mark.parametrize(("sure", "mean", "largest"), [(16.0, 0.001, 0.03), (8.0, 0.03, 0.7)])
def test_how_far_doubtful_persons_are_from_the_exact_posterior(sure, mean, largest):
    """What the other file shows of a file's persons is left out: .0005 on average and .024 at most with 16 bits for or
    against two records of a file being one person, .023 and .65 with 8 bits, of which the prior takes 3."""
    error = np.abs([two_steps(*case) - exact(*case) for case in cases(np.random.default_rng(2), sure)])
    assert error.mean() < mean
    assert error.max() < largest


def some_files(rng, n_a=12, n_b=10):
    """Persons of two files, doubtful within, and some of the pairs between their records with weights."""
    own = []
    for n in (n_a, n_b):
        first = np.sort(rng.integers(0, n // 2, n))
        first = np.searchsorted(first, first)
        earlier, later = np.triu_indices(n, 1)
        own.append(OwnPersons.of(first, earlier, later, rng.random(len(earlier))))
    kept = tuple(index.astype(np.int32) for index in np.nonzero(rng.random((n_a, n_b)) < 0.5))
    persons_of_pairs = own[0].first[kept[0]] * n_b + own[1].first[kept[1]]
    linked = rng.random(n_a * n_b)[persons_of_pairs]
    return tuple(own), kept, rng.normal(0, 5, len(kept[0])), linked


def test_probabilities_are_those_of_the_definition():
    """The sum over the pairs that the others may have been copied from."""
    own, kept, weight, linked = some_files(np.random.default_rng(3))
    same = [part.same.toarray() for part in own]
    person = own[0].first[kept[0]], own[1].first[kept[1]]
    every = tuple(index.ravel() for index in np.indices((12, 10)))
    found = same_entity(own, kept, weight, linked, every)
    for a, b, p in zip(*every, found, strict=True):
        expected = 0.0
        for a2, b2, w, chance, pa, pb in zip(*kept, weight, linked, *person, strict=True):
            rivals = weight[(person[0] == pa) & (person[1] == pb)]
            expected += same[0][a, a2] * chance * 2.0**w / (2.0**rivals).sum() * same[1][b2, b]
        assert p == pytest.approx(min(expected, 1.0))


def test_records_of_two_persons_share_nothing():
    own, *_ = some_files(np.random.default_rng(4))
    for part in own:
        same = part.same.toarray()
        assert (np.diag(same) == 1).all()
        np.testing.assert_array_equal(same, same.T)
        assert (same[part.first[:, None] != part.first] == 0).all()


def test_without_copies_the_probability_is_that_of_the_link():
    rng = np.random.default_rng(5)
    kept = tuple(index.astype(np.int32) for index in np.nonzero(rng.random((6, 5)) < 0.5))
    linked = rng.random(len(kept[0]))
    own = OwnPersons.alone(6), OwnPersons.alone(5)
    np.testing.assert_allclose(same_entity(own, kept, rng.normal(0, 20, len(linked)), linked, kept), linked)


def test_entities_are_a_partition_of_both_files():
    first_a, first_b = np.array([0, 0, 2, 3, 2]), np.array([0, 1, 0, 3])
    links = np.array([1, 4]), np.array([1, 2])
    found = Entities.of((first_a, first_b), links)
    records = [("a", i, e) for i, e in enumerate(found.a)] + [("b", j, e) for j, e in enumerate(found.b)]
    together = {frozenset((file, row) for file, row, of in records if of == e) for e in range(found.n)}
    assert together == {
        frozenset({("a", 0), ("a", 1), ("b", 1)}),
        frozenset({("a", 2), ("a", 4), ("b", 0), ("b", 2)}),
        frozenset({("a", 3)}),
        frozenset({("b", 3)}),
    }
    rows = zip(*(part.tolist() for part in found.pairs()), strict=True)
    assert list(rows) == [(0, 1), (1, 1), (2, 0), (2, 2), (4, 0), (4, 2)]
    assert np.dot(*found.sizes) == 6


def test_no_records_and_no_links():
    nothing = np.zeros(0, dtype=np.int32)
    found = Entities.of((nothing, np.arange(2, dtype=np.int32)), (nothing, nothing))
    assert (found.n, found.b.tolist(), [len(rows) for rows in found.pairs()]) == (2, [0, 1], [0, 0])


def test_linked_persons_take_all_pairs_of_their_records():
    """Person 7 is linked to 4, by its most probable pair; person 8 is then free for 5."""
    a, b = np.array([7, 7, 8, 8, 9]), np.array([4, 4, 4, 5, 6])
    probability = np.array([0.9, 0.1, 0.8, 0.6, 0.4])
    assert assigned(a, b, probability, 0.5, "clusters").tolist() == [0, 1, 3]
    rows = np.arange(5)
    np.testing.assert_array_equal(
        assigned(rows, b, probability, 0.5, "clusters"), assigned(rows, b, probability, 0.5, "one_to_one")
    )


# Persons inside one file.


def test_three_equal_records_are_one_person_in_all_pairs():
    earlier, later = np.triu_indices(3, 1)
    assert persons(earlier, later, np.ones(3), 4, 0.5).tolist() == [0, 0, 0, 3]


def test_pairs_that_are_not_listed_are_of_two_people():
    found = persons(np.array([0, 3]), np.array([7, 7]), np.array([0.5, 0.5]), 8, 0.5)
    assert found.tolist() == [*range(7), 0]


def test_a_record_joins_the_person_that_it_most_probably_is():
    earlier, later = np.array([0, 1, 2]), np.array([4, 4, 4])
    assert persons(earlier, later, np.array([0.6, 0.7, 0.2]), 5, 0.5)[4] == 1
    assert persons(earlier, later, np.array([0.4, 0.3, 0.2]), 5, 0.5)[4] == 4


def test_no_pairs_of_one_file():
    nothing = np.zeros(0, dtype=np.int64)
    assert persons(nothing, nothing, np.zeros(0), 2, 0.5).tolist() == [0, 1]
