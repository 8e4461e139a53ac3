"""Link probabilities of the kept pairs under an assignment: who may be linked how often.

An assignment decides which pairs exclude each other. The posterior probabilities follow from it, and so does which
pairs meet that could not both be matches. Estimation (`kinds`) needs both and no more, whatever the assignment.

Records of one file that are known to be one person count as one. Otherwise two copies that may have one partner
together would share its probability, and neither would be linked: copies would annihilate each other. All pairs of
copies have the probability of their persons' link, and the decision takes one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import expit

from gemel.carole.fellegi_sunter.candidate_graph import Beliefs, Settled
from gemel.carole.fellegi_sunter.link_rule import Assignment
from gemel.carole.fellegi_sunter.one_to_one import Competition, check_pairs
from gemel.carole.fellegi_sunter.prior import (
    EXPECTATION_WORTH,
    BetaBipartite,
    BetaPartners,
    LinkProbabilities,
    at_implied_number,
    beta_parameters,
)
from gemel.carole.fellegi_sunter.propagation import GREATEST_LOG_WEIGHT
from gemel.common.arrays import F64, I64, Flags, Ints
from gemel.common.progress import StageProgress, silent

# Posterior link probabilities where the records of one file have at most one match, and those of the other any number.
#
# Given the prior odds of a link these records do not compete: each has its own candidates, which exclude each other, a
# star of the graph of candidates. So the marginals are exact,
#
#     P(link) = odds / (1 + sum of the odds of the record's candidates),
#
# and the number of links is put at the one that they imply (`at_implied_number`), as under one-to-one.


class Stars:
    """Marginals of links of which those of one record exclude each other.

    `record` (int, shape (n_pairs,)): the record of each pair that has one link at most; `log_ratio` (float64, shape
    (n_pairs,)): natural logarithm of each pair's likelihood ratio.

    Exact. O(n_pairs).
    """

    def __init__(self, record: Ints, log_ratio: F64) -> None:
        self._record, self._log_ratio = record, log_ratio
        self._n = int(record.max(initial=-1)) + 1
        self.n_pairs = len(log_ratio)

    def run(self, log_prior_odds: float, max_sweeps: int = 1) -> Settled:
        """Probability of each link at these prior odds; one pass suffices, whatever `max_sweeps`."""
        log_odds = np.clip(self._log_ratio + log_prior_odds, -GREATEST_LOG_WEIGHT, GREATEST_LOG_WEIGHT)
        # What weighs most, a candidate or none, counts as 1: no sum overflows.
        highest = np.zeros(self._n)
        np.maximum.at(highest, self._record, log_odds)
        odds = np.exp(log_odds - highest[self._record])
        total = np.exp(-highest) + np.bincount(self._record, odds, minlength=self._n)
        self._beliefs = Beliefs(odds / total[self._record], float((np.log(total) + highest).sum()))
        return Settled(float(self._beliefs.probability.sum()))

    def beliefs(self) -> Beliefs:
        return self._beliefs


Copies = tuple[Ints | None, Ints | None]
"""Of A and of B: of each record the first of its file that is the same person; None: a file without copies."""


@dataclass
class Arranged:
    """What does not change with the pairs' weights, made when first needed: estimation weighs the same pairs often."""

    competition: Competition | None = None
    persons: Persons | None = None


