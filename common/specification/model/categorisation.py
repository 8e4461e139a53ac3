"""Categories that two custodians code differently, mapped to common ones: the table that both approve and apply.

    categorisation:
      - {category: 0-24, alice: [0-15, 16-24], bob: [0-17, 18-24]}
      - {category: 25+, alice: {minimum: 25}, bob: [25-64, 65+]}

Each row is a common category, with the values that mean it in either file. The finest such table is found by
`gemel keyvars export`; here it is written out, so that those who approve a specification see how every value is mapped,
and so that a custodian needs nothing else to apply it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated, Self

from pydantic import Discriminator, Field, Tag, model_validator

from gemel.common.parties import Side
from gemel.common.specification.model.section import Section, Word, folded_label

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
        """The values that mean the category in the file of one custodian."""
        return self.alice if Side(side) is Side.ALICE else self.bob


def category_of(rows: Sequence[CommonCategory], side: Side | str) -> Callable[[str], str | None]:
    """A function from a custodian's value to its common category; None where there is none.

    Capitals and blanks do not matter. A number is taken by its value: 16 and 16.0 are the same.
    """
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
