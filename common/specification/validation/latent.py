"""Checks of the extended latent step, and of mode shared, against the rest of a specification."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.language.message_words import nearest, shown
from gemel.common.parties import Side
from gemel.common.specification.model.assessment import PriorsSpec
from gemel.common.specification.model.blocking import WEIGHT_COLUMNS
from gemel.common.specification.model.content import SpecificationContent
from gemel.common.specification.model.defaults import IN_BLOCKS
from gemel.common.specification.model.latent import LatentSpec
from gemel.common.specification.model.resolution import ComputeSpec
from gemel.common.specification.validation.sections import SoundSections, repeated
from gemel.common.validation_issues import DocumentPath, ValidationIssue


def latent_issues(sections: SoundSections) -> Iterator[ValidationIssue]:
    latent, variables = sections.latent, sections.variables.values()
    if latent is None:
        return
    for position, key in enumerate(latent.keys):
        yield from _key_issues(key, ("latent", "keys", position), sections)
        if key in latent.keys[:position]:
            what = "the key is named already"
            yield ValidationIssue(("latent", "keys", position), what, shown(key), "drop one of them")
    for name, field in sections.by_name.items():
        if field.value_frequencies and name not in latent.keys:
            what = "value_frequencies and the extended latent step cannot be combined"
            remedy = f"name {name} among `latent.keys` instead, which does the same"
            yield ValidationIssue(("latent",), what, f"field {name}", remedy)
    yield from _known_file_issues(latent, sections)
    if latent.priors is not None:
        yield from _prior_issues(latent, latent.priors, sections)
    holders = {variable.holder for variable in variables} & {"alice", "bob"}
    if not latent.keys and not sections.unsure and len(holders) < 2:
        remedy = "add `variables` that Alice holds and others that Bob holds, or name compared fields as `keys`"
        what, got = "there are no values to use of a pair", "no variables of one file and no keys"
        if holders:
            what = "the values of one file alone are no evidence on a pair"
            got = f"variables of {holders.pop()} and no keys"
        yield ValidationIssue(("latent",), what, got, remedy)


def _key_issues(key: str, path: DocumentPath, sections: SoundSections) -> Iterator[ValidationIssue]:
    both = {variable.name for variable in sections.variables.values() if variable.holder == "both"}
    # A resolver is sent the codes of variables, and of no name or address.
    if sections.mode in IN_BLOCKS and key not in both and not sections.unsure:
        what = (
            f"in mode {sections.mode} a key must be among the variables of both files: whoever resolves would see how"
            " often each value of another field occurs, and recognise names by it"
        )
        remedy = "drop it here, or list its categories under `variables`, held by both"
        yield ValidationIssue(path, what, shown(key), remedy)
    field = sections.by_name.get(key)
    if field is None:
        if not sections.unsure:
            yield from sections.unknown_field(key, path)
        return
    if field.value_frequencies:
        what = "its value would count twice, here and by its value_frequencies"
        yield ValidationIssue(path, what, shown(key), "drop one of the two")
    if field.randomised_response:
        what = "exact agreement cannot be observed in a field with randomised response"
        yield ValidationIssue(path, what, shown(key), "drop it here, or set its randomised_response to 0")


def resolved_latent_issues(content: SpecificationContent) -> Iterator[ValidationIssue]:
    """Issues between the latent step and how rows are joined in modes block_keyed and shared."""
    if content.latent is None or not content.in_blocks:
        return
    if content.resolution.joined:
        what = "the linkage unit must not join codes to signatures, as it would if it resolved"
        yield ValidationIssue(("latent",), what, "resolution by carole", "drop one of the two")
    if content.padding is not None:
        what = "dummy records have no values, so that pairs of dummies would be known by their probabilities"
        yield ValidationIssue(("latent",), what, "padding", "drop one of the two")


def _known_file_issues(latent: LatentSpec, sections: SoundSections) -> Iterator[ValidationIssue]:
    """Files that have no use: of a model without categories, or beside a distribution that is not estimated."""
    columns = [v.name for v in sections.variables.values() if v.holder != "both" or v.name in latent.keys]
    for name in ("training", "joint"):
        if getattr(latent, name) is not None and not columns and not sections.unsure:
            what = "its file would have no column: no variable of the value model has categories"
            remedy = "add `variables`, or drop it; a key that is only a compared field is no column"
            yield ValidationIssue(("latent", name), what, remedy=remedy)
    if latent.joint is None:
        return
    for column in columns:
        if column.casefold() in WEIGHT_COLUMNS:
            what = f"the file of a known joint distribution has a column `{column}` for what a cell counts"
            yield ValidationIssue(("latent", "joint"), what, shown(column), "rename the variable")
    if latent.training is not None:
        what = "a joint distribution that is known is not estimated from training records"
        yield ValidationIssue(("latent", "training"), what, "joint and training", "drop one of the two")
    if latent.rounds:
        what = "a joint distribution that is known is not estimated again"
        yield ValidationIssue(("latent", "rounds"), what, str(latent.rounds), "drop it, or drop `joint`")
    if latent.separate:
        what = "separate models of each file's values are estimated, and the joint distribution is known"
        yield ValidationIssue(("latent", "separate"), what, "true", "drop it, or drop `joint`")


def _prior_issues(latent: LatentSpec, priors: PriorsSpec, sections: SoundSections) -> Iterator[ValidationIssue]:
    for name, beliefs in (("m", priors.m), ("u", priors.u)):
        names = [belief.field for belief in beliefs]
        path = ("latent", "priors", name)
        for position, field in enumerate(names):
            if field not in sections.by_name and not sections.unsure:
                what = "something is believed of a field that is not compared"
                remedy = nearest(field, sections.by_name)
                yield ValidationIssue((*path, position, "field"), what, shown(field), remedy)
        for position, _ in repeated(enumerate(names)):
            what, got = "two beliefs about one field contradict each other", shown(names[position])
            yield ValidationIssue((*path, position, "field"), what, got, "state one of them")
    if priors.p is not None and latent.p == "held":
        what = "p is held at the Fellegi-Sunter estimate, and a belief about it has no effect"
        yield ValidationIssue(("latent", "priors", "p"), what, remedy="set `latent.p` to free, or drop it")


_OTHERS = {
    **{str(side): f"{side} is a custodian, who has one of the files" for side in Side},
    "carole": "carole, the linkage unit, is the third of the parties that compute already",
}


def shared_issues(content: SpecificationContent) -> Iterator[ValidationIssue]:
    """Every issue of the section `compute`, and of what mode shared cannot measure."""
    compute, assessment = content.compute, content.assessment
    if content.mode != "shared":
        if compute != ComputeSpec():
            what, remedy = (
                "three parties compute together in mode shared only",
                "drop the section, or set `mode: shared`",
            )
            yield ValidationIssue(("compute",), what, f"mode {content.mode}", remedy)
        return
    if compute.coordinator == compute.steward:
        what = "one member would hold all three shares, and with them every signature"
        remedy = "name a steward of another organisation"
        yield ValidationIssue(("compute", "steward"), what, shown(compute.steward), remedy)
    else:
        analysts = {transfer.to for transfer in content.release.transfers if transfer.to_analyst}
        for role, name in (("coordinator", compute.coordinator), ("steward", compute.steward)):
            what = _OTHERS.get(name) or (f"{name} is an analyst, who receives columns" if name in analysts else "")
            if what:
                yield ValidationIssue(("compute", role), what, shown(name), f"name a member with the role {role}")
    if assessment is not None and assessment.near_copies != 1:
        what = "in mode shared no one sees which rows of one file resemble each other, and near-copies are not counted"
        got = f"a limit of {assessment.near_copies:g}"
        remedy = "write `near_copies: 1`, which all sign, or link in mode block_keyed"
        yield ValidationIssue(("assessment", "near_copies"), what, got, remedy)
