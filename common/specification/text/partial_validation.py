"""The issues between values of a document some of whose values have the wrong type.

All errors are to be reported at once. So a field with a value of the wrong type is checked without that value, and
issues that may only arise because the value was left out are not reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from gemel.common.parties import Side
from gemel.common.specification.model.blocking import RULE_KINDS, BlockingRule
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.latent import LatentSpec
from gemel.common.specification.model.section import Section
from gemel.common.specification.model.variables import VariableSpec
from gemel.common.specification.validation.consistency import SoundSections, issues_between
from gemel.common.validation_issues import FOLLOWS_FROM_ANOTHER, ValidationIssue

S = TypeVar("S", bound=Section)


def issues_despite_types(data: Mapping[str, Any]) -> list[ValidationIssue]:
    """The issues between the valid values of a document that does not fit the model."""
    fields, spoilt = _sound(FieldSpec, data.get("fields"), "field")
    rules, spoilt_rules = _sound(BlockingRule, data.get("blocking"), "rule")
    for position, gone in spoilt_rules.items():
        # Without its keys or bands there is nothing in a rule to check.
        if gone & set(RULE_KINDS):
            del rules[position]
    variables, spoilt_variables = _sound(VariableSpec, data.get("variables"), "variable")
    latent, _ = _sound(LatentSpec, [data.get("latent")], "latent")
    fields_given = data.get("fields")
    variables_given = data.get("variables")

    def is_sure(issue: ValidationIssue) -> bool:
        section, position, key = (*issue.path, "", "", "")[:3]
        if section == "variables" and position != "":
            return key not in spoilt_variables.get(int(position), ())
        if section != "fields" or not spoilt:
            return True
        gone = spoilt.get(int(position), frozenset()) if position != "" else frozenset()
        return key != "key_domain" and key not in gone and not (key == "stop_words" and "clean" in gone)

    sections = SoundSections(
        fields,
        rules,
        variables,
        data.get("mode"),
        data.get("swaps"),
        data.get("padding"),
        _identifiers(data.get("custodians")),
        latent.get(0),
        other_names=frozenset(
            str(item.get("name")) if isinstance(item, dict) else "?"
            for position, item in enumerate(fields_given if isinstance(fields_given, list) else ["?"])
            if position not in fields or "name" in spoilt.get(position, ())
        ),
        other_rules=bool(data.get("blocking")),
        other_variables=(isinstance(variables_given, list) and len(variables_given) > len(variables))
        or any("holder" in gone for gone in spoilt_variables.values()),
    )
    return [issue for issue in issues_between(sections) if is_sure(issue)]


def _identifiers(custodians: object) -> dict[Side, str]:
    """The identifier columns, where the document names them correctly."""
    found = {}
    for side in Side:
        custodian = custodians.get(str(side)) if isinstance(custodians, dict) else None
        identifier = custodian.get("identifier") if isinstance(custodian, dict) else None
        if isinstance(identifier, str):
            found[side] = identifier
    return found


def _sound(section: type[S], listed: object, stand_in: str) -> tuple[dict[int, S], dict[int, frozenset[str]]]:
    """Sections by position, and the keys of values of the wrong type, which were left out."""
    sound: dict[int, S] = {}
    spoilt: dict[int, frozenset[str]] = {}
    for position, item in enumerate(listed if isinstance(listed, list) else []):
        try:
            sound[position] = section.model_validate(item)
        except ValidationError as error:
            if not isinstance(item, dict):
                continue
            keys = frozenset(
                str(detail["loc"][0]) for detail in error.errors() if detail["type"] != FOLLOWS_FROM_ANOTHER
            )
            rest: dict[str, Any] = {key: value for key, value in item.items() if key not in keys}
            try:
                sound[position] = section.model_validate({"name": f"{stand_in}-{position}", **rest})
            except ValidationError:
                continue
            spoilt[position] = keys
    return sound, spoilt
