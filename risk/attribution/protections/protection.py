"""What a protection is: it turns a published table into a safer one, and knows what an intruder can make of that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.attribution.laws import Composed, Law
from gemel.risk.attribution.release import Published


@dataclass(frozen=True, eq=False)
class Outcome:
    """A protected table.

    Parameters
    ----------
    table
        What is published, with its law.
    also
        What is published or known along with it: margins that the scheme keeps, for example.
    gap
        Relative gap to the optimum where the protection is an optimisation: 0 when solved, None where there is nothing
        to optimise.
    """

    table: Published
    also: tuple[Published, ...] = ()
    gap: float | None = None


class Protection(ABC):
    """A way to protect a table. Random ones take their numbers from the generator given."""

    @abstractmethod
    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        """Protect a table, which may have been protected before."""


@dataclass(frozen=True)
class Chain(Protection):
    """Protections one after another; the law of the whole is composed of theirs."""

    steps: tuple[Protection, ...]

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        table, also, gap = given, list[Published](), None
        for number, step in enumerate(self.steps):
            outcome = step.protect(table, generator)
            if also and number:
                # What an earlier step made known is of its own output, which the next step hides.
                also = []
            table, gap = outcome.table, outcome.gap if outcome.gap is not None else gap
            also.extend(outcome.also)
        return Outcome(table, tuple(also), gap)


def then(first: Law, second: Law) -> Law:
    """The law of one protection after another."""
    if first.exact:
        return second
    return first if second.exact else Composed(first, second)


def with_counts(given: Published, counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]], law: Law) -> Published:
    """The table with other counts, under its law so far followed by another."""
    return replace(given, counts=counts, law=then(given.law, law))


def require_exact(given: Published, what: str) -> None:
    """Raise unless every count of the table is the true one."""
    if not given.law.exact or given.intervals is not None or (given.counts < 0).any():
        raise parameter(
            f"table {given.name!r}",
            f"{what} works on true counts, and this table is protected already",
            remedy=f"put {what} first",
        )


def all_margins(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Every proper subset of the variables, larger ones first, the total last."""
    found = [tuple(n for i, n in enumerate(names) if bits >> i & 1) for bits in range((1 << len(names)) - 1)]
    return sorted(found, key=lambda s: -len(s))
