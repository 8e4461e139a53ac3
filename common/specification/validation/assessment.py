"""Checks of the assessment against the variables, the compared fields and the release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.language.message_words import listed, nearest, shown
from gemel.common.specification.model.assessment import AssessmentSpec, Fractions, PublishedTable
from gemel.common.specification.model.blocking import BlockingRule
from gemel.common.specification.model.content import ReleaseSpec
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.latent import LatentSpec
from gemel.common.specification.model.protection import (
    DROP,
    CoarseningStep,
    Protect,
    grouped,
    partitions,
    step_name,
)
from gemel.common.specification.model.schemes import QualitySpec
from gemel.common.specification.model.section import folded_label
from gemel.common.specification.model.variables import VariableSpec
from gemel.common.validation_issues import DocumentPath, ValidationIssue


def protection_issues(
    protect: Protect, path: DocumentPath, named: Mapping[str, VariableSpec]
) -> Iterator[ValidationIssue]:
    """Every issue between the coarsenings that are allowed and the variables."""
    for name, steps in protect.items():
        here = (*path, name)
        variable = named.get(name)
        if variable is None:
            yield ValidationIssue(here, "there is no variable of this name", shown(name), nearest(name, named))
            continue
        if DROP in steps[:-1]:
            yield ValidationIssue(here, "a variable is dropped by the last step only", remedy="write `drop` last")
        names = [step_name(step) for step in steps]
        for place, step in enumerate(steps):
            if names.index(names[place]) != place or (isinstance(step, CoarseningStep) and step.name == DROP):
                what = "the name of the step is taken"
                yield ValidationIssue((*here, place), what, shown(names[place]), "give it another name")
        sound = True
        for place, step in enumerate(steps):
            if isinstance(step, CoarseningStep):
                found = list(_step_issues(step, (*here, place, "groups"), variable))
                sound = sound and not found
                yield from found
        if sound:
            yield from _ladder_issues(steps, here, variable)


def _step_issues(step: CoarseningStep, path: DocumentPath, variable: VariableSpec) -> Iterator[ValidationIssue]:
    if len(step.groups) < 2:
        yield ValidationIssue(
            path,
            "with fewer than two groups nothing is left of the variable",
            f"{len(step.groups)}",
            "write `drop` as the last step instead",
        )
    seen: dict[str, str] = {}
    labels = {folded_label(label): label for label in variable.categories}
    for group, members in step.groups.items():
        if not folded_label(group) or folded_label(group) in variable.missing_codes:
            yield ValidationIssue(path, "the name of a group means *not known*", shown(group), "give it another name")
        if not members:
            yield ValidationIssue((*path, group), "the group is empty", "nothing", "drop it")
        for label in members:
            folded = folded_label(label)
            if folded not in labels:
                what = f"{variable.name} has no such category"
                yield ValidationIssue((*path, group), what, shown(label), nearest(label, variable.categories))
            elif folded in seen:
                what = "the category is in two groups" if seen[folded] != group else "the category is listed twice"
                yield ValidationIssue((*path, group), what, shown(label), "name it once")
            else:
                seen[folded] = group
    lacking = [label for folded, label in labels.items() if folded not in seen]
    if lacking:
        what = f"{len(lacking)} of {len(labels)} categories of {variable.name} are in no group"
        yield ValidationIssue(path, what, shown(lacking[0]), "put every category into one group")
    folded_groups = {folded_label(group) for group in step.groups}
    if len(folded_groups) < len(step.groups):
        yield ValidationIssue(path, "two groups have one name", remedy="names must differ by more than capitals")


def _ladder_issues(
    steps: Sequence[CoarseningStep | str], path: DocumentPath, variable: VariableSpec
) -> Iterator[ValidationIssue]:
    """Each step joins whole groups of the step before it, and at least two of them."""
    before, words = tuple(range(len(variable.categories))), f"the categories of {variable.name}"
    for place, (step, groups) in enumerate(
        zip(grouped(steps), partitions(steps, variable.categories), strict=True),
    ):
        pairs = set(zip(before, groups, strict=True))
        if len(pairs) > len(set(before)):
            what = f"step {step.name} is not coarser than {words}: a group of these is divided"
            yield ValidationIssue((*path, place), what, remedy="join whole groups of the step before it")
        elif len(set(groups)) == len(set(before)):
            what = f"step {step.name} is not coarser than {words}: it has as many groups"
            yield ValidationIssue((*path, place), what, f"{len(set(groups))}", "join some, or drop the step")
        before, words = groups, f"step {step.name}"


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


def quality_issues(
    quality: QualitySpec | None,
    fields: Mapping[int, FieldSpec],
    rules: Mapping[int, BlockingRule],
    swaps: Sequence[tuple[str, str]],
    latent: LatentSpec | None,
    assignment: str,
) -> Iterator[ValidationIssue]:
    """Every issue between the section `quality` and the rest of a specification."""
    if quality is None:
        return
    if latent is not None:
        yield ValidationIssue(
            ("quality",),
            "the extended latent step decides again, and these estimates are of the decision before it",
            remedy="drop `quality`, or `latent`",
        )
    if quality.decoys is not None and assignment in ("many_to_one", "one_to_many", "none"):
        yield ValidationIssue(
            ("quality", "decoys"),
            "where a record may have several links, a decoy is linked with the match of the record it was made from",
            f"links.assignment {assignment}",
            "use a check field or the bootstrap, or link one_to_one",
        )
    name = quality.check_field
    if name is None:
        return
    path = ("quality", "check_field")
    by_name = {field.name: field for field in fields.values()}
    if name not in by_name:
        yield ValidationIssue(path, "no field has this name", shown(name), nearest(name, by_name))
        return
    if len(by_name) < 3:
        yield ValidationIssue(
            path, "fewer than two other fields are compared", shown(name), "compare more fields, or drop the check"
        )
    used = [f"blocking rule {rule.name}" for rule in rules.values() if name in rule.fields or name == rule.split]
    used += [f"the exchange of {first} and {second}" for first, second in swaps if name in (first, second)]
    used += [f"the salt of {field.name}" for field in by_name.values() if field.salt and field.salt.field == name]
    if used:
        yield ValidationIssue(
            path,
            f"the check field must be held out, but is used by {listed(used)}",
            shown(name),
            "drop it there, or check by another field",
        )
    field = by_name[name]
    if field.salt is not None:
        yield ValidationIssue(
            path,
            f"its signatures agree only where {field.salt.words} does too, so errors there would count as false links",
            shown(name),
            "drop the salt, or check by another field",
        )
    for option, is_set in (("value_frequencies", field.value_frequencies), ("missing_as", field.missing_as == "level")):
        if is_set:
            position = next(position for position, other in fields.items() if other.name == name)
            yield ValidationIssue(
                ("fields", position, option), "the check field has no weight that this could change", remedy="drop it"
            )
