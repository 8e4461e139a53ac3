"""The compared fields: a field's columns in the two files, and how its values are cleaned, signed and compared.

A field's `clean`, `tokens`, `bits` and `levels` come from its kind when they are not given (see `defaults`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, Tag, field_validator

from gemel.common.parties import Side
from gemel.common.specification.model.column_words import described_by
from gemel.common.specification.model.defaults import (
    KINDS,
    LEVELS,
    PERSONAL,
    STEPS,
    Comparator,
    DateOrder,
    DatePart,
    Describes,
    Kind,
    KindDefaults,
    LevelTable,
    Step,
    Tokenisation,
)
from gemel.common.specification.model.leakage import halfway, tolerant_bounds
from gemel.common.specification.model.section import BY_FORM, BlockingKey, ColumnName, Name, Section, Word
from gemel.common.specification.model.variables import CommonCategory

MAX_LISTED = 20_000
"""Most values of one `only_similar`; the whole specification holds some 25,000."""

Bound = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]

OneOrSeveral = Annotated[
    Annotated[ColumnName, Tag("text")]
    | Annotated[tuple[ColumnName, ...], Field(strict=False, min_length=1, max_length=16), Tag("other")],
    BY_FORM,
]


class Columns(Section):
    """A field's column in each file, when the files name it differently."""

    alice: OneOrSeveral
    """Its name in Alice's file; or several, whose values are joined by a blank."""
    bob: OneOrSeveral
    """Its name in Bob's file; or several."""


class DateOrders(Section):
    """The order of a date in each file."""

    alice: DateOrder
    """Of Alice's file."""
    bob: DateOrder
    """Of Bob's file."""


class DateFormat(Section):
    """How a date field is written, and which parts of it are compared."""

    order: Annotated[Annotated[DateOrder, Tag("text")] | Annotated[DateOrders, Tag("other")], BY_FORM]
    """The order in which day, month and year are written, in both files or in each: `{alice: dmy, bob: mdy}`. It is
    never guessed: 03/04/1965 is two different days."""
    latest_year: int | None = Field(default=None, ge=1000, le=2999)
    """The latest year that a date may have; later ones cannot be read. Years of two digits are read with it, as the
    latest that they can be: with 2026, 26 is 2026 and 27 is 1927. Default: years of two digits cannot be read."""
    parts: tuple[DatePart, ...] = Field(default=("year", "month", "day"), strict=False, min_length=1)
    """The parts compared; the others are ignored, as if they were not known."""

    def order_of(self, side: Side | str) -> DateOrder:
        """The order in one custodian's file."""
        if isinstance(self.order, str):
            return self.order
        return self.order.alice if Side(side) is Side.ALICE else self.order.bob

    @property
    def read_order(self) -> DateOrder:
        """The order in which a value of one file is read (see `FieldSpec.read_in`); ISO is, whatever it is."""
        return self.order if isinstance(self.order, str) else "ymd"

    @field_validator("parts")
    @classmethod
    def _sorted(cls, parts: tuple[DatePart, ...]) -> tuple[DatePart, ...]:
        if len(set(parts)) < len(parts):
            raise ValueError("the same part is named twice")
        order: tuple[DatePart, ...] = ("year", "month", "day")
        return tuple(part for part in order if part in parts)


Levels = Annotated[
    Annotated[LevelTable, Tag("text")]
    | Annotated[tuple[Bound, ...], Field(strict=False, min_length=2, max_length=100), Tag("other")],
    BY_FORM,
]


def _of_kind(attribute: str) -> Any:
    """A default taken from the field's kind, which pydantic has validated before."""

    def default(validated: dict[str, Any]) -> Any:
        # Pydantic before 2.14 calls this also where the kind was refused; the result is then ignored.
        return getattr(KINDS[validated.get("kind", "text")], attribute)

    return default


def _of_name(validated: dict[str, Any]) -> Any:
    """What a field describes by its name, and otherwise by its kind."""
    return described_by(validated.get("name", "")) or _of_kind("describes")(validated)


