"""Checks across the attributes of a field, and across compared fields."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from itertools import pairwise

from gemel.common.parties import Side
from gemel.common.specification.model.defaults import IN_BLOCKS, MAX_PATTERNS, STEPS
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.section import folded_label
from gemel.common.specification.validation.categorisation import categorisation_issues
from gemel.common.specification.validation.randomised_response import randomised_response_issues
from gemel.common.validation_issues import DocumentPath, ValidationIssue


def field_issues(field: FieldSpec, path: DocumentPath, mode: object) -> Iterator[ValidationIssue]:
    """Issues of one field by itself, under a mode."""
    for check in _FIELD_CHECKS:
        yield from check(field, path)
    if field.randomised_response:
        yield from randomised_response_issues(field, path, mode)
    if mode in ("open", *IN_BLOCKS) and field.comparator is not None:
        yield ValidationIssue(
            (*path, "comparator"),
            "values can be compared in mode trusted only",
            field.comparator,
            "drop it: signatures estimate the Jaccard similarity of the tokens",
        )


def pattern_issues(fields: Mapping[int, FieldSpec]) -> Iterator[ValidationIssue]:
    """More comparison patterns than can be distinguished."""
    patterns = math.prod(
        (len(field.bounds) + 1) * (3 if field.missing_as == "level" else 1) for field in fields.values()
    )
    if patterns >= MAX_PATTERNS:
        yield ValidationIssue(
            ("fields",),
            "there are more comparison patterns than fit into 64 bits",
            f"{Decimal(patterns):.1e} from {len(fields)} fields",  # a float ends at 308 digits
            "compare fewer fields, or give some fewer levels (exact has two)",
        )


def _date_format(field: FieldSpec, path: DocumentPath) -> Iterator[ValidationIssue]:
    if field.kind == "date" and field.date is None:
        yield ValidationIssue(
            (*path, "date"),
            "a date needs the order it is written in",
            "nothing",
            "write `date: {order: ymd}`, or dmy, or mdy; it is never guessed",
        )
    if field.kind != "date" and field.date is not None:
        yield ValidationIssue(
            (*path, "date"), "only a date has a date format", f"kind {field.kind}", "set `kind: date`"
        )


def _columns(field: FieldSpec, path: DocumentPath) -> Iterator[ValidationIssue]:
    if field.column is not None and field.columns is not None:
        yield ValidationIssue((*path, "columns"), "column and columns are both given", remedy="keep one of them")


def _cleaning(field: FieldSpec, path: DocumentPath) -> Iterator[ValidationIssue]:
    for step in field.clean:
        if step not in field.defaults.allowed:
            allowed = ", ".join(step for step in STEPS if step in field.defaults.allowed)
            yield ValidationIssue(
                (*path, "clean"), f"this step is not allowed for a {field.kind}", step, f"possible here: {allowed}"
            )
    if field.stop_words and "stop_words" not in field.clean:
        yield ValidationIssue(
            (*path, "stop_words"),
            "stop words are given but never dropped",
            f"clean without stop_words, {len(field.stop_words)} words",
            "add stop_words to clean",
        )


def _zeros(field: FieldSpec, path: DocumentPath) -> Iterator[ValidationIssue]:
    # Dropping zeros could create a new stop word, and cleaning would no longer be idempotent.
    if field.stop_words and "leading_zeros" in field.clean:
        remedy = "drop one of them: zeros are dropped from codes, stop words from texts"
        yield ValidationIssue((*path, "clean"), "stop words and leading_zeros cannot be combined", remedy=remedy)


def _tokens(field: FieldSpec, path: DocumentPath) -> Iterator[ValidationIssue]:
    if field.tokens == "date_parts" and field.kind != "date":
        yield ValidationIssue(
            (*path, "tokens"), "only a date has date_parts", f"kind {field.kind}", "choose other tokens"
        )


def _levels(field: FieldSpec, path: DocumentPath) -> Iterator[ValidationIssue]:
    bounds = field.bounds
    if any(low >= high for low, high in pairwise(bounds)):
        yield ValidationIssue(
            (*path, "levels"),
            "the upper bounds must ascend",
            ", ".join(f"{bound:g}" for bound in bounds),
            "sort them, each once",
        )
    elif bounds[-1] != 1:
        yield ValidationIssue(
            (*path, "levels"), "the last upper bound must be 1, which is equality", f"{bounds[-1]:g}", "add 1"
        )


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


_FIELD_CHECKS: tuple[Callable[[FieldSpec, DocumentPath], Iterator[ValidationIssue]], ...] = (
    _columns,
    _date_format,
    _cleaning,
    _zeros,
    _tokens,
    _levels,
    _categorisation,
)
