"""Category variables: what the custodians know of a person besides the compared fields, carried as keyed codes.

They do not say who a record is. They enter the risk assessment and, where there is a `latent` section, the joint
model of everything the two files hold. Their labels never leave the custodians.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import Field, field_validator

from tryst.common.parties import Side
from tryst.common.specification.categorisation import CommonCategory, categorisation_mistakes
from tryst.common.specification.mistakes import Mistake, Path, shown
from tryst.common.specification.section import ColumnName, Name, Section, Word, folded_label

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
    """What it is called here and on every screen."""
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
    """Where the files code it differently: what becomes of every value of either, a row for each of `categories`, in
    their order. `tryst keyvars export` finds the finest that both can be brought to."""
    role: Role = "other"
    """What it is to the assessment of disclosure risk: key, something that an intruder may know of a person;
    sensitive, something that nobody must learn; or other."""

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


def variable_mistakes(
    variables: Mapping[int, VariableSpec], fields: frozenset[str], identifiers: Mapping[Side, str]
) -> Iterator[Mistake]:
    """Every mistake that lies between the values of the variables.

    Parameters
    ----------
    variables
        By their position in the document.
    fields
        Names of the compared fields.
    identifiers
        The custodians' identifier columns, where they are known.
    """
    if len(variables) > MAX_VARIABLES:
        yield Mistake(
            ("variables",), f"at most {MAX_VARIABLES} variables are possible", str(len(variables)), "drop some"
        )
    folded_fields = {name.casefold() for name in fields}
    for position, variable in variables.items():
        path: Path = ("variables", position)
        if variable.column is not None and variable.columns is not None:
            yield Mistake((*path, "columns"), "column and columns are both given", remedy="keep one of them")
        if variable.columns is not None and variable.holder != "both":
            remedy = "name its `column`, or set `holder: both`"
            yield Mistake((*path, "columns"), "only one file has it", f"holder {variable.holder}", remedy)
        if variable.holder != "both" and variable.name.casefold() in folded_fields:
            yield Mistake(
                (*path, "name"),
                "a compared field has this name, and both files have that field",
                shown(variable.name),
                "name it otherwise, or set `holder: both`",
            )
        for side in Side:
            if variable.held_by(side) and variable.column_of(side) == identifiers.get(side):
                yield Mistake((*path, "column"), f"this is {side}'s identifier", remedy="name another column")
        yield from _label_mistakes(variable, path)
        yield from _categorisation(variable, (*path, "categorisation"))


def _categorisation(variable: VariableSpec, path: Path) -> Iterator[Mistake]:
    if not variable.categorisation:
        return
    sides = [side for side in Side if variable.held_by(side)]
    codes = variable.missing_codes
    yield from categorisation_mistakes(variable.categorisation, sides, codes, path)
    if [folded_label(row.category) for row in variable.categorisation] != list(map(folded_label, variable.categories)):
        remedy = "write the same categories in the same order in both"
        yield Mistake(path, "its rows are not the variable's `categories`", f"{len(variable.categorisation)}", remedy)


def _label_mistakes(variable: VariableSpec, path: Path) -> Iterator[Mistake]:
    seen: dict[str, int] = {}
    for place, label in enumerate(variable.categories):
        folded = folded_label(label)
        if not folded:
            yield Mistake((*path, "categories", place), "a category is not blank", remedy="an empty value is missing")
        elif (first := seen.setdefault(folded, place)) != place:
            yield Mistake(
                (*path, "categories", place),
                f"the category is categories[{first}] already",
                shown(label),
                "categories must differ by more than capitals and blanks",
            )
    for place, code in enumerate(variable.missing):
        if folded_label(code) in seen:
            remedy = "a value is a category or means not known; drop one of the two"
            yield Mistake((*path, "missing", place), "this is one of the categories", shown(code), remedy)
