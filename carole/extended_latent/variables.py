"""The variables of the value model and their codes in the two files.

A variable is held by Alice, by Bob, or by both: then it is a key. A pair contributes Alice's values, Bob's, and the
common values of the keys on which the two agree exactly; a key that disagrees or is missing contributes nothing. Only
codes are used: numbers 0 to `levels - 1` with the same meaning on both sides, and -1 for missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol, TypeVar, get_args

import numpy as np

from gemel.common.arrays import F64, I32, Flags, Ints
from gemel.common.errors import GemelError, parameter
from gemel.common.progress import StageProgress
from gemel.risk.models.counts import distinct_rows

Holder = Literal["alice", "bob", "both"]

ALONE_ABOVE = 64
"""A key with more levels than this stands alone, unless specified otherwise."""

MAX_MODEL_KEYS = 8
"""Maximum number of keys in the joint model: every set of them that may agree has a separate distribution."""


@dataclass(frozen=True)
class Variable:
    """A variable of the value model.

    `holder`: whose records have it. A variable of both is a key: it should also be one of the compared fields, since
    the comparison models whether it agrees and this model the value on which it agrees; `levels`: how many values it
    can take, at least 2; for a field compared by signatures, the distinct signatures of both files together; `alone`:
    of a key: whether it is independent of all other variables, with its frequencies in the two files for probabilities.
    By default true of keys of more than `ALONE_ABOVE` levels, such as surnames, for which no joint distribution could
    be estimated.
    """

    name: str
    holder: Holder
    levels: int
    alone: bool | None = None

    def __post_init__(self) -> None:
        if self.holder not in get_args(Holder):
            raise wrong("expected alice, bob or both", f"{self.name}.holder", repr(self.holder))
        if self.levels < 2:
            remedy = "leave out a variable that cannot vary"
            raise wrong("a variable must have at least two levels", self.name, str(self.levels), remedy)
        if self.alone and self.holder != "both":
            raise wrong("only a key can stand alone", self.name, self.holder, "leave `alone` out")

    @property
    def is_key(self) -> bool:
        return self.holder == "both"

    @property
    def stands_alone(self) -> bool:
        """Whether it is a key outside the joint model."""
        return self.is_key and (self.levels > ALONE_ABOVE if self.alone is None else self.alone)


@dataclass(frozen=True)
class Values:
    """The codes of both files.

    `codes_a` (int32, shape (n_a, n_variables)): one column for each variable; -1 where missing, and in all columns of
    Bob's variables; `codes_b` (int32, shape (n_b, n_variables)): likewise.
    """

    variables: tuple[Variable, ...]
    codes_a: I32 = field(repr=False)
    codes_b: I32 = field(repr=False)

    def __post_init__(self) -> None:
        names = [variable.name for variable in self.variables]
        if not names or len(set(names)) != len(names):
            raise wrong("expected at least one variable, with different names", "variables", str(len(names)))
        if len(self.model_keys) > MAX_MODEL_KEYS:
            what = f"at most {MAX_MODEL_KEYS} keys can depend on other variables"
            raise wrong(what, "variables", str(len(self.model_keys)), "let some keys stand alone")
        for side, codes in (("alice", self.codes_a), ("bob", self.codes_b)):
            check_codes(codes, self.variables, f"values of {side}", holder=side)

    @property
    def n_a(self) -> int:
        return len(self.codes_a)

    @property
    def n_b(self) -> int:
        return len(self.codes_b)

    @cached_property
    def model_columns(self) -> tuple[int, ...]:
        """Columns of the variables of the joint model: all but the keys that stand alone."""
        return tuple(v for v, variable in enumerate(self.variables) if not variable.stands_alone)

    @cached_property
    def alone_columns(self) -> tuple[int, ...]:
        return tuple(v for v, variable in enumerate(self.variables) if variable.stands_alone)

    @cached_property
    def model_keys(self) -> tuple[int, ...]:
        """Columns of the keys of the joint model: bit i of a set of agreeing keys is the i-th of them."""
        return tuple(v for v in self.model_columns if self.variables[v].is_key)

    @property
    def model_names(self) -> tuple[str, ...]:
        return tuple(self.variables[v].name for v in self.model_columns)

    @property
    def model_levels(self) -> tuple[int, ...]:
        return tuple(self.variables[v].levels for v in self.model_columns)

    @cached_property
    def configurations(self) -> tuple[Configurations, Configurations]:
        """The distinct rows of A, and of B, over the joint model's variables."""
        of_a, of_b = (
            Configurations.of(codes, self.model_columns, self.variables) for codes in (self.codes_a, self.codes_b)
        )
        return of_a, of_b

    def agreeing(self, row_a: Ints, row_b: Ints) -> Flags:
        """Which variables each pair agrees on exactly; shape (n_pairs, n_variables), false for all but keys."""
        a, b = self.codes_a[row_a], self.codes_b[row_b]
        keys = np.array([variable.is_key for variable in self.variables])
        return np.asarray((a == b) & (a >= 0) & keys)

    def evidence(self, row_a: Ints, row_b: Ints) -> I32:
        """The known values of each pair if it is a match: shape (n_pairs, n_variables), -1 where unknown.

        Alice's values, Bob's values, and the values of the keys that agree.
        """
        a, b = self.codes_a[row_a], self.codes_b[row_b]
        keys = np.array([variable.is_key for variable in self.variables])
        return np.where(keys, np.where(a == b, a, -1), np.maximum(a, b)).astype(np.int32)


