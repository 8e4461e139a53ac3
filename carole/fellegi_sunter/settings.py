"""The input of estimation: the fields, the blocking rules, and the settings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from gemel.common.errors import GemelError, parameter
from gemel.common.specification.model.defaults import Describes

U = Literal["all_pairs", "corrected", "free"]


BELIEVED_AGREEMENT = 0.9
"""P(top level | match) that is believed where nothing else is; the other levels share the rest evenly."""

BELIEF_WORTH = 20.0
"""Matches that this belief is worth, where nothing else is stated."""


@dataclass(frozen=True)
class MPrior:
    """What is believed of a field's m.

    `agreement`: P(top level | match), in (0, 1); the other levels share the rest evenly; `weight`: matches that the
    belief is worth, above 0.
    """

    agreement: float = BELIEVED_AGREEMENT
    weight: float = BELIEF_WORTH

    def __post_init__(self) -> None:
        if not 0 < self.agreement < 1:
            raise _wrong("m_prior", "an agreement in (0, 1)", str(self.agreement))
        if not 0 < self.weight < math.inf:
            raise _wrong("m_prior", "a weight above 0", str(self.weight))


@dataclass(frozen=True)
class FieldLevels:
    """A compared field: its name and its number of levels, the last being the most similar.

    An `exception` is a comparison in which most matches have the lowest level, such as the exchange of two values;
    estimation starts there. `m_prior` is what is believed of its m. `describes`
    is what the field tells of a person, as the specification says; `of`: of a further comparison, such as an exchange,
    the positions of the fields that it compares; `constant`: whether all records of a file have one value, which may be
    that of a place or of nobody; `part_of`: the date that it is a part of.
    """

    name: str
    n_levels: int
    exception: bool = False
    m_prior: MPrior = MPrior()
    describes: Describes = "trait"
    of: tuple[int, ...] = ()
    constant: bool = False
    part_of: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.n_levels <= 127:
            what = "the number of levels must be 1 to 127"
            raise parameter(f"field {self.name}", what, str(self.n_levels), "use fewer levels")


@dataclass(frozen=True)
class RuleFields:
    """A blocking rule.

    `fields`: positions of the comparisons whose m the rule's pairs do not identify: those of the fields of its key, and
    those that are constant where these agree, of their exchange and of their presence; `implied`: those of `fields`
    that agree wherever the others do: of presence.
    """

    name: str
    fields: tuple[int, ...]
    implied: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[int, ...]:
        """Positions of the comparisons on which a match must agree for the rule to find it."""
        return tuple(q for q in self.fields if q not in self.implied)


@dataclass(frozen=True)
class Estimation:
    """How m, u and p are estimated.

    `u`: ``all_pairs``: u is the distribution of levels over all pairs, matches included, and stays fixed.
    ``corrected``: the matches' share is removed from it, u = (r - p m) / (1 - p), at every step. ``free``: u is the
    expected distribution among non-matches; only where nothing is blocked; `one_to_one`: whether a record has at most
    one match, so that p cannot exceed 1 / max(n_a, n_b); `expected_matches`: prior mean of the number of matches, and
    where p starts; None starts at min(n_a, n_b); `max_iterations`: EM steps before giving up, which is reported;
    `tolerance`: distance from the fixed point, as extrapolated from the last steps, at which EM stops: the greatest of
    all probabilities in m and u, and the relative one in p; `prior`: pseudo-pairs of the Dirichlet prior of each
    distribution of levels, spread evenly over its levels. With 0, a level never observed has probability 0;
    `refuse_unidentified`: whether a model with too few informative fields is an error, or only a warning.
    """

    u: U = "corrected"
    one_to_one: bool = True
    expected_matches: float | None = None
    max_iterations: int = 500
    tolerance: float = 1e-8
    prior: float = 1.0
    refuse_unidentified: bool = True

    def __post_init__(self) -> None:
        expected = self.expected_matches
        for name, allowed, holds in (
            ("u", "one of all_pairs, corrected, free", self.u in get_args(U)),
            ("expected_matches", "a number above 0", expected is None or 0 < expected < math.inf),
            ("max_iterations", "1 or more", self.max_iterations >= 1),
            ("tolerance", "a number in (0, 1)", 0 < self.tolerance < 1),
            ("prior", "0 or more", 0 <= self.prior < math.inf),
        ):
            if not holds:
                got = getattr(self, name)
                raise _wrong(name, allowed, repr(got) if isinstance(got, str) else str(got))


def _wrong(name: str, expected: str, got: str) -> GemelError:
    return parameter(f"model.{name}", f"expected {expected}", got, "change the model's setting")
