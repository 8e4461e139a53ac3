"""A cleaning profile as a table for the custodian's screen."""

from __future__ import annotations

from rich.table import Table

from tryst.common.cleaning.profile import FieldProfile, Profile
from tryst.common.fitting_table import FittingTable


def profile_table(profile: Profile, title: str = "What was read and cleaned") -> Table:
    """A table of a profile, one row per field and variable."""
    table = FittingTable(title=f"{title}: {profile.rows:,} rows", title_justify="left")
    table.add_column("field")
    table.add_column("column")
    table.add_column("kind")
    for heading in ("blank", "coded missing", "unreadable", "emptied", "distinct"):
        table.add_column(heading, justify="right")
    table.add_column("tokens (min, median, max)", justify="right")
    table.add_column("changed by step")
    for field in profile.fields:
        table.add_row(*_cells(field))
    for variable in profile.variables:
        counts = [f"{variable.blank:,}", f"{variable.coded:,}", "-", "-", "-", "-"]
        of = f"variable of {variable.categories:,}"
        table.add_row(variable.variable, variable.column, of, *counts, "kept as a keyed code")
    return table


def _cells(field: FieldProfile) -> list[str]:
    counts = [field.blank, field.coded, field.unreadable, field.emptied, field.distinct]
    tokens = "-" if field.tokens is None else ", ".join(str(count) for count in field.tokens)
    done = [f"{step} {count:,}" for step, count in field.changed.items() if count]
    held_back = {"sent as missing, without a salt": field.unsalted, "sent as codes": field.coded_values}
    changed = ", ".join([*done, *(f"{what} {count:,}" for what, count in held_back.items() if count)])
    return [field.field, field.column, field.kind, *(f"{count:,}" for count in counts), tokens, changed or "nothing"]
