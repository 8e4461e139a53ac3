"""Checks of the assessment against the variables, the compared fields and the release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.language.message_words import nearest, shown
from gemel.common.specification.model.assessment import AssessmentSpec, Fractions, PublishedTable
from gemel.common.specification.model.content import ReleaseSpec
from gemel.common.specification.model.latent import LatentSpec
from gemel.common.specification.model.quality import QualitySpec
from gemel.common.specification.model.variables import VariableSpec
from gemel.common.specification.validation.protection import protection_issues
from gemel.common.validation_issues import DocumentPath, ValidationIssue


def assessment_issues(
    assessment: AssessmentSpec | None,
    release: ReleaseSpec,
    variables: Mapping[int, VariableSpec],
    fields: frozenset[str],
    quality: QualitySpec | None,
    latent: LatentSpec | None,
) -> Iterator[ValidationIssue]:
    """Every issue between the assessment and the rest of a specification."""
    path: DocumentPath = ("assessment",)
    if assessment is None:
        if release.assessment == "policy":
            yield ValidationIssue(
                ("release", "assessment"),
                "there is no `assessment` section to judge the release by",
                remedy="write one, or `assessment: none`, which all parties then sign",
            )
        return
    if release.assessment == "none":
        yield ValidationIssue(
            ("release", "assessment"),
            "there is an `assessment` section, but the release is to go without an assessment",
            "none",
            "drop this line, or the section",
        )
    if assessment.signatures > 1 and assessment.on_breach == "refuse":
        yield ValidationIssue(
            (*path, "signatures"),
            "no result is ever held for stewards to sign: above a limit the release is refused",
            str(assessment.signatures),
            "set `on_breach: hold`, or drop this line",
        )
    if not assessment.limits.given:
        yield ValidationIssue(
            (*path, "limits"), "no limit is set: every release would pass", remedy="limit at least one measure"
        )
    named = {variable.name: variable for variable in variables.values()}
    if not any(variable.role == "key" for variable in named.values()):
        yield ValidationIssue(
            path,
            "no variable has the role key: an intruder would have nothing by which to find a person",
            remedy="give at least one of `variables` the role key",
        )
    yield from _fractions(assessment.fractions, (*path, "fractions"))
    for position, variable in variables.items():
        if variable.role == "sensitive" and variable.name in fields:
            yield ValidationIssue(
                ("variables", position, "role"),
                "a sensitive variable is also a compared field, which both custodians know already",
                variable.name,
                "drop the field from the comparison, or give the variable another role",
            )
    lacking = {
        "sensitive": ("no variable has the role sensitive", "give a variable the role sensitive, or drop the limit"),
        "tables": ("no table is to be published", "name the `tables`"),
        "quality": (
            "nothing estimates the share of false links",
            "set quality.check_field, quality.decoys or quality.bootstrap, or drop the limit",
        ),
        "joint model": (
            "there is no joint model, or no variable has the role sensitive",
            "add the section `latent` and give a variable the role sensitive, or drop the limit",
        ),
        "released joint": (
            "no joint distribution is released, or no variable has the role sensitive",
            "set `release.joint` and give a variable the role sensitive, or drop the limit",
        ),
    }
    if any(variable.role == "sensitive" for variable in named.values()):
        del lacking["sensitive"]
        if latent is not None:
            del lacking["joint model"]
        if release.joint != "none":
            del lacking["released joint"]
    if assessment.tables:
        del lacking["tables"]
    if quality is not None and quality != QualitySpec():
        del lacking["quality"]
    for measure in assessment.limits.given:
        if (need := MEASURES[measure].needs) in lacking:
            words, remedy = lacking[need]
            yield ValidationIssue((*path, "limits", measure), words, remedy=remedy)
    for place, table in enumerate(assessment.tables):
        yield from _table_issues(table, (*path, "tables", place), named)
    yield from protection_issues(assessment.protect, (*path, "protect"), named)


def _table_issues(
    table: PublishedTable, path: DocumentPath, named: Mapping[str, VariableSpec]
) -> Iterator[ValidationIssue]:
    for axis, name in enumerate(table.variables):
        if name not in named:
            yield ValidationIssue(
                (*path, "variables", axis), "there is no variable of this name", shown(name), nearest(name, named)
            )
    if len(set(table.variables)) < len(table.variables):
        yield ValidationIssue((*path, "variables"), "a variable is named twice", remedy="name each once")
    if (table.protection == "none") != (table.base is None):
        needs = "has no base" if table.protection == "none" else "needs a base"
        yield ValidationIssue((*path, "base"), f"protection {table.protection} {needs}", str(table.base))
    elif table.protection == "conventional" and table.base is not None and table.base % 2 == 0:
        yield ValidationIssue((*path, "base"), "conventional rounding needs an odd base", str(table.base))


def _fractions(fractions: Fractions, path: DocumentPath) -> Iterator[ValidationIssue]:
    """Each within its bounds, and that of both files within those of either."""
    given = {name: fractions.of(name) for name in ("alice", "bob", "combined")}
    for name, fraction in given.items():
        if not fraction.low <= fraction.value <= fraction.high:
            yield ValidationIssue(
                (*path, name),
                "the fraction must lie within its bounds",
                f"low {fraction.low:g}, value {fraction.value:g}, high {fraction.high:g}",
                "give low <= value <= high",
            )
    for end in ("value", "low", "high"):
        both = getattr(given["combined"], end)
        if both > min(getattr(given["alice"], end), getattr(given["bob"], end)):
            numbers = isinstance(fractions.combined, float)
            yield ValidationIssue(
                (*path, "combined") if numbers else (*path, "combined", end),
                "the fraction in both files cannot be larger than the fraction in either",
                f"{both:g}",
            )
            return
