"""Counts of a field's values and of the changes by cleaning, which can be shown, kept and logged.

A wrong column or a wrong date order, which no key check can detect, is visible here: so each operator looks at it
before anything is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from rich.table import Table

from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.terminal.fitting_table import FittingTable
from gemel.custodian.cleaning.variables import VariableProfile

_MANY = 0.05
"""Share of unreadable or emptied values that an operator should look into."""
_MOSTLY = 0.5


@dataclass(frozen=True)
class FieldProfile:
    """The counts of one field. All are of rows unless stated otherwise."""

    field: str
    kind: str
    column: str
    rows: int
    blank: int
    """Without a value in the file."""
    coded: int
    """With a missing-value code, as found or after cleaning."""
    unreadable: int
    """Not a date of the stated order, or not a number."""
    emptied: int
    """Empty after cleaning: only punctuation, only stop words."""
    changed: Mapping[str, int]
    """Changed by each step, in the order of the steps; of dates and numbers also by writing them in one way."""
    distinct: int
    tokens: tuple[int, int, int] | None
    """Minimum, median and maximum number of tokens of a value; None if no row has one."""
    unsalted: int = 0
    """With a value, but sent as missing because the row lacks the attribute that the field is salted by."""
    coded_values: int = 0
    """With a value that is sent as a code, because `only_similar` does not list it."""

    @property
    def missing(self) -> int:
        return self.blank + self.coded + self.unreadable + self.emptied

    @property
    def present(self) -> int:
        return self.rows - self.missing

    def with_more(self, other: FieldProfile) -> FieldProfile:
        """The counts of these rows and of others; not `distinct` and `tokens`, which do not follow from the parts'."""
        counts = ("rows", "blank", "coded", "unreadable", "emptied", "unsalted", "coded_values")
        changed = {step: number + other.changed[step] for step, number in self.changed.items()}
        return replace(self, changed=changed, **{name: getattr(self, name) + getattr(other, name) for name in counts})

    def warnings(self) -> Iterator[ResultWarning]:
        """Likely errors in the specification or the file, judged by these counts."""
        written = self.rows - self.blank
        if self.missing == self.rows:
            yield result_warning("field_without_values", field=self.field, column=self.column)
        if self.unreadable > _MANY * written:
            yield result_warning(
                "values_unreadable", field=self.field, unreadable=self.unreadable, written=written, kind=self.kind
            )
        if self.emptied > _MANY * written:
            yield result_warning("values_emptied", field=self.field, emptied=self.emptied, written=written)
        if self.present > 0 and self.missing > _MOSTLY * self.rows:
            yield result_warning("rows_without_value", field=self.field, missing=self.missing, rows=self.rows)
        if self.unsalted > _MANY * self.present:
            yield result_warning("values_without_salt", field=self.field, unsalted=self.unsalted, present=self.present)
        if self.coded_values == self.present > 0:
            yield result_warning("no_value_listed", field=self.field)
        if self.distinct == 1 and self.rows > 1:
            yield result_warning("one_value_in_all_rows", field=self.field)


@dataclass(frozen=True)
class Profile:
    """The counts of a custodian's whole file."""

    rows: int
    fields: tuple[FieldProfile, ...]
    variables: tuple[VariableProfile, ...] = ()

    def warnings(self) -> tuple[ResultWarning, ...]:
        """Likely errors, for the operator to check before approving."""
        parts: tuple[FieldProfile | VariableProfile, ...] = (*self.fields, *self.variables)
        return tuple(warning for part in parts for warning in part.warnings())

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        fields = []
        for item in content["fields"]:
            tokens = item["tokens"]
            fields.append(FieldProfile(**{**item, "tokens": None if tokens is None else tuple(tokens)}))
        variables = tuple(VariableProfile(**item) for item in content.get("variables", ()))
        return cls(rows=content["rows"], fields=tuple(fields), variables=variables)


WORDS = ("field", "column", "kind")
COUNTS = ("blank", "coded missing", "unreadable", "emptied", "distinct", "tokens (min, median, max)")
CHANGED = "changed by step"
HEADINGS = (*WORDS, *COUNTS, CHANGED)


def profile_table(profile: Profile, title: str = "What was read and cleaned") -> Table:
    table = FittingTable(title=f"{title}: {profile.rows:,} rows", title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in COUNTS else "left")
    for row in profile_rows(profile):
        table.add_row(*row)
    return table


def profile_rows(profile: Profile) -> Iterator[list[str]]:
    """Its rows, each with a cell for each of `HEADINGS`."""
    for field in profile.fields:
        yield _cells(field)
    for variable in profile.variables:
        counts = [f"{variable.blank:,}", f"{variable.coded:,}", "-", "-", "-", "-"]
        of = f"variable of {variable.categories:,}"
        yield [variable.variable, variable.column, of, *counts, "kept as a keyed code"]


def _cells(field: FieldProfile) -> list[str]:
    counts = [field.blank, field.coded, field.unreadable, field.emptied, field.distinct]
    tokens = "-" if field.tokens is None else ", ".join(str(count) for count in field.tokens)
    done = [f"{step} {count:,}" for step, count in field.changed.items() if count]
    held_back = {"sent as missing, without a salt": field.unsalted, "sent as codes": field.coded_values}
    changed = ", ".join([*done, *(f"{what} {count:,}" for what, count in held_back.items() if count)])
    return [field.field, field.column, field.kind, *(f"{count:,}" for count in counts), tokens, changed or "nothing"]
