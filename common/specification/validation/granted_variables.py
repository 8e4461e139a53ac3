"""Checks of `release.variables`: each recipient once, columns of others only, and records that both ends can name."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.language.message_words import shown
from gemel.common.parties import Side
from gemel.common.specification.model.content import ReleaseSpec, SpecificationContent
from gemel.common.specification.model.granted_variables import VariableGrant
from gemel.common.validation_issues import DocumentPath, ValidationIssue

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
