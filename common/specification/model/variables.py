"""Category variables: attributes of a person besides the compared fields, sent as keyed codes.

They do not identify a record. They enter the risk assessment and, where there is a `latent` section, the joint model of
both files. Their labels never leave the custodians.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from gemel.common.parties import Side
from gemel.common.specification.model.section import ColumnName, Name, Section, Word, folded_label

MAX_VALUES = 10_000


class Span(Section):
    """Numbers from a bound, which is in, to another, which is not. Without one of them that end is open."""

    minimum: float | None = Field(default=None, allow_inf_nan=False)
    """The lower bound."""
    below: float | None = Field(default=None, allow_inf_nan=False)
    """The upper bound."""

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.minimum is None and self.below is None:
            raise ValueError("a span of numbers has at least one bound, `minimum` or `below`")
        if self.ends[0] >= self.ends[1]:
            raise ValueError("the bounds of a span must ascend")
        return self

    @property
    def ends(self) -> tuple[float, float]:
        """Both bounds, infinite where the span is open."""
        return (
            -float("inf") if self.minimum is None else self.minimum,
            float("inf") if self.below is None else self.below,
        )


def _values_tag(value: object) -> str:
    return "listed" if isinstance(value, list | tuple) else "spanned"


Values = Annotated[
    Annotated[tuple[Word, ...], Field(strict=False, max_length=MAX_VALUES), Tag("listed")]
    | Annotated[Span, Tag("spanned")],
    Discriminator(_values_tag),
]


class CommonCategory(Section):
    """One common category."""

    category: Word
    """Its name here and on every screen."""
    alice: Values = ()
    """The values that mean it in Alice's file: a list, or numbers as `{minimum: 16, below: 25}`."""
    bob: Values = ()
    """The values that mean it in Bob's file."""

    def values_of(self, side: Side | str) -> tuple[str, ...] | Span:
        return self.alice if Side(side) is Side.ALICE else self.bob


def category_of(rows: Sequence[CommonCategory], side: Side | str) -> Callable[[str], str | None]:
    """A function from a custodian's value to its common category; None where there is none. Capitals and blanks do not
    matter. A number is taken by its value: 16 and 16.0 are the same."""
    listed: dict[str, str] = {}
    spans: list[tuple[float, float, str]] = []
    for row in rows:
        values = row.values_of(side)
        if isinstance(values, Span):
            spans.append((*values.ends, row.category))
        else:
            listed.update(dict.fromkeys(map(folded_label, values), row.category))

    def find(value: str) -> str | None:
        known = listed.get(folded_label(value))
        if known is not None or not spans:
            return known
        try:
            number = Decimal(value.strip())
        except InvalidOperation:
            return None
        if not number.is_finite():
            return None
        return next((category for minimum, below, category in spans if minimum <= number < below), None)

    return find


MAX_VARIABLES = 64
MAX_CATEGORIES = 1000

Holder = Literal["alice", "bob", "both"]
Role = Literal["key", "sensitive", "other"]

COMMON_MISSING = ("?", "n/a", "na", "nan", "null", "none", "nil", ".", "-", "-1", "-9", "-99")
"""Values that mean *not known* in every variable, unless they are among its categories."""


class VariableColumns(Section):
    """A variable's column in each file, when the files name it differently."""

    alice: ColumnName
    """Its name in Alice's file."""
    bob: ColumnName
    """Its name in Bob's file."""


class VariableSpec(Section):
    """A variable with a public list of categories, which one custodian holds, or both."""

    name: Name
    """Its name here and on every screen."""
    holder: Holder
    """Whose file has it: alice, bob, or both, each with its own value of a person."""
    column: ColumnName | None = None
    """Its column, in both files where both hold it. Default: the variable's name."""
    columns: VariableColumns | None = None
    """Its column in each file, where both hold it and name it differently."""
    categories: tuple[Word, ...] = Field(strict=False, min_length=2, max_length=MAX_CATEGORIES)
    """The public list of its categories, the same for both files. Another value in a file is an error, never a guess.
    Capitals and blanks do not matter. Their order does: it is part of the encoding."""
    missing: tuple[Word, ...] = Field(default=(), strict=False, max_length=MAX_CATEGORIES)
    """Values that mean *not known*, besides an empty one and the common codes (n/a, ?, ...) that are no category."""
    categorisation: tuple[CommonCategory, ...] = Field(default=(), strict=False, max_length=MAX_CATEGORIES)
    """Where the files code it differently: the category of every value of either file, a row for each of `categories`,
    in their order. `gemel keyvars export` finds the finest."""
    role: Role = "other"
    """Its role in the assessment of disclosure risk: key, something that an intruder may know of a person; sensitive,
    something that no one may learn; or other."""

    @field_validator("missing")
    @classmethod
    def _distinct(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(words))

    def held_by(self, side: Side | str) -> bool:
        return self.holder in ("both", str(Side(side)))

    def column_of(self, side: Side | str) -> str:
        if self.columns is not None:
            return self.columns.alice if Side(side) is Side.ALICE else self.columns.bob
        return self.name if self.column is None else self.column

    @property
    def places(self) -> dict[str, int]:
        return {folded_label(label): place for place, label in enumerate(self.categories)}

    @property
    def missing_codes(self) -> frozenset[str]:
        codes = {folded_label(code) for code in (*COMMON_MISSING, *self.missing)}
        return frozenset({*codes, ""} - set(self.places))
