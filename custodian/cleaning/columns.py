"""Cleaning of a custodian's file, as a whole or batch by batch, on the distinct values of each column.

A column of a million surnames has some ten thousand distinct ones: each is cleaned once, and counted as often as it
occurs. The result is that of `definition.clean_value` for every row, whatever the batches are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import polars as pl

from gemel.common.arrays import Columns
from gemel.common.parties import Side
from gemel.common.specification import FieldSpec, Specification
from gemel.common.specification.model.defaults import DateOrder, DatePart, Step
from gemel.custodian.cleaning.definition import (
    MAX_YEAR,
    MIN_YEAR,
    TEXT_STEPS,
    drop_phrases,
    finished,
    is_missing,
    missing_codes,
    parse_value,
    stop_phrases,
)
from gemel.custodian.cleaning.parts import listed_in, salt_text
from gemel.custodian.cleaning.profile import FieldProfile, Profile
from gemel.custodian.cleaning.source_values import texts_of
from gemel.custodian.cleaning.variables import VariableCleaning, harmonised, unnamed_in
from gemel.custodian.tokens import tokenise
from gemel.records.table import Positions

# The cleaning steps as column expressions for values that are all ASCII, as most are; the others are cleaned by
# `definition`, so that every custodian uses the one Unicode table whose version is in the encoding digest.

_BLANKS = r"[\t-\r\x1c-\x20]"
"""The ASCII characters at which Python's `str.split` splits."""
_BLANK_CHARACTERS = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "


def _leading_zeros(text: pl.Expr) -> pl.Expr:
    bare = text.str.strip_chars_start("0 ")
    only_zeros = (bare == "") & (text.str.strip_chars(_BLANK_CHARACTERS) != "")
    return pl.when(only_zeros).then(pl.lit("0")).otherwise(bare)


ASCII_STEPS: dict[Step, Callable[[pl.Expr], pl.Expr]] = {
    "unicode": lambda text: text.str.replace_all(r"[\x00-\x1f\x7f]", " "),
    "case": lambda text: text.str.to_lowercase(),
    "accents": lambda text: text,
    "punctuation": lambda text: text.str.replace_all("['`]", "").str.replace_all(r"[!-/:-@\[-`{-~]", " "),
    "whitespace": lambda text: text.str.replace_all(f"{_BLANKS}+", " ").str.strip_chars(" "),
    "alphanumeric": lambda text: text.str.replace_all("[^0-9A-Za-z]", ""),
    "digits": lambda text: text.str.replace_all("[^0-9]", ""),
    "leading_zeros": _leading_zeros,
}
"""Each step of `definition.TEXT_STEPS` for ASCII texts."""


# The common ways of writing a date, read column by column, ten times as fast: whole dates with four-digit years, in the
# field's order with or without separators, or ISO. All other values are left to `definition`.

_ISO = ("%Y-%m-%d", r"^\d{4}-\d{2}-\d{2}$")
_FORMATS: dict[DateOrder, tuple[tuple[str, str], ...]] = {
    "ymd": (_ISO, ("%Y%m%d", r"^\d{8}$"), ("%Y/%m/%d", r"^\d{4}/\d{2}/\d{2}$")),
    "dmy": (_ISO, ("%d%m%Y", r"^\d{8}$"), ("%d/%m/%Y", r"^\d{2}/\d{2}/\d{4}$"), ("%d.%m.%Y", r"^\d{2}\.\d{2}\.\d{4}$")),
    "mdy": (_ISO, ("%m%d%Y", r"^\d{8}$"), ("%m/%d/%Y", r"^\d{2}/\d{2}/\d{4}$")),
}
_SHAPES: tuple[tuple[DatePart, str], ...] = (("year", "%Y"), ("month", "%m"), ("day", "%d"))


