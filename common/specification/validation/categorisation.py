"""Checks of a table of categorisation: each value means one category."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from gemel.common.language.message_words import shown
from gemel.common.parties import Side
from gemel.common.specification.model.categorisation import CommonCategory, Span
from gemel.common.specification.model.section import folded_label
from gemel.common.validation_issues import DocumentPath, ValidationIssue


def categorisation_issues(
    rows: Sequence[CommonCategory], sides: Sequence[Side], missing: frozenset[str], path: DocumentPath
) -> Iterator[ValidationIssue]:
    """Every issue between the rows of a table."""
    if len(rows) == 1:
        yield ValidationIssue(
            path,
            "all values map to one category, so nothing is left to compare: the two codings cannot be harmonised",
            shown(rows[0].category),
            "leave it out, or have one custodian code more finely",
        )
    seen: dict[str, int] = {}
    for place, row in enumerate(rows):
        label = folded_label(row.category)
        here = (*path, place, "category")
        if not label or label in missing:
            remedy = "list its values under `missing` instead"
            yield ValidationIssue(here, "a category of missing values cannot be compared", shown(row.category), remedy)
        if (first := seen.setdefault(label, place)) != place:
            yield ValidationIssue(
                here, f"the category is that of row {first} already", shown(row.category), "join the two"
            )
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
            remedy = "make spans end where the next begin"
            yield ValidationIssue(
                (*path, place, str(side)), f"the span overlaps that of row {first}", f"{minimum:g}", remedy
            )
