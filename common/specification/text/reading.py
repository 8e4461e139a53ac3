"""From the text of `linkage.yaml` to a `Specification`, or to all its issues at once.

Wrong types, unknown keys and inconsistent values are reported together, each with its path, its line, the value and a
remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.language.message_words import shown
from gemel.common.parties import Side
from gemel.common.specification.model.blocking import RULE_KINDS, BlockingRule
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.latent import LatentSpec
from gemel.common.specification.model.section import Section
from gemel.common.specification.model.variables import VariableSpec
from gemel.common.specification.validation.consistency import issues_between
from gemel.common.specification.validation.sections import SoundSections
from gemel.common.specification.validation.specification import InconsistentError, Specification
from gemel.common.validation_issues import FOLLOWS_FROM_ANOTHER, ValidationIssue, type_issues
from gemel.common.yaml_document import DocumentKind, read_yaml

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


MAX_BYTES = 256 * 1024

SPECIFICATION_DOCUMENT = DocumentKind("a specification", ErrorCode.SPECIFICATION, MAX_BYTES, shows_values=True)
"""Limits and errors of a specification's text; it is public, so errors show the values read."""

_REMEDIES: dict[str, str] = {
    "version": "write `version: 1`",
    "mode": "write `mode: open`; `trusted` sends the values themselves",
    "comparator": "use jaro or jaro_winkler, in mode trusted only",
    "project": "use 1 to 64 of a-z, 0-9 and -, beginning with a letter or digit",
    "name": "use 1 to 64 letters, digits, _ and -, beginning with a letter",
    "key_domain": "use 1 to 64 letters, digits, _ and -, beginning with a letter",
    "bits": "use a multiple of 64 from 64 to 8192, such as 1024",
    "randomised_response": "use 0, or a probability from 0.001 to 0.4, such as 0.05",
    "padding": "write `powers_of_two`, or drop it; a number of rows is refused, since most candidate pairs would be"
    " with dummies, and their handles would join most records",
    "levels": "use em8, em15, exact, or upper bounds above 0, ascending to 1, such as [0.5, 0.8, 1]",
    "retention": "write `retention: {uploads_days: 7, results_days: 30, maps_days: 90}` with your own numbers",
    "custodians": "write `custodians: {alice: {identifier: COLUMN}, bob: {identifier: COLUMN}}`",
    "identifier": "name the column with the custodian's own identifiers",
    "fields": "list the compared fields, each with `name` and `kind`",
    "kind": "use name, text, date, number, code or category",
    "keys": "list one to eight keys, such as `[{field: surname, prefix: 3}]`",
    "order": "use ymd, dmy or mdy, or each file's own as `{alice: dmy, bob: mdy}`",
    "holder": "use alice, bob or both",
    "categories": "list the variable's categories, at least two, such as [good, fair, poor]",
    "categorisation": "list `{category: ..., alice: [...], bob: [...]}` for each common category",
    "role": "use key, sensitive or other",
}


def read_specification(path: Path) -> Specification:
    """Read a specification from a file, which must be there, not too large and UTF-8; otherwise as
    `load_specification`."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        what, got = "the specification cannot be read", (error.strerror or "unreadable").lower()
        raise GemelError(ErrorCode.SPECIFICATION, what, where=str(path), got=got) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        what = "a specification must be UTF-8 text"
        got = f"another encoding at byte {error.start}"
        raise GemelError(ErrorCode.TEXT_ENCODING, what, where=str(path), got=got, remedy="save it as UTF-8") from None
    return load_specification(text, str(path))


def load_specification(text: str, source: str = "linkage.yaml") -> Specification:
    """The specification that a YAML text holds; `source` names it in errors. Raises `GemelErrors` with one error for
    each issue, in the order of the document."""
    document = read_yaml(text, source, SPECIFICATION_DOCUMENT)
    if not isinstance(document.value, dict):
        got = shown(document.value)
        issue = ValidationIssue((), "a specification must be a mapping", got, "begin with `version: 1`")
        raise document.errors([issue])
    issues = document.repeated
    try:
        spec = Specification.model_validate(document.value)
    except ValidationError as error:
        issues += type_issues(error, Specification, document.lines, _REMEDIES) + issues_despite_types(document.value)
    except InconsistentError as error:
        issues += error.issues
    if issues:
        raise document.errors(issues)
    return spec
