"""Checks of what the linkage unit may coarsen: ladders of known variables, each step coarser than the one before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gemel.common.language.message_words import nearest, shown
from gemel.common.specification.model.protection import (
    DROP,
    CoarseningStep,
    Protect,
    grouped,
    partitions,
    step_name,
)
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
