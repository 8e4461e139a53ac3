"""Checks of the section `quality`: a check field must be held out, and decoys need links of one record to one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gemel.common.language.message_words import listed, nearest, shown
from gemel.common.specification.model.blocking import BlockingRule
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.latent import LatentSpec
from gemel.common.specification.model.quality import QualitySpec
from gemel.common.validation_issues import ValidationIssue


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
