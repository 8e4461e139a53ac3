"""Checks of the extended latent step against the rest of a specification."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gemel.common.language.message_words import nearest, shown
from gemel.common.parties import Side
from gemel.common.specification.model.assessment import AssessmentSpec, MPriorSpec, PriorsSpec, UPriorSpec
from gemel.common.specification.model.blocking import WEIGHT_COLUMNS
from gemel.common.specification.model.content import ReleaseSpec, SpecificationContent
from gemel.common.specification.model.defaults import IN_BLOCKS, Mode
from gemel.common.specification.model.latent import LatentSpec
from gemel.common.specification.model.resolution import ComputeSpec
from gemel.common.specification.model.variables import VariableSpec
from gemel.common.validation_issues import ValidationIssue


def latent_issues(
    latent: LatentSpec, variables: Iterable[VariableSpec], fields: Mapping[str, object], unsure: bool, mode: object
) -> Iterator[ValidationIssue]:
    """Every issue between the latent section and the rest."""
    if mode in IN_BLOCKS:
        yield from _keys_apart(latent, variables, unsure, mode)
    for position, key in enumerate(latent.keys):
        if key not in fields and not unsure:
            what = "no compared field has this name"
            yield ValidationIssue(("latent", "keys", position), what, shown(key), nearest(key, fields))
        if getattr(fields.get(key), "value_frequencies", False):
            what = "its value would count twice, here and by its value_frequencies"
            yield ValidationIssue(("latent", "keys", position), what, shown(key), "drop one of the two")
        if getattr(fields.get(key), "randomised_response", 0.0):
            what = "exact agreement cannot be observed in a field with randomised response"
            remedy = "drop it here, or set its randomised_response to 0"
            yield ValidationIssue(("latent", "keys", position), what, shown(key), remedy)
        if key in latent.keys[:position]:
            yield ValidationIssue(
                ("latent", "keys", position), "the key is named already", shown(key), "drop one of them"
            )
    for key, field in fields.items():
        if getattr(field, "value_frequencies", False) and key not in latent.keys:
            what = "value_frequencies and the extended latent step cannot be combined"
            yield ValidationIssue(
                ("latent",), what, f"field {key}", f"name {key} among `latent.keys` instead, which does the same"
            )
    known = list(variables)
    yield from _known_file_issues(latent, known, unsure)
    if latent.priors is not None:
        yield from _prior_issues(latent, latent.priors, fields, unsure)
    held = {variable.holder for variable in known}
    if not latent.keys and not unsure and not {"alice", "bob"} <= held:
        one = held & {"alice", "bob"}
        yield ValidationIssue(
            ("latent",),
            "the values of one file alone are no evidence on a pair" if one else "there are no values to use of a pair",
            f"variables of {one.pop()} and no keys" if one else "no variables of one file and no keys",
            "add `variables` that Alice holds and others that Bob holds, or name compared fields as `keys`",
        )


def _keys_apart(
    latent: LatentSpec, variables: Iterable[VariableSpec], unsure: bool, mode: object
) -> Iterator[ValidationIssue]:
    """Keys whose values a resolver does not have: it is sent the codes of variables, and of no name or address."""
    both = {variable.name for variable in variables if variable.holder == "both"}
    for position, key in enumerate(latent.keys):
        if key not in both and not unsure:
            yield ValidationIssue(
                ("latent", "keys", position),
                f"in mode {mode} a key must be among the variables of both files: whoever resolves would see how"
                " often each value of another field occurs, and recognise names by it",
                shown(key),
                "drop it here, or list its categories under `variables`, held by both",
            )


def resolved_latent_issues(
    latent: LatentSpec | None, mode: object, padding: object, joined: bool
) -> Iterator[ValidationIssue]:
    """Issues between the latent step and how rows are joined in modes block_keyed and shared."""
    if latent is None or mode not in IN_BLOCKS:
        return
    if joined:
        yield ValidationIssue(
            ("latent",),
            "the linkage unit must not join codes to signatures, as it would if it resolved",
            "resolution by carole",
            "drop one of the two",
        )
    if padding is not None:
        yield ValidationIssue(
            ("latent",),
            "dummy records have no values, so that pairs of dummies would be known by their probabilities",
            "padding",
            "drop one of the two",
        )


def _known_file_issues(
    latent: LatentSpec, variables: Sequence[VariableSpec], unsure: bool
) -> Iterator[ValidationIssue]:
    """Files that have no use: of a model without categories, or beside a distribution that is not estimated."""
    columns = [variable for variable in variables if variable.holder != "both" or variable.name in latent.keys]
    for name, file in (("training", latent.training), ("joint", latent.joint)):
        if file is not None and not columns and not unsure:
            what = "its file would have no column: no variable of the value model has categories"
            remedy = "add `variables`, or drop it; a key that is only a compared field is no column"
            yield ValidationIssue(("latent", name), what, remedy=remedy)
    if latent.joint is None:
        return
    for variable in columns:
        if variable.name.casefold() in WEIGHT_COLUMNS:
            what = f"the file of a known joint distribution has a column `{variable.name}` for what a cell counts"
            yield ValidationIssue(("latent", "joint"), what, shown(variable.name), "rename the variable")
    if latent.training is not None:
        what = "a joint distribution that is known is not estimated from training records"
        yield ValidationIssue(("latent", "training"), what, "joint and training", "drop one of the two")
    if latent.rounds:
        what = "a joint distribution that is known is not estimated again"
        yield ValidationIssue(("latent", "rounds"), what, str(latent.rounds), "drop it, or drop `joint`")
    if latent.separate:
        what = "separate models of each file's values are estimated, and the joint distribution is known"
        yield ValidationIssue(("latent", "separate"), what, "true", "drop it, or drop `joint`")


def _prior_issues(
    latent: LatentSpec, priors: PriorsSpec, fields: Mapping[str, object], unsure: bool
) -> Iterator[ValidationIssue]:
    believed: tuple[tuple[str, Sequence[MPriorSpec | UPriorSpec]], ...] = (("m", priors.m), ("u", priors.u))
    for name, beliefs in believed:
        seen: set[str] = set()
        for position, one in enumerate(beliefs):
            path = ("latent", "priors", name, position, "field")
            if one.field not in fields and not unsure:
                what = "something is believed of a field that is not compared"
                yield ValidationIssue(path, what, shown(one.field), nearest(one.field, fields))
            if one.field in seen:
                what = "two beliefs about one field contradict each other"
                yield ValidationIssue(path, what, shown(one.field), "state one of them")
            seen.add(one.field)
    if priors.p is not None and latent.p == "held":
        what = "p is held at the Fellegi-Sunter estimate, and a belief about it has no effect"
        yield ValidationIssue(("latent", "priors", "p"), what, remedy="set `latent.p` to free, or drop it")


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
