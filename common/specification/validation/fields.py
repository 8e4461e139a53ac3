"""Checks across the attributes of a field or variable, and across all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise

from gemel.common.language.message_words import shown
from gemel.common.parties import Side
from gemel.common.specification.model.defaults import IN_BLOCKS, MAX_PATTERNS, STEPS
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.leakage import is_distinguishable, min_bits
from gemel.common.specification.model.section import folded_label
from gemel.common.specification.model.variables import MAX_VARIABLES, CommonCategory, Span, VariableSpec
from gemel.common.specification.validation.sections import SoundSections, repeated
from gemel.common.validation_issues import DocumentPath, ValidationIssue


def categorisation_issues(
    rows: Sequence[CommonCategory], sides: Sequence[Side], missing: frozenset[str], path: DocumentPath
) -> Iterator[ValidationIssue]:
    if len(rows) == 1:
        what = "all values map to one category, so nothing is left to compare: the two codings cannot be harmonised"
        remedy = "leave it out, or have one custodian code more finely"
        yield ValidationIssue(path, what, shown(rows[0].category), remedy)
    labels = [folded_label(row.category) for row in rows]
    for place, label in enumerate(labels):
        if not label or label in missing:
            what, remedy = "a category of missing values cannot be compared", "list its values under `missing` instead"
            yield ValidationIssue((*path, place, "category"), what, shown(rows[place].category), remedy)
    for place, first in repeated(enumerate(labels)):
        what = f"the category is that of row {first} already"
        yield ValidationIssue((*path, place, "category"), what, shown(rows[place].category), "join the two")
    for side in Side:
        yield from _side_issues(rows, side, side in sides, path)


def _side_issues(
    rows: Sequence[CommonCategory], side: Side, held: bool, path: DocumentPath
) -> Iterator[ValidationIssue]:
    seen: dict[str, int] = {}
    spans: list[tuple[float, float, int]] = []
    for place, row in enumerate(rows):
        here = (*path, place, str(side))
        values = row.values_of(side)
        if not held and values != ():
            yield ValidationIssue(here, f"{side}'s file does not have the variable", remedy="drop them")
        elif held and values == ():
            remedy = f"list what {side} codes as it, or join it with a category that {side} has"
            yield ValidationIssue(here, f"no value of {side}'s means {row.category!r}", "nothing", remedy)
        if isinstance(values, Span):
            spans.append((*values.ends, place))
            continue
        for value in values:
            if (first := seen.setdefault(folded_label(value), place)) != place:
                remedy = "a value means one category; if it belongs to both, join the two"
                yield ValidationIssue(here, f"the value is in row {first} already", shown(value), remedy)
    for (_, below, first), (minimum, _, place) in pairwise(sorted(spans)):
        if minimum < below:
            what, remedy = f"the span overlaps that of row {first}", "make spans end where the next begin"
            yield ValidationIssue((*path, place, str(side)), what, f"{minimum:g}", remedy)


def fields_issues(sections: SoundSections) -> Iterator[ValidationIssue]:
    for position, field in sections.fields.items():
        path: DocumentPath = ("fields", position)
        for check in (_columns, _date, _cleaning, _levels, _categorisation):
            yield from check(field, path)
        if field.randomised_response:
            yield from _randomised_response(field, path, sections.mode)
        if sections.mode in ("open", *IN_BLOCKS) and field.comparator is not None:
            remedy = "drop it: signatures estimate the Jaccard similarity of the tokens"
            what = "values can be compared in mode trusted only"
            yield ValidationIssue((*path, "comparator"), what, field.comparator, remedy)


def pattern_issues(sections: SoundSections) -> Iterator[ValidationIssue]:
    fields = sections.fields.values()
    patterns = math.prod((len(field.bounds) + 1) * (3 if field.missing_as == "level" else 1) for field in fields)
    if patterns >= MAX_PATTERNS:
        what = "there are more comparison patterns than fit into 64 bits"
        got = f"{Decimal(patterns):.1e} from {len(fields)} fields"  # a float ends at 308 digits
        yield ValidationIssue(("fields",), what, got, "compare fewer fields, or give some fewer levels (exact has two)")


def _columns(owner: FieldSpec | VariableSpec, path: DocumentPath) -> Iterator[ValidationIssue]:
    if owner.column is not None and owner.columns is not None:
        yield ValidationIssue((*path, "columns"), "column and columns are both given", remedy="keep one of them")


def _date(field: FieldSpec, path: DocumentPath) -> Iterator[ValidationIssue]:
    if field.kind == "date":
        if field.date is None:
            remedy = "write `date: {order: ymd}`, or dmy, or mdy; it is never guessed"
            yield ValidationIssue((*path, "date"), "a date needs the order it is written in", "nothing", remedy)
        return
    got = f"kind {field.kind}"
    if field.date is not None:
        yield ValidationIssue((*path, "date"), "only a date has a date format", got, "set `kind: date`")
    if field.tokens == "date_parts":
        yield ValidationIssue((*path, "tokens"), "only a date has date_parts", got, "choose other tokens")


def _cleaning(field: FieldSpec, path: DocumentPath) -> Iterator[ValidationIssue]:
    for step in field.clean:
        if step not in field.defaults.allowed:
            allowed = ", ".join(step for step in STEPS if step in field.defaults.allowed)
            what = f"this step is not allowed for a {field.kind}"
            yield ValidationIssue((*path, "clean"), what, step, f"possible here: {allowed}")
    if field.stop_words and "stop_words" not in field.clean:
        what = "stop words are given but never dropped"
        got = f"clean without stop_words, {len(field.stop_words)} words"
        yield ValidationIssue((*path, "stop_words"), what, got, "add stop_words to clean")
    # Dropping zeros could create a new stop word, and cleaning would no longer be idempotent.
    if field.stop_words and "leading_zeros" in field.clean:
        remedy = "drop one of them: zeros are dropped from codes, stop words from texts"
        yield ValidationIssue((*path, "clean"), "stop words and leading_zeros cannot be combined", remedy=remedy)


def _levels(field: FieldSpec, path: DocumentPath) -> Iterator[ValidationIssue]:
    path, bounds = (*path, "levels"), field.bounds
    if any(low >= high for low, high in pairwise(bounds)):
        got = ", ".join(f"{bound:g}" for bound in bounds)
        yield ValidationIssue(path, "the upper bounds must ascend", got, "sort them, each once")
    elif bounds[-1] != 1:
        yield ValidationIssue(path, "the last upper bound must be 1, which is equality", f"{bounds[-1]:g}", "add 1")


def _categorisation(field: FieldSpec, path: DocumentPath) -> Iterator[ValidationIssue]:
    if not field.categorisation:
        return
    path = (*path, "categorisation")
    if field.kind != "category":
        yield ValidationIssue(path, "only categories are harmonised", f"kind {field.kind}", "set `kind: category`")
    elif field.clean != field.defaults.clean or field.stop_words:
        remedy = "drop `clean` and `stop_words`"
        yield ValidationIssue(path, "values that the table names need no other cleaning", remedy=remedy)
    codes = frozenset(map(folded_label, field.missing_codes))
    yield from categorisation_issues(field.categorisation, tuple(Side), codes, path)


_MIN_RESPONSE = 0.001
"""Smallest probability above 0: draws of 16 bits represent it to within 1 %."""
_MAX_BITS = 8192


def _randomised_response(field: FieldSpec, path: DocumentPath, mode: object) -> Iterator[ValidationIssue]:
    """Everything in a field with randomised response that requires equal values to have equal signatures."""
    here, response = (*path, "randomised_response"), field.randomised_response
    got = f"randomised_response {response:g}"
    if mode == "trusted":
        what = "values are sent as they are: there are no bits to randomise"
        yield ValidationIssue(here, what, got, "drop it, or use mode open")
    if response < _MIN_RESPONSE:
        what = "so few bits are randomised that it hides nothing"
        yield ValidationIssue(here, what, got, f"use 0, or {_MIN_RESPONSE:g} to 0.4")
    if not is_distinguishable(field.bits, response):
        needed = min_bits(response)
        what = "equal values could not be distinguished from values with nothing in common"
        remedy = (
            f"use at least {needed} bits, or a lower probability" if needed <= _MAX_BITS else "use a lower probability"
        )
        yield ValidationIssue(here, what, f"{got} with {field.bits} bits", remedy)
    if field.value_frequencies:
        what = "it requires equal values to have equal signatures in the two files, which randomised bits do not"
        yield ValidationIssue((*path, "value_frequencies"), what, got, "drop one of the two")


_SHARED = (
    "kind", "clean", "stop_words", "missing", "date", "tokens", "bits", "randomised_response", "salt", "only_similar",
)  # fmt: skip
"""The attributes that fields of one key domain must have in common."""


def key_domain_issues(sections: SoundSections) -> Iterator[ValidationIssue]:
    """Fields of one key domain that are encoded differently."""
    # One key for two encodings would make equal values differ, and reveal more to Carole than either encoding alone.
    for position, earlier in repeated((i, field.key_domain) for i, field in sections.fields.items()):
        field, first = sections.fields[position], sections.fields[earlier]
        for attribute in _SHARED:
            mine, theirs = getattr(field, attribute), getattr(first, attribute)
            if mine != theirs:
                what = f"{first.name} is of the same key domain but has other {attribute}"
                got = f"{shown(mine)} beside {shown(theirs)}" if isinstance(mine, str | int | float) else ""
                remedy = f"give both the same {attribute}, or each a key_domain of its own"
                yield ValidationIssue(("fields", position, "key_domain"), what, got, remedy)


def variable_issues(sections: SoundSections) -> Iterator[ValidationIssue]:
    if len(sections.variables) > MAX_VARIABLES:
        what = f"at most {MAX_VARIABLES} variables are possible"
        yield ValidationIssue(("variables",), what, str(len(sections.variables)), "drop some")
    folded_fields = {name.casefold() for name in sections.by_name}
    for position, variable in sections.variables.items():
        path: DocumentPath = ("variables", position)
        yield from _columns(variable, path)
        if variable.columns is not None and variable.holder != "both":
            remedy = "name its `column`, or set `holder: both`"
            yield ValidationIssue((*path, "columns"), "only one file has it", f"holder {variable.holder}", remedy)
        if variable.holder != "both" and variable.name.casefold() in folded_fields:
            what = "a compared field has this name, and both files have that field"
            remedy = "use another name, or set `holder: both`"
            yield ValidationIssue((*path, "name"), what, shown(variable.name), remedy)
        sides = [side for side in Side if variable.held_by(side)]
        for side in sides:
            if variable.column_of(side) == sections.identifiers.get(side):
                yield ValidationIssue((*path, "column"), f"this is {side}'s identifier", remedy="name another column")
        yield from _label_issues(variable, path)
        if not (rows := variable.categorisation):
            continue
        path = (*path, "categorisation")
        yield from categorisation_issues(rows, sides, variable.missing_codes, path)
        if [folded_label(row.category) for row in rows] != list(map(folded_label, variable.categories)):
            remedy = "write the same categories in the same order in both"
            yield ValidationIssue(path, "its rows are not the variable's `categories`", f"{len(rows)}", remedy)


def _label_issues(variable: VariableSpec, path: DocumentPath) -> Iterator[ValidationIssue]:
    labels = [folded_label(label) for label in variable.categories]
    for place, label in enumerate(labels):
        if not label:
            here = (*path, "categories", place)
            yield ValidationIssue(here, "a category must not be blank", remedy="an empty value is missing")
    for place, first in repeated((i, label) for i, label in enumerate(labels) if label):
        what, got = f"the category is categories[{first}] already", shown(variable.categories[place])
        remedy = "categories must differ by more than capitals and blanks"
        yield ValidationIssue((*path, "categories", place), what, got, remedy)
    for place, code in enumerate(variable.missing):
        if folded_label(code) and folded_label(code) in labels:
            remedy = "a value is a category or means not known; drop one of the two"
            yield ValidationIssue((*path, "missing", place), "this is one of the categories", shown(code), remedy)
