"""Checks of the section `model` against the compared fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gemel.common.specification.model.content import ModelSpec
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.schemes import SCHEMES
from gemel.common.validation_issue import ValidationIssue

MIN_AGREEMENT = 0.5
"""Believed agreement from which a field speaks for a match."""


def estimation_issues(model: ModelSpec, fields: Mapping[int, FieldSpec]) -> Iterator[ValidationIssue]:
    """Beliefs about fields, and value frequencies under a scheme whose weights are not ratios of probabilities."""
    names = {field.name for field in fields.values()}
    believed: set[str] = set()
    for position, one in enumerate(model.m_prior):
        if one.field not in names:
            yield ValidationIssue(
                ("model", "m_prior", position, "field"),
                "something is believed of a field that is not compared",
                repr(one.field),
                f"name compared fields only: {', '.join(sorted(names))}",
            )
        if one.field in believed:
            yield ValidationIssue(
                ("model", "m_prior", position, "field"),
                "two beliefs about one field contradict each other",
                repr(one.field),
                "state one of them",
            )
        believed.add(one.field)
    if names and names <= {one.field for one in model.m_prior if one.agreement < MIN_AGREEMENT}:
        yield ValidationIssue(
            ("model", "m_prior"),
            "the beliefs contradict each other: by them matches differ on every field, and nothing identifies a person",
            "an agreement below one half for every field",
            "believe an agreement above one half of the fields that one person's records share",
        )
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
