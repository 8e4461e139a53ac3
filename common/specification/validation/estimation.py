"""Checks of the section `model` against the compared fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tryst.common.specification.model.content import ModelSpec
from tryst.common.specification.model.fields import FieldSpec
from tryst.common.specification.model.schemes import SCHEMES
from tryst.common.validation_issue import ValidationIssue


def estimation_issues(model: ModelSpec, fields: Mapping[int, FieldSpec]) -> Iterator[ValidationIssue]:
    """Value frequencies under a scheme whose weights are not ratios of probabilities."""
    if SCHEMES[model.scheme].calibrated:
        return
    for position, field in fields.items():
        if field.value_frequencies:
            yield ValidationIssue(
                ("fields", position, "value_frequencies"),
                "value frequencies need weights that are ratios of probabilities, which shaded weights are not",
                f"model.scheme {model.scheme}",
                "drop it, or use the multinomial scheme",
            )
