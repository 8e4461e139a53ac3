"""Mode shared: who may compute together, and what cannot be had where no one sees a signature.

What needs values across a whole file is refused as in mode block_keyed, by `block_keyed_issues`.
"""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.language.message_words import shown
from gemel.common.parties import Side
from gemel.common.specification.model.assessment import AssessmentSpec
from gemel.common.specification.model.compute import ComputeSpec
from gemel.common.specification.model.content import ReleaseSpec, SpecificationContent
from gemel.common.specification.model.defaults import Mode
from gemel.common.validation_issues import ValidationIssue

_OTHERS = {
    **{str(side): f"{side} is a custodian, who has one of the files" for side in Side},
    "carole": "carole, the linkage unit, is the third of the parties that compute already",
}


def shared_issues(content: SpecificationContent) -> Iterator[ValidationIssue]:
    """Every issue of the section `compute`, and of what mode shared cannot measure."""
    yield from _compute_issues(content.compute, content.mode, content.release)
    if content.mode == "shared" and content.assessment is not None:
        yield from _assessment_issues(content.assessment)


def _compute_issues(compute: ComputeSpec, mode: Mode, release: ReleaseSpec) -> Iterator[ValidationIssue]:
    if mode != "shared":
        if compute != ComputeSpec():
            what = "three parties compute together in mode shared only"
            yield ValidationIssue(("compute",), what, f"mode {mode}", "drop the section, or set `mode: shared`")
        return
    if compute.coordinator == compute.steward:
        what = "one member would hold all three shares, and with them every signature"
        remedy = "name a steward of another organisation"
        yield ValidationIssue(("compute", "steward"), what, shown(compute.steward), remedy)
    analysts = {transfer.to for transfer in release.transfers if transfer.to_analyst}
    for role, name in (("coordinator", compute.coordinator), ("steward", compute.steward)):
        what = _OTHERS.get(name) or (f"{name} is an analyst, who receives columns" if name in analysts else "")
        if what:
            yield ValidationIssue(("compute", role), what, shown(name), f"name a member with the role {role}")


def _assessment_issues(assessment: AssessmentSpec) -> Iterator[ValidationIssue]:
    if assessment.near_copies != 1:
        yield ValidationIssue(
            ("assessment", "near_copies"),
            "in mode shared no one sees which rows of one file resemble each other, and near-copies are not counted",
            f"a limit of {assessment.near_copies:g}",
            "write `near_copies: 1`, which all sign, or link in mode block_keyed",
        )
