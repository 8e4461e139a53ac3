"""Issues of a document: path, what is wrong, the value found and the remedy; pydantic's errors in these words."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from gemel.common.errors import MAX_SHOWN, ErrorCode, GemelError
from gemel.common.language.message_words import listed, nearest, shown

DocumentPath = tuple[str | int, ...]
"""Keys and list positions from the top of a document, such as ``("fields", 2, "levels")``."""


@dataclass(frozen=True)
class ValidationIssue:
    """One thing to correct in a document."""

    path: DocumentPath
    what: str
    got: str = ""
    remedy: str = ""

    def error(self, code: ErrorCode, line: int | None = None) -> GemelError:
        """The issue as an error of a kind, with its line in the file when it is known."""
        where = path_text(self.path)
        if line is not None:
            where = f"line {line}, {where}" if where else f"line {line}"
        return GemelError(code, self.what, where=where, got=self.got, remedy=self.remedy)


def path_text(path: DocumentPath) -> str:
    """A path as people write it: ``fields[2].levels``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


FOLLOWS_FROM_ANOTHER = "default_factory_not_called"
"""Pydantic's type of an error that only follows from another wrong value, from which a default is taken."""

MAX_PROPOSED = 2 * MAX_SHOWN
"""Of so many unknown keys the nearest known one is looked for; an error shows fewer."""

_WORDS = {
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "tuple_type": "must be a list",
    "model_type": "must be a mapping (`key: value`)",
    "string_pattern_mismatch": "has characters or a length that a name cannot have",
    "string_too_short": "must not be empty",
    "too_short": "has too few entries",
    "too_long": "has too many entries",
}
_REMEDIES = {
    "int_type": "write decimal digits without quotes, leading zeros, _ or :",
    "float_type": "write decimal digits, such as 0.5 or 1e-8, without quotes",
    "bool_type": "write true or false, without quotes",
}


def type_issues(
    error: ValidationError,
    model: type[BaseModel],
    present: Container[DocumentPath],
    remedies: Mapping[str, str] = MappingProxyType({}),
) -> list[ValidationIssue]:
    """The issues of a document that does not fit a model, whose keys are proposed for one that is not known. `present`
    are the paths that the document has; remedies are by key. O(issues * depth of the document)."""
    issues: dict[DocumentPath, ValidationIssue] = {}
    unknown = 0
    for detail in error.errors(include_url=False):
        kind = detail["type"]
        if kind == FOLLOWS_FROM_ANOTHER:
            continue
        path = _in_document(detail["loc"], present, kind)
        key = next((part for part in reversed(path) if isinstance(part, str)), "")
        remedy = remedies.get(key, "")
        if kind == "extra_forbidden":
            unknown += 1
            proposed = nearest(key, _keys_at(model, path[:-1])) if unknown <= MAX_PROPOSED else ""
            issue = ValidationIssue(path, "unknown key", shown(key), proposed)
        elif kind == "missing":
            issue = ValidationIssue(path, "is missing", remedy=remedy or f"add `{key}`")
        elif kind == "literal_error":
            issue = _other_word(path, detail["input"], detail["ctx"], remedy)
        elif kind == "union_tag_invalid" and detail["ctx"]["discriminator"].startswith("'"):
            # The tag is the word of a key, not found by a function; pydantic places the error above that key.
            found = detail["ctx"]
            path = (*path, str(found["discriminator"]).strip("'"))
            issue = _other_word(path, found["tag"], {"expected": found["expected_tags"]}, remedy)
        else:
            issue = _mistyped(path, kind, detail["msg"], detail["input"], remedy)
        issues.setdefault(path, issue)
    return _innermost(issues)


def _innermost(issues: Mapping[DocumentPath, ValidationIssue]) -> list[ValidationIssue]:
    """The issues within which there is no other. A list one of whose items is wrong is also reported as too short: the
    item's issue is more precise."""
    enclosing = {path[:length] for path in issues for length in range(len(path))}
    return [issue for path, issue in issues.items() if path not in enclosing]


def _in_document(location: DocumentPath, present: Container[DocumentPath], kind: str) -> DocumentPath:
    """Drop the parts of a location that pydantic adds and the document lacks (the tags of a union's members)."""
    path: DocumentPath = ()
    for position, part in enumerate(location):
        if (*path, part) in present or (kind == "missing" and position == len(location) - 1):
            path = (*path, part)
    return path


def _other_word(path: DocumentPath, got: object, context: Mapping[str, Any], remedy: str) -> ValidationIssue:
    choices = [choice.strip("' ") for choice in str(context["expected"]).replace(" or ", ", ").split(", ")]
    if isinstance(got, str):
        remedy = nearest(got, choices)
    # The alternatives are named already.
    return ValidationIssue(path, f"must be {listed(choices, 'or')}", shown(got), "" if "known" in remedy else remedy)


def _mistyped(path: DocumentPath, kind: str, message: str, got: object, remedy: str) -> ValidationIssue:
    what = _WORDS.get(kind) or message.removeprefix("Value error, ").replace("Input should", "must")
    if kind == "string_type":
        remedy = 'put it in quotes: "..."' if isinstance(got, int | float) else "write one text"
    return ValidationIssue(
        path,
        what[:1].lower() + what[1:],
        shown(got) if kind != "value_error" else "",
        remedy or _REMEDIES.get(kind, ""),
    )


def _keys_at(model: type[BaseModel], path: DocumentPath) -> list[str]:
    """Keys that the model has at a path, in any member of a union there."""
    models = [model]
    for part in path:
        if isinstance(part, str):
            fields = [found.model_fields[part] for found in models if part in found.model_fields]
            models = [inner for field in fields for inner in _models(field.annotation)]
    return list(dict.fromkeys(name for found in models for name in found.model_fields))


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Models that occur in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)
