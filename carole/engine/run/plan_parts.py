"""What a linkage plan is made of: fields, blocking rules, and the variables of the extended latent step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gemel.carole.comparison.levels import AnyComparator
from gemel.carole.fellegi_sunter.settings import MPrior
from gemel.common.errors import GemelError, parameter


@dataclass(frozen=True)
class FieldPlan:
    """A compared field.

    Attributes
    ----------
    name, bits
        Its name, and bits per signature.
    bounds
        Inclusive upper bounds of its levels.
    comparator
        How values are compared.
    value_frequencies
        Whether agreement on a rare value has more weight.
    missing_as_level
        Whether a missing value is evidence; otherwise it is missing at random.
    randomised_response
        Probability with which each bit of its signatures was randomised, on either side.
    personal
        Whether it distinguishes the persons of a household.
    """

    name: str
    bits: int
    bounds: tuple[float, ...]
    comparator: AnyComparator = "jaccard"
    value_frequencies: bool = False
    missing_as_level: bool = False
    randomised_response: float = 0.0
    personal: bool = False

    def __post_init__(self) -> None:
        ascending = all(low < high for low, high in zip(self.bounds, self.bounds[1:], strict=False))
        if not self.bounds or not ascending or self.bounds[0] < 0 or self.bounds[-1] != 1:
            raise _wrong(
                f"fields.{self.name}.bounds",
                "bounds must ascend from at least 0 to 1",
                str(list(self.bounds)),
                "give the levels' inclusive upper bounds, the last of them 1",
            )
        if len(self.bounds) > 100:
            raise _wrong(f"fields.{self.name}.bounds", "at most 100 levels", str(len(self.bounds)), "use fewer levels")


@dataclass(frozen=True)
class Bands:
    """Locality-sensitive hashing of a field: a number of bands, and of signature bits in each."""

    field: str
    bands: int
    bits: int


@dataclass(frozen=True)
class Canopies:
    """Canopies of a field's values."""

    field: str
    tight: float
    loose: float


@dataclass(frozen=True)
class Similar:
    """Values of a field with a minimum estimated similarity."""

    field: str
    minimum: float


PRESENT_BOUNDS = (0.5, 1.0)
"""Levels of the comparison of presence: missing on either side, present on both."""

MAX_BLOCK_PAIRS = 100_000_000
"""Pairs above which a block is split or dropped, unless the rule has a limit."""


@dataclass(frozen=True)
class RulePlan:
    """A blocking rule."""

    name: str
    fields: tuple[str, ...]
    formed: Bands | Canopies | Similar | None = None
    limit: int = MAX_BLOCK_PAIRS
    split: str | None = None


@dataclass(frozen=True)
class VariablePlan:
    """A category variable: its name, its holder, and its number of categories."""

    name: str
    holder: Literal["alice", "bob", "both"]
    categories: int


@dataclass(frozen=True)
class LatentPlan:
    """The extended latent step."""

    variables: tuple[VariablePlan, ...] = ()
    keys: tuple[str, ...] = ()
    search: Literal["greedy", "annealing"] = "greedy"
    p: Literal["held", "free"] = "held"
    separate: bool = False
    rounds: int = 0
    precision: float | None = None
    m_prior: tuple[tuple[str, MPrior], ...] = ()
    u_prior: tuple[tuple[str, MPrior], ...] = ()
    p_prior: tuple[float, float] = (0.0, 0.0)

    def held_by(self, side: str) -> tuple[VariablePlan, ...]:
        """The variables in the file of one custodian."""
        return tuple(variable for variable in self.variables if variable.holder in (side, "both"))


def _wrong(where: str, what: str, got: str, remedy: str) -> GemelError:
    return parameter(where, what, got, remedy)
