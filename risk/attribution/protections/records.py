"""What a protection is: it turns a published table into a safer one, and knows what an intruder can make of that."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.arrays import Integers
from gemel.risk.attribution.laws import Law, Sampled, Within
from gemel.risk.attribution.release import Axis, Published, Table, Variable


@dataclass(frozen=True, eq=False)
class Outcome:
    """A protected table.

    `table`: what is published, with its law; `also`: what is published or known along with it: margins that the scheme
    keeps, for example.
    """

    table: Published
    also: tuple[Published, ...] = ()


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
        outcome = Outcome(given)
        for step in self.steps:
            # What an earlier step made known is of its own output, which the next step hides.
            outcome = step.protect(outcome.table, generator)
        return outcome


def require_exact(given: Published, what: str) -> None:
    """Raise unless every count of the table is the true one."""
    if not given.law.exact or given.intervals is not None or (given.counts < 0).any():
        where, remedy = f"table {given.name!r}", f"put {what} first"
        raise parameter(where, f"{what} works on true counts, and this table is protected already", "", remedy)


@dataclass(frozen=True)
class Sampling(Protection):
    """A simple random sample without replacement, of a number or a fraction of the records."""

    size: int | None = None
    fraction: float | None = None

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        require_exact(given, "sampling")
        total = int(given.counts.sum())
        size = self.size if self.size is not None else round(total * (self.fraction or 0.0))
        law = Sampled(total, size)
        drawn = generator.multivariate_hypergeometric(given.counts.ravel(), size, method="marginals")
        return Outcome(replace(given, counts=drawn.reshape(given.counts.shape).astype(np.int64), law=law))


@dataclass(frozen=True)
class Recoding(Protection):
    """Collapse levels of a variable into groups."""

    variable: str
    groups: Mapping[str, Sequence[str]]

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        _additive(given, "recoding")
        number = _axis(given, self.variable)
        axis = given.axes[number]
        place = {label: i for i, label in enumerate(axis.labels)}
        listed = [label for group in self.groups.values() for label in group]
        if sorted(listed) != sorted(axis.labels):
            what = "a recoding must put every level in one group"
            raise parameter(f"variable {self.variable!r}", what, remedy=f"the levels are: {', '.join(axis.labels)}")
        parts = [[place[label] for label in group] for group in self.groups.values()]
        counts = np.stack([np.take(given.counts, part, axis=number).sum(axis=number) for part in parts], axis=number)
        members = tuple(tuple(sorted(k for i in part for k in axis.members[i])) for part in parts)
        axes = list(given.axes)
        axes[number] = Axis(self.variable, tuple(self.groups), members)
        return Outcome(replace(given, axes=tuple(axes), counts=counts))


@dataclass(frozen=True)
class AttributeSuppression(Protection):
    """Leave variables out: publish the margin over the others."""

    variables: tuple[str, ...]

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        _additive(given, "attribute suppression")
        gone = tuple(_axis(given, name) for name in self.variables)
        axes = tuple(a for i, a in enumerate(given.axes) if i not in gone)
        return Outcome(replace(given, axes=axes, counts=np.asarray(given.counts.sum(axis=gone))))


@dataclass(frozen=True)
class Swapped(Within):
    """Law of swapping: a cell moves by at most half the records that take part."""

    variable: int = 0
    stratum: tuple[int, ...] = ()
    taking_part: tuple[int, ...] = ()
    name = "swapped"


@dataclass(frozen=True)
class Swapping(Protection):
    """Shuffle a variable's values among a random part of the records, within strata if requested.

    Of each stratum (records that agree on `within`), a share of the records is drawn, and their values of `variable`
    are put in a random order. The margins over the variable with the strata, and over all other variables, stay.
    """

    variable: str
    fraction: float
    within: tuple[str, ...] = ()

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        require_exact(given, "swapping")
        axis = _axis(given, self.variable)
        strata = tuple(_axis(given, name) for name in self.within)
        variables = tuple(Variable(a.variable, a.labels) for a in given.axes)
        records = Table(variables, given.counts).records()
        everyone = np.zeros(len(records), dtype=np.int64)  # so that without strata there is one
        shape = (1, *(given.counts.shape[a] for a in strata))
        order = np.ravel_multi_index([everyone, *(records[:, a] for a in strata)], shape)
        taking_part = []
        for number in range(math.prod(shape)):
            members = np.flatnonzero(order == number)
            chosen = generator.permutation(members)[: round(len(members) * self.fraction)]
            taking_part.append(len(chosen))
            records[chosen, axis] = records[generator.permutation(chosen), axis]
        reach = max(taking_part, default=0) // 2
        law = Swapped(reach, reach, axis, strata, tuple(taking_part))
        table = replace(given, counts=Table.of_records(variables, records).counts, law=law)
        others = tuple(i for i in range(len(given.axes)) if i != axis)
        return Outcome(table, (_margin(given, (axis, *strata)), _margin(given, others)))


@dataclass(frozen=True)
class Randomised(Law):
    """Law of PRAM: each record's level of a variable is redrawn from a row of a known matrix.

    `matrix`: ``matrix[k][j]`` is P(published level j | true level k).
    """

    axis: int
    matrix: tuple[tuple[float, ...], ...]
    name = "pram"
    whole_table = "PRAM"

    def _range(self, counts: Integers) -> tuple[Integers, Integers]:
        """From which true levels may a published one come: all records published at level k only if that is certain."""
        counts = np.moveaxis(counts, self.axis, 0)
        possible = np.asarray(self.matrix) > 0
        lower, upper = np.zeros_like(counts), np.zeros_like(counts)
        for k, reachable in enumerate(possible):
            upper[k] = counts[reachable].sum(axis=0)
            # Published levels that only true level k can become.
            lower[k] = counts[reachable & (possible.sum(axis=0) == 1)].sum(axis=0)
        return np.moveaxis(lower, 0, self.axis), np.moveaxis(upper, 0, self.axis)


@dataclass(frozen=True)
class Pram(Protection):
    """Post-randomisation: redraw each record's level of a variable from the matrix's row of its true level."""

    variable: str
    matrix: tuple[tuple[float, ...], ...]

    def protect(self, given: Published, generator: np.random.Generator) -> Outcome:
        require_exact(given, "PRAM")
        axis = _axis(given, self.variable)
        theta = np.asarray(self.matrix, dtype=float)
        levels = given.counts.shape[axis]
        if theta.shape != (levels, levels) or (theta < 0).any() or not np.allclose(theta.sum(axis=1), 1.0):
            what = f"a PRAM matrix needs {levels} rows of {levels} probabilities, each row summing to 1"
            raise parameter(f"variable {self.variable!r}", what, f"shape {theta.shape}")
        moved = np.moveaxis(given.counts, axis, 0)
        result = np.zeros_like(moved)
        for k in range(levels):
            drawn = generator.multinomial(moved[k], theta[k])
            result += np.moveaxis(drawn, -1, 0)
        law = Randomised(axis, tuple(tuple(float(p) for p in row) for row in theta))
        table = replace(given, counts=np.moveaxis(result, 0, axis).astype(np.int64), law=law)
        others = tuple(i for i in range(len(given.axes)) if i != axis)
        return Outcome(table, (_margin(given, others),))


def _axis(given: Published, name: str) -> int:
    if name not in given.names:
        remedy = f"use one of: {', '.join(given.names)}"
        raise parameter(f"table {given.name!r}", f"there is no variable {name!r}", remedy=remedy)
    return given.names.index(name)


def _additive(given: Published, what: str) -> None:
    if not (given.exact or given.sample) or (given.counts < 0).any():
        where, remedy = f"table {given.name!r}", f"put {what} before the other protections"
        raise parameter(
            where, f"{what} adds counts up, and sums of protected counts have no law of their own", "", remedy
        )


def _margin(given: Published, axes: tuple[int, ...]) -> Published:
    """An exact margin that the scheme keeps."""
    axes = tuple(sorted(set(axes)))
    gone = tuple(i for i in range(len(given.axes)) if i not in axes)
    names = ", ".join(given.axes[i].variable for i in axes) or "nothing"
    kept = tuple(given.axes[i] for i in axes)
    return Published(f"{given.name}: kept margin over {names}", kept, given.counts.sum(axis=gone))
