"""Category variables: attributes of a person besides the compared fields, sent as keyed codes.

They do not identify a record. They enter the risk assessment and, where there is a `latent` section, the joint model of
both files. Their labels never leave the custodians.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from gemel.common.parties import Side
from gemel.common.specification.model.categorisation import CommonCategory
from gemel.common.specification.model.section import ColumnName, Name, Section, Word, folded_label

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
        """Whether a custodian's file has it."""
        return self.holder in ("both", str(Side(side)))

    def column_of(self, side: Side | str) -> str:
        """Its column in the file of one custodian."""
        if self.columns is not None:
            return self.columns.alice if Side(side) is Side.ALICE else self.columns.bob
        return self.name if self.column is None else self.column

    @property
    def places(self) -> dict[str, int]:
        """The place of each category in the list, by its folded form."""
        return {folded_label(label): place for place, label in enumerate(self.categories)}

    @property
    def missing_codes(self) -> frozenset[str]:
        """All folded values that mean *not known*."""
        codes = {folded_label(code) for code in (*COMMON_MISSING, *self.missing)}
        return frozenset({*codes, ""} - set(self.places))