def plain_dates(
    values: pl.Series, order: DateOrder, parts: Sequence[DatePart], latest_year: int | None = None
) -> pl.Series:
    """Dates as `dates.clean_date` writes them, ``YYYYMMDD``; null where a value is not plainly such a date."""
    column = pl.col(values.name)
    dates = [
        pl.when(column.str.contains(shape)).then(column).str.to_date(form, strict=False)
        for form, shape in _FORMATS[order]
    ]
    date = pl.coalesce(dates)
    believable = date.dt.year().is_between(MIN_YEAR, latest_year or MAX_YEAR)
    written = "".join(code if part in parts else ("0000" if part == "year" else "00") for part, code in _SHAPES)
    return values.to_frame().select(pl.when(believable).then(date).dt.strftime(written)).to_series()


_NO_KEY = bytes(32)
"""For counting tokens only: their number does not depend on the key."""


@dataclass(frozen=True)
class Cleaned:
    """A custodian's file, cleaned."""

    columns: Columns = field(repr=False)
    """By field name in the order of the specification: text, null where missing, one value per row."""
    profile: Profile
    variables: Columns = field(default_factory=dict, repr=False)
    """By variable that this custodian holds: Int32, the category's place in the public list, null where missing."""


def clean(frame: pl.DataFrame, spec: Specification, side: Side | str, positions: Positions | None = None) -> Cleaned:
    """Clean the compared fields and the variables of a custodian's file.

    `positions` are where the frame's rows are, for errors, by default their numbers in it. Raises `GemelError`:
    FIELD_MISSING for all columns of fields that the file lacks, EMPTY_SOURCE if it has no rows, SOURCE if a column does
    not hold single values, has a value that is too long, or of a variable one that is none of its categories.

    O(rows) hashing plus O(distinct values) work per field; no more than one field's tables are in memory besides the
    result.
    """
    cleaning = Cleaning(spec, Side(side))
    columns, variables = cleaning.batch(frame, positions)
    return Cleaned(columns=columns, profile=cleaning.profile(), variables=variables)


class Cleaning:
    """Cleans the file of one custodian (`side`) batch by batch."""

    def __init__(self, spec: Specification, side: Side) -> None:
        self._spec, self._side = spec, side
        self._rows = 0
        self._counts: dict[str, FieldProfile] = {}
        self._tokens: dict[str, Counter[int]] = {field.name: Counter() for field in spec.fields}
        self._unnamed = {f.name: unnamed_in(f"field {f.name}", side, f.column_of(side)) for f in spec.fields}
        self._variables = VariableCleaning(spec, side)

    def batch(self, frame: pl.DataFrame, positions: Positions | None = None) -> tuple[Columns, Columns]:
        """Clean some rows: the columns of `Cleaned` and its variables.

        In several batches columns hold texts: how a number or a time is written depends on all rows. Raises as `clean`,
        but for values that no table or list names: `profile` refuses those of all batches.
        """
        positions = Positions.of_rows(frame.height) if positions is None else positions
        columns: dict[str, pl.Series] = {}
        counts: dict[str, FieldProfile] = {}
        for spec_field, raw in texts_of(frame, self._spec, self._side):
            if spec_field.categorisation:
                raw = self._harmonised(raw, spec_field, positions)
            cleaned, counts[spec_field.name], tokens = _clean_field(raw, spec_field, self._side)
            columns[spec_field.name] = cleaned
            self._tokens[spec_field.name].update(tokens)
        for name, found in counts.items():
            more = _held_back(found, columns, self._spec)
            self._counts[name] = self._counts[name].with_more(more) if name in self._counts else more
        self._rows += frame.height
        return columns, self._variables.batch(frame, positions)

    def profile(self, distinct: Mapping[str, int] | None = None) -> Profile:
        """The counts of all batches; of several, `distinct` has by field the number of distinct cleaned values.

        Raises `GemelError`: SOURCE for values that no table of categorisation and no list names, with counts and
        places.
        """
        for unnamed in self._unnamed.values():
            if unnamed.error is not None:
                raise unnamed.error
        variables = self._variables.profiles()
        fields = []
        for name, counts in self._counts.items():
            different = counts.distinct if distinct is None else distinct[name]
            fields.append(replace(counts, distinct=different, tokens=_minimum_median_maximum(self._tokens[name])))
        return Profile(rows=self._rows, fields=tuple(fields), variables=variables)

    def _harmonised(self, raw: pl.Series, spec: FieldSpec, positions: Positions) -> pl.Series:
        unknown = partial(is_missing, codes=missing_codes(spec))
        return harmonised(raw, spec.categorisation, self._side, unknown, positions, self._unnamed[spec.name])


