"""Cleaning of a custodian's whole file, on the distinct values of each column.

A column of a million surnames has some ten thousand distinct ones: each is cleaned once, and counted as often as it
occurs. The result is that of `definition.clean_value` for every row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import polars as pl

from tryst.common.cleaning.ascii_steps import ASCII_STEPS, ascii_folded, is_ascii
from tryst.common.cleaning.definition import (
    TEXT_STEPS,
    drop_phrases,
    finished,
    is_missing,
    missing_codes,
    parse_value,
    stop_phrases,
)
from tryst.common.cleaning.harmonising import Places, harmonised, numbered
from tryst.common.cleaning.parts import salt_text
from tryst.common.cleaning.plain_dates import plain_dates
from tryst.common.cleaning.profile import FieldProfile, Profile
from tryst.common.cleaning.similar_values import listed_in
from tryst.common.cleaning.source_values import texts_of
from tryst.common.cleaning.variables import clean_variables
from tryst.common.parties import Side
from tryst.common.specification import FieldSpec, Specification
from tryst.common.specification.model.defaults import Step
from tryst.common.tokens import tokenise

_NO_KEY = bytes(32)
"""For counting tokens only: their number does not depend on the key."""


@dataclass(frozen=True)
class Cleaned:
    """A custodian's file, cleaned."""

    columns: dict[str, pl.Series] = field(repr=False)
    """By field name in the order of the specification: text, null where missing, one value per row."""
    profile: Profile
    """Counts of the changes."""
    variables: dict[str, pl.Series] = field(default_factory=dict, repr=False)
    """By variable that this custodian holds: Int32, the category's place in the public list, null where missing."""


def clean(frame: pl.DataFrame, spec: Specification, side: Side | str, places: Places | None = None) -> Cleaned:
    """Clean the compared fields and the variables of a custodian's file.

    Parameters
    ----------
    frame
        The file as read. Columns may hold text, numbers, booleans, dates or categories.
    spec
        The specification.
    side
        Whose file it is.
    places
        Names the places of rows, for errors; by default their numbers in the frame.

    Returns
    -------
    Cleaned
        The fields' values and the counts of what was done to them.

    Raises
    ------
    TrystError
        FIELD_MISSING if the file lacks a field's column (all that lack are named), EMPTY_SOURCE if it has no rows,
        SOURCE if a column does not hold single values (lists, bytes), has a value that is too long, or if a variable's
        column has a value that is none of its categories.

    Notes
    -----
    O(rows) hashing plus O(distinct values) work per field; the fields are cleaned one after the other, so that no more
    than one field's tables are in memory besides the result.
    """
    columns: dict[str, pl.Series] = {}
    profiles = []
    for spec_field, raw in texts_of(frame, spec, Side(side)):
        if spec_field.categorisation:
            raw = _harmonised(raw, spec_field, Side(side), places)
        cleaned, profile = _clean_field(raw, spec_field, Side(side))
        columns[spec_field.name] = cleaned
        profiles.append(profile)
    profiles = [_held_back(profile, columns, spec) for profile in profiles]
    variables, counted = clean_variables(frame, spec, Side(side), places)
    counts = Profile(rows=frame.height, fields=tuple(profiles), variables=counted)
    return Cleaned(columns=columns, profile=counts, variables=variables)


def _held_back(profile: FieldProfile, columns: dict[str, pl.Series], spec: Specification) -> FieldProfile:
    """The profile with the numbers of rows whose value is not sent, or sent as a code."""
    of, column = spec.field(profile.field), columns[profile.field]
    salt, listed = salt_text(columns, spec, of), listed_in(column, of)
    return replace(
        profile,
        unsalted=0 if salt is None else int((column.is_not_null() & salt.is_null()).sum()),
        coded_values=0 if listed is None else int((~listed).sum()),
    )


def _harmonised(raw: pl.Series, spec: FieldSpec, side: Side, places: Places | None) -> pl.Series:
    codes = missing_codes(spec)
    return harmonised(
        raw,
        spec.categorisation,
        side,
        lambda value: is_missing(value, codes),
        f"field {spec.name}",
        spec.column_of(side),
        places or numbered,
    )


