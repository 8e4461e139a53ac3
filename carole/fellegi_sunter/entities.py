r"""Entities: the persons of two files, each of its records, and one of A with one of B where they are linked.

Persons are found within each file first (`same_person`), and linked one to one then: their likelihood ratio is the mean
over the pairs of their records, since any of these may be the pair that the others were copied from (`link_posterior`).
Given that two persons are linked, a pair of their records was that one with a probability :math:`r` in proportion to
its likelihood ratio. Two records are of one entity if each is of the person of its file's record in that pair:

.. math:: P(a \sim b) = \sum_{a', b'} S_A(a, a') \, P(a', b') \, r(a', b') \, S_B(b', b),

with :math:`S` the probability that two records of a file are of one person and :math:`P` that of their persons' link.
So the decision is transitive by construction, and the probabilities allow for errors of each of its three parts.

It is an approximation in one respect: a file's persons are found without the other file. Where they are certain the
probabilities are those of the exact posterior over all partitions of the records.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit
from scipy.sparse import coo_array, csr_array

from gemel.common.arrays import F64, I32, I64, Ints

Pairs = tuple[I32, I32]
"""Rows of A and of B."""


@dataclass(frozen=True)
class OwnPersons:
    """The persons of one file.

    `first`: int32, shape (n_records,): first record of each record's person; `same`: sparse, shape (n_records,
    n_records): probability that two records of a person are of one; 1 for a record and itself, 0 for records of two
    persons.
    """

    first: I32
    same: csr_array = field(repr=False)

    @classmethod
    def of(cls, first: Ints, earlier: Ints, later: Ints, probability: F64) -> OwnPersons:
        """From the pairs of a file's records, no pair twice; pairs of two persons are left out."""
        n = len(first)
        own = first[earlier] == first[later]
        each = np.arange(n)
        rows = np.concatenate([earlier[own], later[own], each])
        columns = np.concatenate([later[own], earlier[own], each])
        chance = np.concatenate([probability[own], probability[own], np.ones(n)])
        return cls(first.astype(np.int32), csr_array(coo_array((chance, (rows, columns)), shape=(n, n))))

    @classmethod
    def alone(cls, n: int) -> OwnPersons:
        """Of a file of `n` records, each of a person of its own."""
        none = np.zeros(0, dtype=np.int64)
        return cls.of(np.arange(n), none, none, np.zeros(0))


def same_entity(own: tuple[OwnPersons, OwnPersons], kept: Pairs, weight: F64, linked: F64, pairs: Pairs) -> F64:
    """Probability that the two records of each of any `pairs` are of one entity: shape (n_pairs,).

    `kept`: the pairs that were compared and kept, no pair twice; `weight` (float64, shape (n_kept,)): their match
    weights in bits; `linked` (float64, shape (n_kept,)): probability that their persons are linked, the same for all
    pairs of two persons. Of persons no pair of whose records was kept the probability is 0. O(kept pairs and pairs of
    linked persons' records, times the records of a person).
    """
    n_a, n_b = len(own[0].first), len(own[1].first)
    _, group = np.unique(own[0].first[kept[0]].astype(np.int64) * n_b + own[1].first[kept[1]], return_inverse=True)
    highest = np.full(group.max(initial=-1) + 1, -np.inf)
    np.maximum.at(highest, group, weight)
    ratio = np.exp2(weight - highest[group])
    copied_from = ratio / np.bincount(group, ratio)[group]
    anchors = csr_array(coo_array((linked * copied_from, kept), shape=(n_a, n_b)))
    chance = own[0].same @ anchors @ own[1].same
    probability: F64 = np.minimum(np.asarray(chance[pairs[0], pairs[1]]).ravel(), 1.0)
    return probability


@dataclass(frozen=True)
class Entities:
    """Which records of both files are of one entity.

    `a`, `b`: int64, shape (n_a,) and (n_b,): the entity of each record, a number from 0; entities of Alice's records
    first; `n`: number of entities, those of one record included.
    """

    a: I64 = field(repr=False)
    b: I64 = field(repr=False)
    n: int

    @classmethod
    def of(cls, persons: tuple[I32, I32], links: Pairs) -> Entities:
        """From the persons of both files and pairs of records whose persons are linked.

        `persons` (pair of int, shape (n_a,) and (n_b,)): first record of each record's person; `links`: no person of
        either file is linked to two.
        """
        first_a, first_b = persons
        of_a, a = np.unique(first_a, return_inverse=True)
        of_b, b = np.unique(first_b, return_inverse=True)
        partner = np.full(len(of_b), -1, dtype=np.int64)
        partner[b[links[1]]] = a[links[0]]
        alone = partner < 0
        partner[alone] = len(of_a) + np.arange(int(alone.sum()))
        return cls(a.astype(np.int64), partner[b], len(of_a) + int(alone.sum()))

    @property
    def sizes(self) -> tuple[I64, I64]:
        """Records of A and of B in each entity."""
        return np.bincount(self.a, minlength=self.n), np.bincount(self.b, minlength=self.n)

    def pairs(self) -> Pairs:
        """All pairs of a record of A and one of B that are of one entity, by rows of A, then of B."""
        n_b = len(self.b)
        members = csr_array((np.ones(n_b, dtype=np.bool_), (self.b, np.arange(n_b))), shape=(self.n, n_b))
        found = members[self.a].tocoo()
        return found.row.astype(np.int32), found.col.astype(np.int32)


