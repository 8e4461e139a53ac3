"""Checks of category variables: names, columns and labels that differ from each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gemel.common.language.message_words import shown
from gemel.common.parties import Side
from gemel.common.specification.model.section import folded_label
from gemel.common.specification.model.variables import MAX_VARIABLES, VariableSpec
from gemel.common.specification.validation.categorisation import categorisation_issues
from gemel.common.validation_issues import DocumentPath, ValidationIssue


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
        yield from _categorisation(variable, (*path, "categorisation"))


def _categorisation(variable: VariableSpec, path: DocumentPath) -> Iterator[ValidationIssue]:
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