def _clean_field(raw: pl.Series, spec: FieldSpec, side: Side) -> tuple[pl.Series, FieldProfile]:
    values = raw.alias("raw").to_frame().group_by("raw").agg(pl.len().cast(pl.Int64).alias("count"))
    working = _Working(values.with_columns(pl.col("raw").fill_null("").alias("value")), spec)
    blank = working.drop(working.blank())
    coded = working.drop(working.coded())
    changed: dict[str, int] = {step: working.step(step) for step in spec.clean}
    working.finish()
    emptied = working.drop(working.blank())
    unreadable = 0
    if spec.kind in ("date", "number"):
        changed[spec.kind], unreadable = working.parse()
    coded += working.drop(working.coded())
    table = working.table
    cleaned = (raw.alias("raw").to_frame().join(table, on="raw", how="left", nulls_equal=True, maintain_order="left"))[
        "value"
    ]
    profile = FieldProfile(
        field=spec.name,
        kind=spec.kind,
        column=spec.column_of(side),
        rows=len(raw),
        blank=blank,
        coded=coded,
        unreadable=unreadable,
        emptied=emptied,
        changed=changed,
        distinct=table["value"].n_unique() - int(table["value"].has_nulls()),
        tokens=_token_counts(table, spec),
    )
    return cleaned.alias(spec.name), profile


class _Working:
    """The distinct values of one column while they are cleaned: `raw`, its `count` of rows, `value` (null: dropped)."""

    def __init__(self, table: pl.DataFrame, spec: FieldSpec) -> None:
        self.table = table
        self.spec = spec
        self.codes = missing_codes(spec)
        self.phrases = stop_phrases(spec)

    def blank(self) -> pl.Series:
        return self._test(lambda text: text == "", lambda value: is_missing(value, frozenset()))

    def coded(self) -> pl.Series:
        codes = pl.Series(sorted(self.codes), dtype=pl.String).implode()
        return self._test(lambda text: text.is_in(codes), lambda value: is_missing(value, self.codes))

    def drop(self, which: pl.Series) -> int:
        """Make values missing; the number of rows that had them."""
        dropped = int(self.table["count"].filter(which).sum())
        if dropped:
            value = pl.when(~which).then(pl.col("value"))
            self.table = self.table.with_columns(value.alias("value"))
        return dropped

    def step(self, step: Step) -> int:
        """Run a cleaning step; the number of rows it changed."""
        if step == "stop_words":
            return self._each(lambda value: drop_phrases(value, self.phrases)) if self.phrases else 0
        text = pl.col("value")
        ascii_text = self.table.select(is_ascii(text)).to_series().fill_null(value=True)
        after = self.table.select(ASCII_STEPS[step](text)).to_series()
        if not ascii_text.all():
            others = self.table["value"].filter(~ascii_text).to_list()
            after = after.scatter((~ascii_text).arg_true(), [TEXT_STEPS[step](value) for value in others])
        return self._replace(after)

    def finish(self) -> None:
        if self.phrases:
            self._each(lambda value: finished(value, self.phrases))

    def parse(self) -> tuple[int, int]:
        """Write dates or numbers in one way; the numbers of rows changed and of rows unreadable."""
        before = self.table["value"]
        parsed = pl.Series([None] * len(before), dtype=pl.String)
        if self.spec.date is not None:
            parsed = plain_dates(before, self.spec.date.order, self.spec.date.parts)
        left = (parsed.is_null() & before.is_not_null()).arg_true()
        parsed = parsed.scatter(
            left, pl.Series([parse_value(v, self.spec) for v in before.gather(left)], dtype=pl.String)
        )
        unreadable = self.drop(parsed.is_null() & before.is_not_null())
        return self._replace(parsed), unreadable

    def _each(self, function: Callable[[str], str]) -> int:
        before = self.table["value"]
        return self._replace(pl.Series([None if v is None else function(v) for v in before], dtype=pl.String))

    def _replace(self, after: pl.Series) -> int:
        changed = int(self.table["count"].filter((after != self.table["value"]).fill_null(value=False)).sum())
        self.table = self.table.with_columns(after.alias("value"))
        return changed

    def _test(self, of_ascii: Callable[[pl.Expr], pl.Expr], of_any: Callable[[str], bool]) -> pl.Series:
        text = pl.col("value")
        ascii_text = self.table.select(is_ascii(text)).to_series().fill_null(value=True)
        result = self.table.select(of_ascii(ascii_folded(text)).fill_null(value=False)).to_series()
        if not ascii_text.all():
            others = self.table["value"].filter(~ascii_text).to_list()
            result = result.scatter((~ascii_text).arg_true(), [of_any(value) for value in others])
        return result


def _token_counts(table: pl.DataFrame, spec: FieldSpec) -> tuple[int, int, int] | None:
    present = table.filter(pl.col("value").is_not_null())
    if present.is_empty():
        return None
    by_count = (
        pl.DataFrame({"tokens": tokenise(present["value"], spec.tokens, _NO_KEY).counts, "rows": present["count"]})
        .sort("tokens")
        .with_columns(pl.col("rows").cum_sum())
    )
    half = by_count["rows"][-1] / 2
    median = by_count.filter(pl.col("rows") >= half)["tokens"][0]
    return int(by_count["tokens"][0]), int(median), int(by_count["tokens"][-1])
