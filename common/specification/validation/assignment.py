"""Checks of the assignment clusters, which links persons: what supposes one link of a record is no part of it."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.message_words import listed
from gemel.common.parties import Side
from gemel.common.specification.model.content import SpecificationContent
from gemel.common.validation_issue import ValidationIssue


def assignment_issues(content: SpecificationContent) -> Iterator[ValidationIssue]:
    """Every issue between `links.assignment: clusters` and the rest of a specification."""
    if content.links.assignment != "clusters":
        return
    path = ("links", "assignment")
    if content.in_blocks:
        what = f"mode {content.mode} compares no rows of one file with each other, which finding its persons takes"
        remedy = "take duplicates out at home with `gemel duplicates` and link one_to_one, or link in mode open"
        yield ValidationIssue(path, what, "clusters", remedy)
    if content.latent is not None:
        what = "the extended latent step judges pairs of records, and would take the links of an entity apart"
        yield ValidationIssue(path, what, "clusters", "drop `latent`, or take duplicates out with `gemel duplicates`")
    drawn = [str(side) for side in Side if getattr(content.release, str(side)) == "draws"]
    if drawn:
        what = "linkages are drawn for given persons: draws would leave out how uncertain these are"
        remedy = f"grant {listed(drawn)} links or pairs, or take duplicates out with `gemel duplicates`"
        yield ValidationIssue(path, what, "clusters", remedy)
    if content.quality is not None:
        what = "the pairs of an entity share its records, and estimates of quality take links for independent of others"
        remedy = "drop `quality`, or take duplicates out with `gemel duplicates` and link one_to_one"
        yield ValidationIssue(path, what, "clusters", remedy)
