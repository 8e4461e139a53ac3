"""Open mode across fields: each field, and each variable, read by means of the field that is best read.

A row of open mode has all its signatures and codes together. What an attack has named in one field is taken as known
in every row, and shows what it goes together with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.sparse import coo_matrix

from gemel.common.arrays import F64, I64, Ints
from gemel.common.signatures.category_tree import Partition, code_groups, ordered
from gemel.custodian.leakage.recovery import UNKNOWN, Recovery, score


def cooccurrence_alignment(known: I64, codes: Ints, n_values: int, joint: F64, prior: F64) -> I64:
    r"""Likeliest public value of each signature of a field, given another field's values in the same rows.

    `known`, shape (n_rows,), is the public value of the first field that each row is taken to have, ``UNKNOWN`` where
    none is; `codes`, shape (n_rows,), its signature of the second field, -1 where missing; `joint`, shape (n_first,
    n_second), the public probability of the first field's value given the second's, columns summing to 1; `prior`,
    shape (n_second,), the second's shares. Returns int64, shape (n_values,): :math:`\arg\max_d \log p(d) + \sum_{rows}
    \log p(known | d)`; ``UNKNOWN`` where no row of it is known.

    O(n_rows * n_second), and n_values * n_second numbers in memory.
    """
    here = (known != UNKNOWN) & (codes >= 0)
    met = coo_matrix((np.ones(int(here.sum())), (codes[here], known[here])), shape=(n_values, len(joint))).tocsr()
    total = met @ np.log(np.maximum(joint, 1e-9))
    guesses: I64 = (total + np.log(prior)).argmax(axis=1).astype(np.int64)
    guesses[np.diff(met.indptr) == 0] = UNKNOWN
    return guesses


def conditional_shares(first: I64, second: I64, n_first: int, n_second: int) -> F64:
    """Share of each first value among the people with a second one: shape (n_first, n_second), columns sum to 1.

    `first` and `second` are people's values, shape (n_people,), or ``UNKNOWN``. Each share is drawn towards that among
    all people with the weight of one person, so that what was never met is not impossible.
    """
    here = (first != UNKNOWN) & (second != UNKNOWN)
    counts = coo_matrix((np.ones(int(here.sum())), (first[here], second[here])), shape=(n_first, n_second)).toarray()
    overall = (counts.sum(axis=1) + 1.0) / (counts.sum() + n_first)
    shares: F64 = (counts + overall[:, None]) / (counts.sum(axis=0) + 1.0)
    return shares


MAXIMUM = 1000
"""Commonest values of either field that are considered."""


@dataclass(frozen=True)
class ReadField:
    """A field, or a variable, of open mode, and what an attack on it alone claims.

    `codes`, shape (n_rows,): signature or code of each row, -1 where missing; `truth`, `guesses`, int64 of shape
    (n_values,): public value that each signature is, and is taken for, or ``UNKNOWN``; `shares`, shape (n_public,): of
    the public values.
    """

    name: str
    codes: Ints
    truth: I64
    guesses: I64
    shares: F64

    @property
    def counts(self) -> I64:
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.truth)).astype(np.int64)

    @property
    def recovered(self) -> float:
        return score("", self.name, self.guesses, self.truth, self.counts, 0).records

    def by_row(self, values: I64) -> I64:
        """A public value of each row, of those considered."""
        held = np.append(values, UNKNOWN)[self.codes]
        return np.where(held < MAXIMUM, held, UNKNOWN)


def by_cooccurrence(target: ReadField, read: Sequence[ReadField], rng: Generator) -> Recovery | None:
    """Attack a field by means of the best read of the others; None where no other is read at all."""
    others = [field for field in read if field.name != target.name and (field.guesses != UNKNOWN).any()]
    if not others or not len(target.truth):
        return None
    known = max(others, key=lambda field: field.recovered)
    clear = rng.random(len(target.codes)) < 0.5
    n_first, n_second = min(MAXIMUM, len(known.shares)), min(MAXIMUM, len(target.shares))
    joint = conditional_shares(known.by_row(known.truth)[clear], target.by_row(target.truth)[clear], n_first, n_second)
    counts = target.counts
    common = np.zeros(len(counts) + 1, dtype=bool)
    common[np.argsort(-counts, kind="stable")[:MAXIMUM]] = True
    common[-1] = False  # code -1
    codes = np.where(common[target.codes] & ~clear, target.codes, UNKNOWN)
    guesses = cooccurrence_alignment(known.by_row(known.guesses), codes, len(counts), joint, target.shares[:n_second])
    commonest = int(target.shares.argmax())
    return score(f"co-occurrence with {known.name}", target.name, guesses, target.truth, counts, commonest)


# Category codes are keyed relabellings: Carole cannot read them, but equal rows are equal. Codes that serve the whole
# file join rows of different rules; the more categories, the more rows have a combination of their own.


def unique_rows(codes: I64) -> float:
    """Share of the rows, of shape (n_rows, n_variables), whose combination of codes no other row has."""
    if not len(codes):
        return 0.0
    _, counts = np.unique(codes, axis=0, return_counts=True)
    return float((counts == 1).sum() / len(codes))


def margin_alignment(codes: I64, n_categories: int, margin: F64, partitions: Sequence[Partition] = ()) -> I64:
    """Public category taken for each code by the rank of its count, shape (n_categories,).

    Where the variable may be coarsened, `partitions` are the groups by which the codes are ordered (`category_tree`):
    groups of one shape are ranked by their counts, and categories in their group.
    """
    counts = np.bincount(codes[codes >= 0], minlength=n_categories)
    guesses = np.empty(n_categories, dtype=np.int64)
    of_codes = [groups.tolist() for groups in code_groups(partitions, n_categories)]
    guesses[ordered(of_codes, (-counts).tolist(), sum)] = ordered(partitions, (-margin).tolist(), sum)
    return guesses


def code_recovery(name: str, codes: Ints, labels: I64, margin: F64, partitions: Sequence[Partition] = ()) -> Recovery:
    """What the public margin of a variable discloses of its codes.

    `codes`, shape (n_rows,): as sent, -1 where missing; `labels`, shape (n_categories,): the category that each truly
    is; `margin`, shape (n_categories,): how common each category is in public, in any unit.
    """
    held = codes[codes >= 0].astype(np.int64)
    counts = np.bincount(held, minlength=len(margin))
    guesses = margin_alignment(held, len(margin), margin, partitions)
    return score("category codes and public margins", name, guesses, labels, counts, int(margin.argmax()))
