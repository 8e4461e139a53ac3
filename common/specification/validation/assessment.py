"""Checks of the assessment, of estimates of quality and of the release against the rest of a specification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.language.message_words import listed, nearest, shown
from gemel.common.parties import Side
from gemel.common.specification.model.assessment import AssessmentSpec, Fractions, PublishedTable
from gemel.common.specification.model.content import ReleaseSpec, SpecificationContent
from gemel.common.specification.model.granted_variables import VariableGrant
from gemel.common.specification.model.protection import DROP, CoarseningStep, grouped, partitions, step_name
from gemel.common.specification.model.schemes import SCHEMES, QualitySpec
from gemel.common.specification.model.section import folded_label
from gemel.common.specification.model.variables import VariableSpec
from gemel.common.validation_issues import DocumentPath, ValidationIssue

_ASSESSMENT = ("assessment",)


def _protection(assessment: AssessmentSpec, named: Mapping[str, VariableSpec]) -> Iterator[ValidationIssue]:
    for name, steps in assessment.protect.items():
        here = (*_ASSESSMENT, "protect", name)
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
        groupings = [(place, step) for place, step in enumerate(steps) if isinstance(step, CoarseningStep)]
        issues = [i for place, step in groupings for i in _step_issues(step, (*here, place, "groups"), variable)]
        yield from issues or _ladder_issues(steps, here, variable)


def _step_issues(step: CoarseningStep, path: DocumentPath, variable: VariableSpec) -> Iterator[ValidationIssue]:
    if len(step.groups) < 2:
        what = "with fewer than two groups nothing is left of the variable"
        yield ValidationIssue(path, what, f"{len(step.groups)}", "write `drop` as the last step instead")
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
    for place, (step, groups) in enumerate(zip(grouped(steps), partitions(steps, variable.categories), strict=True)):
        pairs = set(zip(before, groups, strict=True))
        if len(pairs) > len(set(before)):
            what = f"step {step.name} is not coarser than {words}: a group of these is divided"
            yield ValidationIssue((*path, place), what, remedy="join whole groups of the step before it")
        elif len(set(groups)) == len(set(before)):
            what = f"step {step.name} is not coarser than {words}: it has as many groups"
            yield ValidationIssue((*path, place), what, f"{len(set(groups))}", "join some, or drop the step")
        before, words = groups, f"step {step.name}"


_LACKING = {
    "sensitive": ("no variable has the role sensitive", "give a variable the role sensitive, or drop the limit"),
    "tables": ("no table is to be published", "name the `tables`"),
    "quality": (
        "nothing estimates the share of false links",
        "set quality.check_field or quality.decoys, or drop the limit",
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
"""By what a measure needs: that it is not there, and the remedy."""


def assessment_issues(content: SpecificationContent) -> Iterator[ValidationIssue]:
    assessment, where = content.assessment, ("release", "assessment")
    if assessment is None:
        if content.release.assessment == "policy":
            remedy = "write one, or `assessment: none`, which all parties then sign"
            yield ValidationIssue(where, "there is no `assessment` section to judge the release by", remedy=remedy)
        return
    if content.release.assessment == "none":
        what = "there is an `assessment` section, but the release is to go without an assessment"
        yield ValidationIssue(where, what, "none", "drop this line, or the section")
    if assessment.signatures > 1 and assessment.on_breach == "refuse":
        what = "no result is ever held for stewards to sign: above a limit the release is refused"
        remedy = "set `on_breach: hold`, or drop this line"
        yield ValidationIssue((*_ASSESSMENT, "signatures"), what, str(assessment.signatures), remedy)
    if not assessment.limits.given:
        what = "no limit is set: every release would pass"
        yield ValidationIssue((*_ASSESSMENT, "limits"), what, remedy="limit at least one measure")
    roles = {variable.role for variable in content.variables}
    if "key" not in roles:
        what = "no variable has the role key: an intruder would have nothing by which to find a person"
        yield ValidationIssue(_ASSESSMENT, what, remedy="give at least one of `variables` the role key")
    yield from _fractions(assessment.fractions)
    compared = {field.name for field in content.fields}
    for position, variable in enumerate(content.variables):
        if variable.role == "sensitive" and variable.name in compared:
            what = "a sensitive variable is also a compared field, which both custodians know already"
            remedy = "drop the field from the comparison, or give the variable another role"
            yield ValidationIssue(("variables", position, "role"), what, variable.name, remedy)
    available = {
        "sensitive": "sensitive" in roles,
        "tables": bool(assessment.tables),
        "quality": content.quality not in (None, QualitySpec()),
        "joint model": "sensitive" in roles and content.latent is not None,
        "released joint": "sensitive" in roles and content.release.joint != "none",
    }
    for measure in assessment.limits.given:
        if not available.get(MEASURES[measure].needs, True):
            what, remedy = _LACKING[MEASURES[measure].needs]
            yield ValidationIssue((*_ASSESSMENT, "limits", measure), what, remedy=remedy)
    named = {variable.name: variable for variable in content.variables}
    for place, table in enumerate(assessment.tables):
        yield from _table_issues(table, (*_ASSESSMENT, "tables", place), named)
    yield from _protection(assessment, named)


def _table_issues(
    table: PublishedTable, path: DocumentPath, named: Mapping[str, VariableSpec]
) -> Iterator[ValidationIssue]:
    for axis, name in enumerate(table.variables):
        if name not in named:
            what = "there is no variable of this name"
            yield ValidationIssue((*path, "variables", axis), what, shown(name), nearest(name, named))
    if len(set(table.variables)) < len(table.variables):
        yield ValidationIssue((*path, "variables"), "a variable is named twice", remedy="name each once")
    if (table.protection == "none") != (table.base is None):
        needs = "has no base" if table.protection == "none" else "needs a base"
        yield ValidationIssue((*path, "base"), f"protection {table.protection} {needs}", str(table.base))
    elif table.protection == "conventional" and table.base is not None and table.base % 2 == 0:
        yield ValidationIssue((*path, "base"), "conventional rounding needs an odd base", str(table.base))


def _fractions(fractions: Fractions) -> Iterator[ValidationIssue]:
    """Each within its bounds, and that of both files within those of either."""
    path = (*_ASSESSMENT, "fractions")
    given = {name: fractions.of(name) for name in ("alice", "bob", "combined")}
    for name, fraction in given.items():
        if not fraction.low <= fraction.value <= fraction.high:
            got = f"low {fraction.low:g}, value {fraction.value:g}, high {fraction.high:g}"
            what = "the fraction must lie within its bounds"
            yield ValidationIssue((*path, name), what, got, "give low <= value <= high")
    for end in ("value", "low", "high"):
        both = getattr(given["combined"], end)
        if both > min(getattr(given["alice"], end), getattr(given["bob"], end)):
            here = (*path, "combined") if isinstance(fractions.combined, float) else (*path, "combined", end)
            what = "the fraction in both files cannot be larger than the fraction in either"
            yield ValidationIssue(here, what, f"{both:g}")
            return


def quality_issues(content: SpecificationContent) -> Iterator[ValidationIssue]:
    quality, assignment = content.quality, content.links.assignment
    if quality is None:
        return
    if content.latent is not None:
        what = "the extended latent step decides again, and these estimates are of the decision before it"
        yield ValidationIssue(("quality",), what, remedy="drop `quality`, or `latent`")
    if quality.decoys is not None and assignment in ("many_to_one", "one_to_many", "none"):
        what = "where a record may have several links, a decoy is linked with the match of the record it was made from"
        remedy = "use a check field, or link one_to_one"
        yield ValidationIssue(("quality", "decoys"), what, f"links.assignment {assignment}", remedy)
    if quality.check_field is not None:
        yield from _check_field(quality.check_field, content)


def _check_field(name: str, content: SpecificationContent) -> Iterator[ValidationIssue]:
    path = ("quality", "check_field")
    positions = {field.name: position for position, field in enumerate(content.fields)}
    if name not in positions:
        yield ValidationIssue(path, "no field has this name", shown(name), nearest(name, positions))
        return
    if len(positions) < 3:
        what, remedy = "fewer than two other fields are compared", "compare more fields, or drop the check"
        yield ValidationIssue(path, what, shown(name), remedy)
    used = [f"blocking rule {rule.name}" for rule in content.blocking if name in rule.fields]
    used += [f"the exchange of {first} and {second}" for first, second in content.swaps if name in (first, second)]
    used += [f"the salt of {field.name}" for field in content.fields if field.salt and field.salt.field == name]
    if used:
        what = f"the check field must be held out, but is used by {listed(used)}"
        yield ValidationIssue(path, what, shown(name), "drop it there, or check by another field")
    field = content.field(name)
    if field.salt is not None:
        what = (
            f"its signatures agree only where {field.salt.words} does too, so errors there would count as false links"
        )
        yield ValidationIssue(path, what, shown(name), "drop the salt, or check by another field")
    for option, is_set in (("value_frequencies", field.value_frequencies), ("missing_as", field.missing_as == "level")):
        if is_set:
            what = "the check field has no weight that this could change"
            yield ValidationIssue(("fields", positions[name], option), what, remedy="drop it")


def release_issues(content: SpecificationContent) -> Iterator[ValidationIssue]:
    """A joint distribution that does not exist, or is granted to a custodian that receives nothing; exact
    probabilities of no pairs; draws of a model that has none."""
    release, latent, scheme = content.release, content.latent, content.model.scheme
    if release.joint != "none" and latent is None:
        what = "without a latent step there is no joint distribution to receive"
        yield ValidationIssue(("release", "joint"), what, release.joint, "drop it, or add the section `latent`")
    for side in Side:
        grant = getattr(release, str(side))
        if release.joint_to(side) and grant == "nothing":
            what = f"{side} receives nothing, and therefore no joint distribution"
            yield ValidationIssue(("release", "joint"), what, release.joint, f"grant {side} statistics at least")
        if release.exact_to(side) and side not in release.recipients_of_pairs:
            what = f"{side} receives no pairs, and therefore no probabilities of pairs"
            where, remedy = ("release", "exact_probabilities"), f"grant {side} links, or leave {side} out"
            yield ValidationIssue(where, what, release.exact_probabilities, remedy)
        if grant == "draws" and latent is not None:
            what = "linkages are drawn from the Fellegi-Sunter model, not from that of the latent step"
            yield ValidationIssue(("release", str(side)), what, "draws", "grant links or pairs, or drop `latent`")
        if grant == "draws" and not SCHEMES[scheme].calibrated:
            what = f"linkages are drawn by their probabilities, and those of scheme {scheme} are not calibrated"
            yield ValidationIssue(("release", str(side)), what, "draws", "grant links or pairs, or change the scheme")


RESERVED = ("identifier", "link_id", "pair_id", "link_probability", "linked", "draw", *(str(side) for side in Side))
_NO_RECIPIENTS = ("carole", "coordinator", "steward")


def granted_variables_issues(content: SpecificationContent) -> Iterator[ValidationIssue]:
    release = content.release
    if not release.variables:
        return
    if content.links.assignment == "clusters":
        what = (
            "under the assignment clusters columns would show how many records the other file has of a person, which a"
            " share keeps back"
        )
        remedy = "drop the grants, or choose another assignment"
        yield ValidationIssue(("release", "variables"), what, "assignment clusters", remedy)
    seen: set[str] = set()
    for position, grant in enumerate(release.variables):
        path = ("release", "variables", position)
        if grant.to in seen:
            yield ValidationIssue((*path, "to"), "the recipient is named twice", grant.to, "join the two grants")
        seen.add(grant.to)
        yield from _recipient_issues(release, grant, path)
        for side in Side:
            identifier = content.custodians.of(side).identifier
            yield from _column_issues(grant.columns_of(side), identifier, (*path, str(side)))


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
        what = "an analyst receives the custodians' link probabilities, and none that is exact"
        got = f"exact_probabilities {release.exact_probabilities}"
        yield ValidationIssue(path, what, got, "set `exact_probabilities: none`, or drop the analyst")


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