def _held_back(profile: FieldProfile, columns: Columns, spec: Specification) -> FieldProfile:
    """The profile with the numbers of rows whose value is not sent, or sent as a code."""
    of, column = spec.field(profile.field), columns[profile.field]
    salt, listed = salt_text(columns, spec, of), listed_in(column, of)
    unsalted = 0 if salt is None else int((column.is_not_null() & salt.is_null()).sum())
    return replace(profile, unsalted=unsalted, coded_values=0 if listed is None else int((~listed).sum()))


def _clean_field(raw: pl.Series, spec: FieldSpec, side: Side) -> tuple[pl.Series, FieldProfile, dict[int, int]]:
    rows = raw.alias("raw").to_frame()
    values = rows.group_by("raw").agg(pl.len().cast(pl.Int64).alias("count"))
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
    cleaned = rows.join(table, on="raw", how="left", nulls_equal=True, maintain_order="left")["value"]
    distinct = table["value"].n_unique() - int(table["value"].has_nulls())
    dropped = {"blank": blank, "coded": coded, "unreadable": unreadable, "emptied": emptied}
    profile = FieldProfile(
        spec.name, spec.kind, spec.column_of(side), len(raw), **dropped, changed=changed, distinct=distinct, tokens=None
    )
    return cleaned.alias(spec.name), profile, _token_counts(table, spec)


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
        return self._replace(self._of_values(ASCII_STEPS[step](pl.col("value")), TEXT_STEPS[step]))

    def finish(self) -> None:
        if self.phrases:
            self._each(lambda value: finished(value, self.phrases))

    def parse(self) -> tuple[int, int]:
        """Write dates or numbers in one way; the numbers of rows changed and of rows unreadable."""
        before = self.table["value"]
        parsed = pl.Series([None] * len(before), dtype=pl.String)
        if self.spec.date is not None:
            parsed = plain_dates(before, self.spec.date.read_order, self.spec.date.parts, self.spec.date.latest_year)
        left = (parsed.is_null() & before.is_not_null()).arg_true()
        values = [parse_value(value, self.spec) for value in before.gather(left)]
        parsed = parsed.scatter(left, pl.Series(values, dtype=pl.String))
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
        folded = pl.col("value").str.to_lowercase().str.strip_chars(_BLANK_CHARACTERS)  # as `definition.folded`
        return self._of_values(of_ascii(folded).fill_null(value=False), of_any)

    def _of_values(self, of_ascii: pl.Expr, of_any: Callable[[str], str | bool]) -> pl.Series:
        """What values become: those that are all ASCII by an expression, the others one by one."""
        text = self.table["value"]
        ascii_text = (text.str.len_bytes() == text.str.len_chars()).fill_null(value=True)
        result = self.table.select(of_ascii).to_series()
        if not ascii_text.all():
            others = [of_any(value) for value in text.filter(~ascii_text)]
            result = result.scatter((~ascii_text).arg_true(), others)
        return result


def _token_counts(table: pl.DataFrame, spec: FieldSpec) -> dict[int, int]:
    present = table.filter(pl.col("value").is_not_null())
    if present.is_empty():
        return {}
    counts = tokenise(present["value"], spec.tokens, _NO_KEY).counts
    rows = pl.DataFrame({"tokens": counts, "rows": present["count"]}).group_by("tokens").agg(pl.col("rows").sum())
    return dict(rows.iter_rows())


def _minimum_median_maximum(rows: Mapping[int, int]) -> tuple[int, int, int] | None:
    """Of the numbers of tokens, by rows; None without any."""
    if not rows:
        return None
    half, below = sum(rows.values()) / 2, 0
    numbers = sorted(rows)
    for median in numbers:
        below += rows[median]
        if below >= half:
            break
    return numbers[0], median, numbers[-1]