# Which records of one file are one person, from the earlier record that each is a copy of.
#
# Every record is a copy of at most one earlier record of its file. Given the prior odds of a link these choices do not
# depend on each other (`many_to_one`), and they make a forest whose trees are the persons. So two records are of one
# person if the later one's antecedent is the earlier one, or is of the earlier one's person:
#
# .. math:: S(i, j) = P(j \to i) + \sum_{k < j, k \ne i} P(j \to k) \, S(i, k) \quad (i < j).
#
# Probabilities of pairs that obey transitivity in expectation, without a sum over partitions. A person with three equal
# records has the third one choose between the two before it, each with one half: S is 1 for all three pairs.
#
# References
# ----------
# .. [1] Blei and Frazier, Distance dependent Chinese restaurant processes, JMLR 12, 2011.


NEGLIGIBLE = 1e-6
"""Probability of an antecedent below which no third record is reached through it."""

SURE = 0.9
"""Probability from which, in estimation, two records count as of one person for the sake of a third.

Estimation must not reach a third record through doubtful ones: members of a household are all similar to each other, so
that a little probability on each of them would make all of them one person, and m that of households.
"""


def same_person(earlier: Ints, later: Ints, antecedent: F64, sure: float = 0.0) -> F64:
    """Probability that the two records of each pair are of one person.

    `earlier`, `later` (int, shape (n_pairs,)): rows of a file, ``earlier < later``; no pair twice; `antecedent`
    (float64, shape (n_pairs,)): P(the later record is a copy of the earlier one); over the pairs of a later record they
    sum to at most 1; `sure`: pairs below this probability lead to no third record: `SURE` in estimation, 0 otherwise.
    Returns float64, shape (n_pairs,).

    Exact with `sure` 0 where all pairs that may be of one person are listed; a pair that is not listed counts as of
    two. O(sum over the records of the square of their pairs, times the logarithm of their number).
    """
    order = np.lexsort((earlier, later))
    rows, first = np.unique(later[order], return_index=True)
    first = np.append(first, len(order)).astype(np.int64)
    place = np.full(int(max(later.max(initial=-1), earlier.max(initial=-1))) + 1, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    found = np.empty(len(order))
    found[order] = _same(earlier[order].astype(np.int64), antecedent[order], first, place, sure)
    return np.minimum(found, 1.0)


def persons(earlier: Ints, later: Ints, same: F64, n: int, threshold: float) -> I64:
    """First record of the person of each record.

    In the order of the file each record joins the person of the earlier record with which it most probably is of one
    person, by `same_person`, if that probability reaches the threshold. Returns int64, shape (n,): the record itself
    where it is its person's first.
    """
    person = np.arange(n, dtype=np.int64)
    reached = np.flatnonzero(same >= threshold)
    order = reached[np.lexsort((earlier[reached], -same[reached], later[reached]))]
    rows, first = np.unique(later[order], return_index=True)
    for row, best in zip(rows.tolist(), earlier[order[first]].tolist(), strict=True):
        person[row] = person[best]
    return person


@njit(nogil=True, cache=True)
def _same(earlier: I64, antecedent: F64, first: I64, place: I64, sure: float) -> F64:
    """The recursion, pairs being sorted by their later and then by their earlier record."""
    same = np.zeros(len(earlier))
    for g in range(len(first) - 1):
        for e in range(first[g], first[g + 1]):
            i = earlier[e]
            total = antecedent[e]
            for f in range(first[g], first[g + 1]):
                k = earlier[f]
                if k == i or antecedent[f] < NEGLIGIBLE:
                    continue
                low, high = min(i, k), max(i, k)
                there = place[high]
                if there < 0:
                    continue
                at = first[there] + np.searchsorted(earlier[first[there] : first[there + 1]], low)
                if at < first[there + 1] and earlier[at] == low and same[at] >= sure:
                    total += antecedent[f] * same[at]
            same[e] = total
    return same


# Which pairs of similar records of one file are one person, and which are kin.
#
# Where few people are in a file twice, the pairs most alike are of households: all is equal but the given name and
# the date of birth. Three such pairs are too few for a class of their own to be supported by evidence, and between
# two files the assignment keeps them apart, since each has its own partner. Within one file nothing does. But every
# file has households. So a pair that is not of strangers is of one person or of kin, who agree like one person in the
# fields of the household and like strangers in the personal ones:
#
# .. math:: P(\text{one person}) = \frac{n_1 B}{n_1 B + n_k}, \qquad B = \prod_{q \text{ personal}} m_q(\gamma_q) /
#     u_q(\gamma_q).
#
# Their numbers :math:`n_1` and :math:`n_k` are estimated from the same pairs by EM, with one pseudo-pair of each.


PSEUDO_PAIRS = 1.0
"""Pairs that are supposed of each kind."""

MAX_STEPS = 1000
TOLERANCE = 1e-9


def without_kin(same: F64, personal: F64) -> F64:
    """Probability that pairs of records of one file are of one person, where kin may be what makes them similar.

    `same` (float64, shape (n_pairs,)): probability that a pair is not of strangers; `personal` (float64, shape
    (n_pairs,)): match weight of the personal fields, in bits. Returns float64, at most `same`.
    """
    against = np.exp2(-np.clip(personal, -1000.0, 1000.0))
    kin = 0.5 * float(same.sum())
    one_person = same
    for _ in range(MAX_STEPS):
        odds = (kin + PSEUDO_PAIRS) / (float(same.sum()) - kin + PSEUDO_PAIRS)
        one_person = same / (1.0 + odds * against)
        before, kin = kin, float(same.sum() - one_person.sum())
        if abs(kin - before) <= TOLERANCE * (1.0 + kin):
            break
    return one_person
