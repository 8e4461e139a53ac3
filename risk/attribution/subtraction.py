"""Subtraction attribution probability against an attacker who derives the bounds again after each subtraction.

Who knows s_i people in cell i knows that the cell holds at least s_i. With these floors added to the release's
constraints, a cell is revealed when its largest feasible count is s_i. This attacker does at least as well as the
static one of `sap`.

Whether a sample of known people lays some cell bare is monotone: knowing more people raises floors and lowers ceilings,
and a bare cell has no people left to be learnt of. So it suffices to walk the border between samples that do and
samples that do not (exact recursion), or to find in a random order of people the first moment at which a cell is bare
(Monte Carlo, one bisection for all k at once).
"""

from __future__ import annotations

from bisect import bisect_left
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import comb

import numpy as np
from scipy.special import betaincinv

from gemel.common.errors import GemelError, parameter
from gemel.risk.arrays import Floats, Integers
from gemel.risk.attribution.programming import System, feasible_table, system
from gemel.risk.attribution.release import Release
from gemel.risk.attribution.search import Search
from gemel.risk.attribution.shuttle import lattice, shuttle

_ROOM = 20_000
_STEPS = 200_000
_POOL = 512
_EFFORT = 20_000  # samples that the exact recursion judges


@dataclass(frozen=True, eq=False)
class Subtraction:
    """SAP(0..N), and how sure it is.

    `curve` (float64, shape (N + 1,)); `lower`, `upper` (float64, shape (N + 1,)): pointwise confidence limits; equal to
    the curve where it is exact.
    """

    curve: Floats
    lower: Floats
    upper: Floats
    method: str
    exact: bool


class Attacker:
    """An intruder who holds a release and subtracts the people he knows.

    `release`: what is public, with the truth.
    """

    def __init__(self, release: Release) -> None:
        if release.truth is None:
            what = "the subtraction attribution probability is the data holder's measure: it needs the true table"
            raise parameter(release.name, what, remedy="add the true counts of the base table to the release")
        self.truth = release.truth.counts.ravel()
        self._rules: System = system(release)
        if not self._rules.satisfied(self.truth[None, :])[0]:
            what = "the true table does not satisfy the release"
            raise parameter(release.name, what, remedy="check the protections stated for the tables")
        self._search: Search | None = None
        with suppress(GemelError):  # too many recoded cells, or no upper bound: integer programming alone
            self._search = Search(shuttle(release, lattice(release, None, _ROOM)))
        self._pool: list[Integers] = []
        self._memory: dict[bytes, bool] = {}

    def bare(self, known: Integers) -> bool:
        """Whether the known people lay some cell bare."""
        key = known.tobytes()
        if key not in self._memory:
            self._memory[key] = any(self._closed(known, int(j)) for j in np.flatnonzero(known == self.truth))
        return self._memory[key]

    def _closed(self, known: Integers, cell: int) -> bool:
        """Whether no feasible table that holds the known people has anyone else in a cell."""
        for number, table in enumerate(self._pool):
            if table[cell] > known[cell] and (table >= known).all():
                if number > 16:  # what helped once is likely to help again soon
                    self._pool.insert(0, self._pool.pop(number))
                return False
        floor = known.copy()
        floor[cell] += 1
        other, certain = (None, False) if self._search is None else self._search.above(floor, _STEPS)
        if not certain:
            other = feasible_table(self._rules.at_least(floor))
        if other is None:
            return True
        self._pool.insert(0, other)
        del self._pool[_POOL:]
        return False


def retightened_sap(release: Release, generator: np.random.Generator, *, draws: int = 2_000) -> Subtraction:
    """SAP(0..N) for any release, against the attacker who tightens again; by Monte Carlo where that is not exact."""
    attacker = Attacker(release)
    counts = _recursion(attacker, _EFFORT)
    if counts is None:
        return monte_carlo_sap(attacker, generator, draws)
    n = len(counts) - 1
    curve = np.asarray([c / comb(n, k) for k, c in enumerate(counts)])
    return Subtraction(curve, curve, curve, f"exact recursion ({len(attacker._memory)} samples judged)", True)


def _recursion(attacker: Attacker, effort: int) -> list[int] | None:
    """Numbers of k-subsets of people that lay a cell bare, by descent through the cells; None when given up."""
    truth = attacker.truth
    order = np.argsort(-truth, kind="stable")
    people = int(truth.sum())
    found = [0] * (people + 1)
    left = np.concatenate([np.cumsum(truth[order][::-1])[::-1], [0]])

    def visit(depth: int, known: Integers, ways: int, taken: int) -> bool:
        if len(attacker._memory) > effort:
            return False
        if attacker.bare(known):
            rest = int(left[depth])
            for more in range(rest + 1):
                found[taken + more] += ways * comb(rest, more)
            return True
        if depth == len(order):
            return True
        whole = known.copy()
        whole[order[depth:]] = truth[order[depth:]]
        if not attacker.bare(whole):
            return True
        cell = order[depth]
        if truth[cell] == 0:
            return visit(depth + 1, known, ways, taken)
        for s in range(int(truth[cell]) + 1):
            deeper = known.copy()
            deeper[cell] = s
            if not visit(depth + 1, deeper, ways * comb(int(truth[cell]), s), taken + s):
                return False
        return True

    return found if visit(0, np.zeros_like(truth), 1, 0) else None


def monte_carlo_sap(
    attacker: Attacker, generator: np.random.Generator, draws: int, confidence: float = 0.95
) -> Subtraction:
    """SAP(0..N) by random orders of people: in each, bisection finds the first k at which a cell is bare."""
    truth = attacker.truth
    people = np.repeat(np.arange(len(truth)), truth)
    n = len(people)

    def first_bare(order: Integers) -> int:
        """The first k at which the people in this order lay a cell bare; n + 1 for never."""
        known = partial(np.bincount, minlength=len(truth))
        return bisect_left(range(n + 1), True, key=lambda k: attacker.bare(known(order[:k]).astype(np.int64)))

    reached = [first_bare(generator.permutation(people)) for _ in range(draws)]
    hits = np.cumsum(np.bincount(reached, minlength=n + 1)[: n + 1])
    tail = (1.0 - confidence) / 2.0
    with np.errstate(invalid="ignore"):
        lower = np.where(hits == 0, 0.0, betaincinv(hits, draws - hits + 1, tail))
        upper = np.where(hits == draws, 1.0, betaincinv(hits + 1, draws - hits, 1.0 - tail))
    return Subtraction(hits / draws, lower, upper, f"Monte Carlo ({draws} random orders)", False)
