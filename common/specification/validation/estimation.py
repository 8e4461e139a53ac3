"""What the section `model` must make together with the compared fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tryst.common.specification.model.content import ModelSpec
from tryst.common.specification.model.fields import FieldSpec
from tryst.common.specification.model.schemes import SCHEMES
from tryst.common.validation_issue import ValidationIssue


def estimation_issues(model: ModelSpec, fields: Mapping[int, FieldSpec]) -> Iterator[ValidationIssue]:
    """Frequencies of values under a scheme whose weights are no ratios of probabilities."""
    if SCHEMES[model.scheme].calibrated:
        return
    for position, field in fields.items():
        if field.value_frequencies:
            yield ValidationIssue(
                ("fields", position, "value_frequencies"),
                "a shaded weight is no ratio of probabilities that a value's frequency could enter",
                f"model.scheme {model.scheme}",
                "drop it, or use the multinomial scheme",
            )
