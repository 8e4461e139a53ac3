"""A cleaning profile as a table for the custodian's screen: on a terminal, or on a page."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from gemel.common.terminal.fitting_table import FittingTable
from gemel.custodian.cleaning.profile import FieldProfile, Profile

WORDS = ("field", "column", "kind")
COUNTS = ("blank", "coded missing", "unreadable", "emptied", "distinct", "tokens (min, median, max)")
CHANGED = "changed by step"
HEADINGS = (*WORDS, *COUNTS, CHANGED)


def profile_table(profile: Profile, title: str = "What was read and cleaned") -> Table:
    """A table of a profile, one row per field and variable."""
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
