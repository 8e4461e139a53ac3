r"""Entities: the persons of two files, each of its records, and one of A with one of B where they are linked.

Persons are found within each file first (`antecedents`), and linked one to one then: their likelihood ratio is the mean
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
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

Pairs = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Rows of A and of B."""


@dataclass(frozen=True)
class OwnPersons:
    """The persons of one file.

    Attributes
    ----------
    first
        int32, shape (n_records,): first record of each record's person.
    same
        Sparse, shape (n_records, n_records): probability that two records of a person are of one; 1 for a record and
        itself, 0 for records of two persons.
    """

    first: NDArray[np.int32]
    same: csr_array = field(repr=False)

    @classmethod
    def of(
        cls,
        first: NDArray[np.integer],
        earlier: NDArray[np.integer],
        later: NDArray[np.integer],
        probability: NDArray[np.float64],
    ) -> OwnPersons:
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


def same_entity(
    own: tuple[OwnPersons, OwnPersons],
    kept: Pairs,
    weight: NDArray[np.float64],
    linked: NDArray[np.float64],
    pairs: Pairs,
) -> NDArray[np.float64]:
    """Probability that the two records of each pair are of one entity.

    Parameters
    ----------
    own : pair of OwnPersons
        Of A and of B.
    kept : pair of ndarray of int32, shape (n_kept,)
        The pairs that were compared and kept; no pair twice.
    weight : ndarray of float64, shape (n_kept,)
        Their match weights in bits.
    linked : ndarray of float64, shape (n_kept,)
        Probability that their persons are linked, the same for all pairs of two persons.
    pairs : pair of ndarray of int32, shape (n_pairs,)
        Any pairs of records.

    Returns
    -------
    ndarray of float64, shape (n_pairs,)
        0 for a pair of persons no pair of whose records was kept.

    Notes
    -----
    O(kept pairs and pairs of linked persons' records, times the records of a person).
    """
    n_a, n_b = len(own[0].first), len(own[1].first)
    _, group = np.unique(own[0].first[kept[0]].astype(np.int64) * n_b + own[1].first[kept[1]], return_inverse=True)
    highest = np.full(group.max(initial=-1) + 1, -np.inf)
    np.maximum.at(highest, group, weight)
    ratio = np.exp2(weight - highest[group])
    copied_from = ratio / np.bincount(group, ratio)[group]
    anchors = csr_array(coo_array((linked * copied_from, kept), shape=(n_a, n_b)))
    chance = own[0].same @ anchors @ own[1].same
    probability: NDArray[np.float64] = np.minimum(np.asarray(chance[pairs[0], pairs[1]]).ravel(), 1.0)
    return probability


@dataclass(frozen=True)
class Entities:
    """Which records of both files are of one entity.

    Attributes
    ----------
    a, b
        int64, shape (n_a,) and (n_b,): the entity of each record, a number from 0; entities of Alice's records first.
    n
        Number of entities, those of one record included.
    """

    a: NDArray[np.int64] = field(repr=False)
    b: NDArray[np.int64] = field(repr=False)
    n: int

    @classmethod
    def of(cls, persons: tuple[NDArray[np.int32], NDArray[np.int32]], links: Pairs) -> Entities:
        """From the persons of both files and pairs of records whose persons are linked.

        Parameters
        ----------
        persons : pair of ndarray of int, shape (n_a,) and (n_b,)
            First record of each record's person.
        links : pair of ndarray of int
            No person of either file is linked to two.
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
    def sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Records of A and of B in each entity."""
        return np.bincount(self.a, minlength=self.n), np.bincount(self.b, minlength=self.n)

    def pairs(self) -> Pairs:
        """All pairs of a record of A and one of B that are of one entity, by rows of A, then of B."""
        order = np.argsort(self.b, kind="stable")
        number = np.bincount(self.b, minlength=self.n)
        start = np.concatenate([[0], np.cumsum(number)[:-1]]) if self.n else number
        times = number[self.a]
        row_a = np.repeat(np.arange(len(self.a)), times)
        within = np.arange(len(row_a)) - np.repeat(np.cumsum(times) - times, times)
        row_b = order[start[self.a[row_a]] + within]
        return row_a.astype(np.int32), row_b.astype(np.int32)
