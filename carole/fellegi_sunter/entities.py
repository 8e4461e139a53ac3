r"""Entities: the persons of two files, each of its records, and one of A with one of B where they are linked.

Persons are found within each file first (`persons`), and linked one to one then: their likelihood ratio is the mean
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


def persons(earlier: Ints, later: Ints, same: F64, n: int, threshold: float) -> I64:
    """First record of the person of each record.

    In the order of the file each record joins the person of the earlier record with which it most probably is of one
    person, if that probability reaches the threshold. Returns int64, shape (n,): the record itself where it is its
    person's first.
    """
    person = np.arange(n, dtype=np.int64)
    reached = np.flatnonzero(same >= threshold)
    order = reached[np.lexsort((earlier[reached], -same[reached], later[reached]))]
    rows, first = np.unique(later[order], return_index=True)
    for row, best in zip(rows.tolist(), earlier[order[first]].tolist(), strict=True):
        person[row] = person[best]
    return person