@dataclass(frozen=True)
class LinkPosterior:
    """The kept pairs, and what excludes what among them.

    `assignment`: one_to_one, greedy: no record has two links. many_to_one: no record of A has. one_to_many: no record
    of B has. clusters: no person has, and the copies are all records of one. none: pairs do not exclude each other;
    `row_a`, `row_b` (int, shape (n_pairs,)): rows of the two files; no pair twice; `expected_matches`: prior mean of
    the number of links between records, and `worth` matches; None: any number is as likely; `recall`: share of the
    matches that are among the pairs that could be kept. Links are counted among those, while a match weight is of any
    pair: a pair's odds are 1 / recall times what its weight and the number of links make them; `threads`: on which
    one_to_one is worked out; the result is the same; `arranged`: of these pairs; a copy with other weights in view
    (`replace` of `recall`) shares it.
    """

    assignment: Assignment
    row_a: Ints = field(repr=False)
    row_b: Ints = field(repr=False)
    n_a: int
    n_b: int
    copies: Copies = field(default=(None, None), repr=False)
    expected_matches: float | None = None
    worth: float = EXPECTATION_WORTH
    recall: float = 1.0
    threads: int = 1
    arranged: Arranged = field(default_factory=Arranged, repr=False, compare=False)

    def probabilities(
        self, weight: F64, progress: StageProgress = silent, near: bool = False, *, cycles: bool = True
    ) -> LinkProbabilities:
        """Probability that each pair is linked.

        `weight` (float64, shape (n_pairs,)): match weights in bits; `near`: whether the weights are little different
        from the last ones: in a large one_to_one linkage, only the number of links next to the last is sought. Pairs of
        copies have one probability; the expected number of links is the sum over all pairs.

        Two persons' likelihood ratio is the mean of their records' pairs: any of these may be the one that was copied.
        many_to_one and one_to_many: exact for a given number of links. one_to_one: belief propagation. The number of
        links is put at its mode. O(n_pairs), in each round of messages.
        """
        if any(first is not None for first in self.copies):
            persons, first, member = self.persons()
            if self.expected_matches is not None:
                expected = self.expected_matches * self._persons_per_pair(self.expected_matches, weight, member)
                persons = replace(persons, expected_matches=expected)
            found = persons.probabilities(group_means(weight, member, len(first)), progress, near, cycles=cycles)
            each = found.probability[member]
            return replace(found, probability=each, expected_links=float(each.sum()))
        weight = weight - math.log2(self.recall)
        if self.is_bipartite:
            check_pairs(self.row_a, self.row_b, weight)
            made = self.arranged
            made.competition = made.competition or Competition(self.row_a, self.row_b, self.threads)
            return made.competition.probabilities(weight, self.bipartite_prior, progress, near, cycles=cycles)
        record, partner, n_records, n_partners = self.choices
        prior = BetaPartners(n_records, n_partners, *beta_parameters(self.expected_matches, n_records, self.worth))
        check_pairs(record, partner, weight)
        return at_implied_number(Stars(record, weight * np.log(2.0)), prior, progress)

    @property
    def is_bipartite(self) -> bool:
        """Whether records of either file have one link at most."""
        return self.assignment not in ("many_to_one", "one_to_many", "none")

    @property
    def choices(self) -> tuple[Ints, Ints, int, int]:
        """Where only one file's records have one link at most: these, their partners, and the numbers of both."""
        if self.assignment == "many_to_one":
            return self.row_a, self.row_b, self.n_a, self.n_b
        if self.assignment == "one_to_many":
            return self.row_b, self.row_a, self.n_b, self.n_a
        # Each of all pairs is a record with one candidate, its partner.
        pair = np.arange(len(self.row_a))
        return pair, pair, self.n_a * self.n_b, 1

    @property
    def bipartite_prior(self) -> BetaBipartite:
        """Of the links of a one_to_one linkage."""
        smaller = min(self.n_a, self.n_b)
        return BetaBipartite(self.n_a, self.n_b, *beta_parameters(self.expected_matches, smaller, self.worth))

    def persons(self) -> Persons:
        """The same of persons: a pair for all pairs of their records, the first of these, and which one each is of."""
        if self.arranged.persons is None:
            a, b = of_persons(self.row_a, self.row_b, self.copies)
            n_a, n_b = (
                n if copies is None else len(np.unique(copies))
                for n, copies in zip((self.n_a, self.n_b), self.copies, strict=True)
            )
            _, first, member = np.unique(a.astype(np.int64) * self.n_b + b, return_index=True, return_inverse=True)
            persons = replace(
                self, row_a=a[first], row_b=b[first], n_a=n_a, n_b=n_b, copies=(None, None),
                arranged=Arranged(),
            )  # fmt: skip
            self.arranged.persons = persons, first, member.ravel()
        persons, first, member = self.arranged.persons
        return replace(persons, recall=self.recall), first, member

    def _persons_per_pair(self, expected: float, weight: F64, member: Ints) -> float:
        """Links of persons to one between their records, by these weights and so many expected links."""
        log_odds = weight * math.log(2.0) + math.log(max(expected, 1e-300)) - math.log(self.n_a) - math.log(self.n_b)
        chance = expit(log_odds)
        of_persons = np.bincount(member, chance) / np.bincount(member)
        return float(of_persons.sum() / chance.sum()) if chance.any() else 1.0

    def meeting(self, chosen: Flags) -> tuple[Flags, float]:
        """Of some pairs, those that share a person who has one link at most; and the chance of a random pair to do so.

        `chosen` (bool, shape (n_pairs,)). Returns bool, shape (n_pairs,).
        """
        if any(first is not None for first in self.copies):
            persons, first, member = self.persons()
            found, at_random = persons.meeting(np.bincount(member[chosen], minlength=len(first)) > 0)
            return found[member] & chosen, at_random
        meeting, free = np.zeros(len(chosen), dtype=np.bool_), 1.0
        for row, n, number in self._numbers(chosen):
            meeting |= number[row] > 1
            free *= 1.0 - float((number > 0).sum()) / n
        return meeting & chosen, 1.0 - free

    def people(self, chosen: Flags) -> int:
        """How many pairs of people some pairs are: a record's are one, where it may have several links, to copies."""
        if any(first is not None for first in self.copies):
            persons, first, member = self.persons()
            return persons.people(np.bincount(member[chosen], minlength=len(first)) > 0)
        if self.assignment == "many_to_one":
            return len(np.unique(self.row_b[chosen]))
        if self.assignment == "one_to_many":
            return len(np.unique(self.row_a[chosen]))
        return int(chosen.sum())

    def excluded(self, linked: Flags) -> Flags:
        """The pairs that some links exclude, whatever their levels.

        `linked` (bool, shape (n_pairs,)). Returns bool, shape (n_pairs,).
        """
        if any(first is not None for first in self.copies):
            persons, first, member = self.persons()
            return persons.excluded(np.bincount(member[linked], minlength=len(first)) > 0)[member] & ~linked
        excluded = np.zeros(len(linked), dtype=np.bool_)
        for row, _, number in self._numbers(linked):
            excluded |= number[row] > 0
        return excluded & ~linked

    def _numbers(self, chosen: Flags) -> Iterator[tuple[Ints, int, Ints]]:
        """Of each file whose records have one link at most: rows of the pairs, records, pairs chosen of each record."""
        many = ("one_to_many", "many_to_one")
        for row, n, several in zip((self.row_a, self.row_b), (self.n_a, self.n_b), many, strict=True):
            if self.assignment not in (several, "none"):
                yield row, n, np.bincount(row[chosen], minlength=int(row.max(initial=0)) + 1)


Persons = tuple[LinkPosterior, I64, I64]
"""Pairs of persons, the first pair of records of each, and of which one each pair of records is."""


def of_persons(row_a: Ints, row_b: Ints, copies: Copies) -> tuple[Ints, Ints]:
    """The two persons of each pair, as the first records of theirs."""
    first_a, first_b = copies
    return row_a if first_a is None else first_a[row_a], row_b if first_b is None else first_b[row_b]


def group_means(weight: F64, group: Ints, n: int) -> F64:
    """Binary logarithm of the mean likelihood ratio of each group of pairs."""
    highest = np.full(n, -np.inf)
    np.maximum.at(highest, group, weight)
    ratio = np.bincount(group, np.exp2(weight - highest[group]), minlength=n) / np.bincount(group, minlength=n)
    return np.asarray(highest + np.log2(ratio))