@dataclass(frozen=True)
class Configurations:
    """The distinct rows of a file.

    `codes` (int32, shape (n_configurations, n_variables)); `of_row` (int32, shape (n_rows,)): the configuration of each
    row.
    """

    codes: I32 = field(repr=False)
    of_row: I32 = field(repr=False)

    @classmethod
    def of(cls, codes: I32, columns: tuple[int, ...], variables: tuple[Variable, ...]) -> Configurations:
        """The distinct rows of some columns. O(n log n)."""
        kept = codes[:, list(columns)]
        if not columns or not len(kept):
            return cls(kept[:1], np.zeros(len(kept), dtype=np.int32))
        first, inverse = distinct_rows(kept + 1, [variables[v].levels + 1 for v in columns])
        return cls(np.ascontiguousarray(kept[first]), inverse.astype(np.int32))


def check_codes(codes: I32, variables: tuple[Variable, ...], where: str, holder: str | None = None) -> None:
    """Raise unless codes fit the variables, and lie only where the holder (if one is given) has values."""
    if codes.ndim != 2 or codes.shape[1] != len(variables) or codes.dtype != np.int32:
        what = f"expected int32 codes with a column for each of {len(variables)} variables"
        raise wrong(what, where, f"{codes.dtype}, shape {codes.shape}")
    for v, variable in enumerate(variables):
        column = codes[:, v]
        low, high = (-1, variable.levels - 1) if holder is None or variable.holder in (holder, "both") else (-1, -1)
        outside = int(((column < low) | (column > high)).sum())
        if outside:
            what, got = (
                f"codes of {variable.name} must be {low} to {high}",
                f"{outside} records with codes outside this range",
            )
            remedy = "code the variable as the specification lists its categories; -1 is missing"
            raise wrong(what, where, got, remedy)


def wrong(what: str, where: str, got: str, remedy: str = "change the value model") -> GemelError:
    return parameter(where, what, got, remedy)


Result = TypeVar("Result")

Visit = Callable[[I32, I32, I32], Result]
"""The function applied to a part: rows of A, rows of B, and for each pair its row of the `PatternCounts`.

The arrays are working space, valid during the call only. Calls may come from several threads at once.
"""


class Pairs(Protocol):
    """Pairs that can be visited repeatedly."""

    @property
    def n_pairs(self) -> int: ...

    def map(self, visit: Visit[Result], progress: StageProgress) -> Iterator[Result]:
        """Visit every part once and yield the results, in the order of the parts.

        `progress` is called with the fraction done, on the calling thread.
        """


@dataclass(frozen=True)
class ArrayPairs:
    """Pairs that are held as arrays.

    `row_a`, `row_b` (int32, shape (n_pairs,)); `pattern` (int32, shape (n_pairs,)): row of the `PatternCounts`.
    """

    row_a: I32 = field(repr=False)
    row_b: I32 = field(repr=False)
    pattern: I32 = field(repr=False)
    part: int = 1 << 17

    @property
    def n_pairs(self) -> int:
        return len(self.row_a)

    def map(self, visit: Visit[Result], progress: StageProgress) -> Iterator[Result]:
        for start in range(0, self.n_pairs, self.part):
            stop = min(start + self.part, self.n_pairs)
            yield visit(self.row_a[start:stop], self.row_b[start:stop], self.pattern[start:stop])
            progress(stop / self.n_pairs)


@dataclass(frozen=True)
class WeightedPairs:
    """Pairs with their weights as matches, from which the value model is estimated.

    `row_a`, `row_b` (int32, shape (n_pairs,)); `weight` (float64, shape (n_pairs,)): match probabilities, or the weight
    with which a pair stands for others.
    """

    row_a: I32 = field(repr=False)
    row_b: I32 = field(repr=False)
    weight: F64 = field(repr=False)

    def among(self, chosen: Ints | Flags) -> WeightedPairs:
        return WeightedPairs(self.row_a[chosen], self.row_b[chosen], self.weight[chosen])

    @property
    def total(self) -> float:
        """Their expected number of matches."""
        return float(self.weight.sum())