class FieldSpec(Section):
    """A field on which the two files are compared."""

    name: Name
    """The field's name here and on every screen."""
    kind: Kind
    """What it holds. The kind decides the defaults marked *by kind* below."""
    column: OneOrSeveral | None = None
    """Its column in both files; or several, whose values are joined by a blank before they are cleaned: a street and
    its number, or year, month and day in the date's order, of which some may be unknown. A row without a value in any
    of them has none. Default: the field's name."""
    columns: Columns | None = None
    """Its column in each file, when they differ."""
    categorisation: tuple[CommonCategory, ...] = Field(default=(), strict=False, max_length=1000)
    """For categories that the files code differently: the common category of every value of either file, a row for each
    common category. `gemel keyvars export` finds the finest."""
    clean: tuple[Step, ...] = Field(default_factory=_of_kind("clean"), strict=False)
    """The cleaning steps: unicode, case, accents, punctuation, stop_words, whitespace, alphanumeric, digits,
    leading_zeros. They run in this order, whatever order they are written in. Dates and numbers are parsed
    after them."""
    stop_words: tuple[Word, ...] = Field(default=(), strict=False, max_length=1000)
    """Words that carry no information, such as titles in a name or *street* in an address; dropped by the step
    stop_words. They are cleaned by the steps before it, and may be several words (*po box*)."""
    missing: tuple[Word, ...] = Field(default=(), strict=False, max_length=1000)
    """Values that mean *not known* in this field, besides the common ones (n/a, ?, ...)."""
    date: DateFormat | None = None
    """For dates only, and then required: the order they are written in."""
    tokens: Tokenisation = Field(default_factory=_of_kind("tokens"))
    """How a value is split into tokens; two values are as similar as the tokens they share. bigrams: pairs of
    neighbouring characters. positional_bigrams, positional_characters: with their place. date_parts: year, month and
    day. words: whole words. value: the value as a whole, equal or not."""
    bits: int = Field(default_factory=_of_kind("bits"), ge=64, le=8192, multiple_of=64)
    """Length of the signature. More bits distinguish similarities more finely (standard error 1/sqrt(bits) at
    most), and cost time and space."""
    randomised_response: float = Field(default=0.0, ge=0, le=0.4, allow_inf_nan=False)
    """Probability with which each bit of a signature is inverted before it is sent, by noise of the custodian's own
    (randomised response): once for every distinct signature, and the same in every upload. It hides which values of the
    two files are exactly equal. It does not hide how often a value occurs, nor which values it resembles, is not
    differential privacy, and costs linkage quality. 0: none; otherwise 0.001 to 0.4."""
    comparator: Comparator | None = None
    """In mode trusted: how two values are compared, jaro or jaro_winkler (which favours equal beginnings). Default:
    jaro. In the other modes there is no choice: signatures estimate the Jaccard similarity of the
    tokens."""
    levels: Levels = Field(default_factory=_of_kind("levels"))
    """Comparison levels: em8, em15, exact, or a list of upper bounds, each inclusive, ascending to 1. With randomised
    response the levels of a table that cannot be distinguished are merged; a list of bounds is used as it is."""
    missing_as: Literal["random", "level"] = "random"
    """How a missing value counts. random: not at all. level: as evidence like any comparison level, estimated from
    the data; for fields that one kind of people lack more often than another, in both files."""
    value_frequencies: bool = False
    """Whether agreement on a rare value counts for more than on a common one. Where several fields carry the same
    information (a suburb and its postcode), for one of them only."""
    describes: Describes = Field(default_factory=_of_name)
    """What it says of a person. name: given name, initials. birth: date, year or place of birth, age. trait: kept, but
    shared by many, as sex or nationality. family: surname, mother's name; shared with kin, may change at marriage.
    household: address, phone, municipality; shared with the home, changes with a move. Default: what the field's name
    says, and otherwise its kind's."""
    key_domain: Name = Field(default_factory=lambda validated: validated.get("name", ""))
    """Fields of one key domain are signed with the same keys, so that a given name can be compared with a surname.
    Default: the field's name, a domain of its own."""
    salt: BlockingKey | None = None
    """In mode open: a stable attribute of the record, such as `{field: date_of_birth, part: year}`. Values are equal or
    similar to Carole only where it is equal, and a record without it is sent without a value. Default: none."""
    only_similar: tuple[Word, ...] = Field(default=(), strict=False, max_length=MAX_LISTED)
    """A public list of the values whose similarity can be estimated, cleaned as the field is. Any other value is sent
    as a code: equal to itself, similar to no other. Default: all values."""

    @field_validator("clean")
    @classmethod
    def _in_running_order(cls, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        if len(set(steps)) < len(steps):
            raise ValueError("the same step is named twice")
        return tuple(step for step in STEPS if step in steps)

    @field_validator("stop_words", "missing", "only_similar")
    @classmethod
    def _distinct(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(words))

    @property
    def bounds(self) -> tuple[float, ...]:
        """Inclusive upper bounds of the comparison levels; the last is 1."""
        if not isinstance(self.levels, str):
            return self.levels
        return self.tolerant_bounds(LEVELS[self.levels]) if self.randomised_response else LEVELS[self.levels]

    def tolerant_bounds(self, bounds: tuple[float, ...]) -> tuple[float, ...]:
        """Those of some bounds that the field's bits can distinguish."""
        if self.randomised_response and self.tokens == "value":
            return (halfway(self.randomised_response), 1.0)
        return tolerant_bounds(bounds, self.bits, self.randomised_response)

    @property
    def personal(self) -> bool:
        """Whether it distinguishes the persons of a household."""
        return self.describes in PERSONAL

    @property
    def defaults(self) -> KindDefaults:
        return KINDS[self.kind]

    @property
    def missing_codes(self) -> tuple[str, ...]:
        """All missing-value codes: the common ones of the kind, then the field's own."""
        return tuple(dict.fromkeys(self.defaults.missing + self.missing))

    def columns_of(self, side: Side | str) -> tuple[str, ...]:
        """The field's columns in the file of one custodian: one, or several that are joined."""
        named: str | tuple[str, ...] = self.name if self.column is None else self.column
        if self.columns is not None:
            named = self.columns.alice if Side(side) is Side.ALICE else self.columns.bob
        return (named,) if isinstance(named, str) else named

    def read_in(self, side: Side | str) -> FieldSpec:
        """The field as the values of one custodian's file are read: a date with that file's order."""
        if self.date is None or isinstance(self.date.order, str):
            return self
        return self.model_copy(update={"date": self.date.model_copy(update={"order": self.date.order_of(side)})})

    def column_of(self, side: Side | str) -> str:
        """The field's column in the file of one custodian, for people: several with a plus between them."""
        return " + ".join(self.columns_of(side))
