"""Checks across the attributes of a field, and across compared fields."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise

from gemel.common.language.message_words import shown
from gemel.common.parties import Side
from gemel.common.specification.model.content import ReleaseSpec, SpecificationContent
from gemel.common.specification.model.defaults import IN_BLOCKS, MAX_PATTERNS, STEPS
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.granted_variables import VariableGrant
from gemel.common.specification.model.section import folded_label
from gemel.common.specification.model.variables import MAX_VARIABLES, CommonCategory, Span, VariableSpec
from gemel.common.specification.validation.blocking import randomised_response_issues
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


def variable_issues(
    variables: Mapping[int, VariableSpec], fields: frozenset[str], identifiers: Mapping[Side, str]
) -> Iterator[ValidationIssue]:
    """Every issue between the values of the variables."""
    if len(variables) > MAX_VARIABLES:
        yield ValidationIssue(
            ("variables",), f"at most {MAX_VARIABLES} variables are possible", str(len(variables)), "drop some"
        )
    folded_fields = {name.casefold() for name in fields}
    for position, variable in variables.items():
        path: DocumentPath = ("variables", position)
        if variable.column is not None and variable.columns is not None:
            yield ValidationIssue((*path, "columns"), "column and columns are both given", remedy="keep one of them")
        if variable.columns is not None and variable.holder != "both":
            remedy = "name its `column`, or set `holder: both`"
            yield ValidationIssue((*path, "columns"), "only one file has it", f"holder {variable.holder}", remedy)
        if variable.holder != "both" and variable.name.casefold() in folded_fields:
            yield ValidationIssue(
                (*path, "name"),
                "a compared field has this name, and both files have that field",
                shown(variable.name),
                "use another name, or set `holder: both`",
            )
        for side in Side:
            if variable.held_by(side) and variable.column_of(side) == identifiers.get(side):
                yield ValidationIssue((*path, "column"), f"this is {side}'s identifier", remedy="name another column")
        yield from _label_issues(variable, path)
        yield from _variables_categorisation(variable, (*path, "categorisation"))


def _variables_categorisation(variable: VariableSpec, path: DocumentPath) -> Iterator[ValidationIssue]:
    if not variable.categorisation:
        return
    sides = [side for side in Side if variable.held_by(side)]
    codes = variable.missing_codes
    yield from categorisation_issues(variable.categorisation, sides, codes, path)
    if [folded_label(row.category) for row in variable.categorisation] != list(map(folded_label, variable.categories)):
        remedy = "write the same categories in the same order in both"
        yield ValidationIssue(
            path, "its rows are not the variable's `categories`", f"{len(variable.categorisation)}", remedy
        )


def _label_issues(variable: VariableSpec, path: DocumentPath) -> Iterator[ValidationIssue]:
    seen: dict[str, int] = {}
    for place, label in enumerate(variable.categories):
        folded = folded_label(label)
        if not folded:
            yield ValidationIssue(
                (*path, "categories", place), "a category must not be blank", remedy="an empty value is missing"
            )
        elif (first := seen.setdefault(folded, place)) != place:
            yield ValidationIssue(
                (*path, "categories", place),
                f"the category is categories[{first}] already",
                shown(label),
                "categories must differ by more than capitals and blanks",
            )
    for place, code in enumerate(variable.missing):
        if folded_label(code) in seen:
            remedy = "a value is a category or means not known; drop one of the two"
            yield ValidationIssue((*path, "missing", place), "this is one of the categories", shown(code), remedy)


RESERVED = ("identifier", "link_id", "pair_id", "link_probability", "linked", "draw", *(str(side) for side in Side))
"""Columns that a linked file has itself."""

_NO_RECIPIENTS = ("carole", "coordinator", "steward")


def granted_variables_issues(content: SpecificationContent) -> Iterator[ValidationIssue]:
    """Every issue of the grants, given the release, the assignment and the identifiers."""
    release = content.release
    if not release.variables:
        return
    if content.links.assignment == "clusters":
        yield ValidationIssue(
            ("release", "variables"),
            "under the assignment clusters columns would show how many records the other file has of a person, which a"
            " share keeps back",
            "assignment clusters",
            "drop the grants, or choose another assignment",
        )
    seen: set[str] = set()
    for position, grant in enumerate(release.variables):
        path = ("release", "variables", position)
        if grant.to in seen:
            yield ValidationIssue((*path, "to"), "the recipient is named twice", grant.to, "join the two grants")
        seen.add(grant.to)
        yield from _recipient_issues(release, grant, path)
        for side in Side:
            yield from _column_issues(
                grant.columns_of(side), content.custodians.of(side).identifier, (*path, str(side))
            )


def _recipient_issues(release: ReleaseSpec, grant: VariableGrant, path: DocumentPath) -> Iterator[ValidationIssue]:
    if grant.to in _NO_RECIPIENTS:
        what = "neither the linkage unit nor who coordinates or supervises it receives records"
        yield ValidationIssue((*path, "to"), what, grant.to, "name alice, bob, or a member with the role analyst")
    if not grant.alice and not grant.bob:
        yield ValidationIssue(path, "the recipient receives no column", "none", "name columns, or drop the grant")
    custodian = next((side for side in Side if grant.to == side), None)
    if custodian is not None and grant.columns_of(custodian):
        what = f"{custodian.title()} has the columns of its own file"
        yield ValidationIssue((*path, grant.to), what, grant.to, "name columns of the other file only")
    ends = {side for side in Side if grant.columns_of(side)} | ({custodian} if custodian is not None else set())
    for side in sorted(ends - set(release.recipients_of_pairs)):
        what = f"{side.title()} receives no links, and so does not know which of its records they are"
        yield ValidationIssue(path, what, getattr(release, str(side)), f"grant {side} links, or drop its columns")
    if custodian is None and release.exact_probabilities != "none":
        yield ValidationIssue(
            path,
            "an analyst receives the custodians' link probabilities, and none that is exact",
            f"exact_probabilities {release.exact_probabilities}",
            "set `exact_probabilities: none`, or drop the analyst",
        )


def _column_issues(columns: tuple[str, ...], identifier: str, path: DocumentPath) -> Iterator[ValidationIssue]:
    for position, column in enumerate(columns):
        here = (*path, position)
        if column in columns[:position]:
            yield ValidationIssue(here, "the column is named twice", shown(column), "name it once")
        if column == identifier:
            what = "a custodian's identifiers never leave it"
            yield ValidationIssue(here, what, shown(column), "drop it: records are joined by the links' ids")
        if column in RESERVED:
            what = "a linked file has a column of this name itself"
            yield ValidationIssue(here, what, shown(column), "rename the column in the file")
