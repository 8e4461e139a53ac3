"""From the text of `linkage.yaml` to a `Specification`, or to every mistake in it at once.

A person who mends one mistake to be told the next one gives up. So the types of all values, unknown keys, and what
values must make together are reported in one go, each with its path, its line, what was got and what to do.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, TypeVar

from pydantic import ValidationError

from tryst.common.errors import ErrorCode, TrystError, TrystErrors
from tryst.common.parties import Side
from tryst.common.specification.blocking import RULE_KINDS, BlockingRule
from tryst.common.specification.checks import InconsistentError, inconsistencies
from tryst.common.specification.document import MAX_BYTES, read_document
from tryst.common.specification.fields import FieldSpec
from tryst.common.specification.latent import LatentSpec
from tryst.common.specification.mistakes import Mistake, Path, nearest, shown
from tryst.common.specification.model import Specification
from tryst.common.specification.section import Section
from tryst.common.specification.variables import VariableSpec

S = TypeVar("S", bound=Section)

_UNION_TAGS = ("table", "bounds", "one", "several", "listed", "spanned", "powers", "multiple")
_FIRST_ASKED = "default_factory_not_called"
_REMEDIES: dict[str, str] = {
    "version": "write `version: 1`",
    "mode": "write `mode: open`; `trusted` sends the values themselves",
    "comparator": "use jaro or jaro_winkler, in mode trusted only",
    "project": "use 1 to 64 of a-z, 0-9 and -, beginning with a letter or digit",
    "name": "use 1 to 64 letters, digits, _ and -, beginning with a letter",
    "key_domain": "use 1 to 64 letters, digits, _ and -, beginning with a letter",
    "bits": "use a multiple of 64 from 64 to 8192, such as 1024",
    "flip": "use 0, or a probability from 0.001 to 0.4, such as 0.05",
    "padding": "use powers_of_two, or a whole number of rows from 2 to 1000, such as 20",
    "levels": "use em8, em15, exact, or upper bounds above 0, ascending to 1, such as [0.5, 0.8, 1]",
    "retention": "write `retention: {uploads_days: 7, results_days: 30, maps_days: 90}` with your own numbers",
    "custodians": "write `custodians: {alice: {identifier: COLUMN}, bob: {identifier: COLUMN}}`",
    "identifier": "name the column with the custodian's own identifiers",
    "fields": "list the compared fields, each with `name` and `kind`",
    "kind": "use name, text, date, number, code or category",
    "keys": "list one to eight keys, such as `[{field: surname, prefix: 3}]`",
    "order": "use ymd, dmy or mdy",
    "holder": "use alice, bob or both",
    "categories": "list the variable's categories, at least two, such as [good, fair, poor]",
    "categorisation": "list `{category: ..., alice: [...], bob: [...]}` for each common category",
    "role": "use key, sensitive or other",
}


def read_specification(path: FilePath) -> Specification:
    """Read a specification from a file.

    Raises
    ------
    TrystError
        If the file is absent, too large or not UTF-8.
    TrystErrors
        As `load_specification`.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or "unreadable"
        raise TrystError(
            ErrorCode.SPECIFICATION, "the specification cannot be read", where=str(path), got=reason.lower()
        ) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TrystError(
            ErrorCode.TEXT_ENCODING,
            "a specification is UTF-8 text",
            where=str(path),
            got=f"another encoding at byte {error.start}",
            remedy="save it as UTF-8",
        ) from None
    return load_specification(text, str(path))


def load_specification(text: str, source: str = "linkage.yaml") -> Specification:
    """The specification that a YAML text holds.

    Parameters
    ----------
    text
        The YAML document.
    source
        What to call it in errors: its file name.

    Raises
    ------
    TrystErrors
        With one error for each mistake, in the order of the document.
    """
    document = read_document(text, source)
    if not isinstance(document.value, dict):
        got = shown(document.value)
        refused = Mistake((), "a specification is a mapping", got, "begin with `version: 1`")
        raise TrystErrors(ErrorCode.SPECIFICATION, [refused.error()], where=source)
    try:
        return Specification.model_validate(document.value)
    except ValidationError as error:
        mistakes = _mistyped(error) + _inconsistent(document.value)
    except InconsistentError as error:
        mistakes = error.mistakes
    numbered = [(document.line(mistake.path), mistake) for mistake in mistakes]
    numbered.sort(key=lambda pair: pair[0] or 0)
    raise TrystErrors(ErrorCode.SPECIFICATION, [m.error(line) for line, m in numbered], where=source)


def _inconsistent(data: Mapping[str, Any]) -> list[Mistake]:
    """The inconsistencies of a document some of whose values are mistyped.

    A field with a mistyped value is checked without that value, and what may only seem inconsistent because the
    value is gone is left out.
    """
    fields, spoilt = _sound(FieldSpec, data.get("fields"), "field")
    rules, spoilt_rules = _sound(BlockingRule, data.get("blocking"), "rule")
    for position, gone in spoilt_rules.items():
        # Without what it is made of a rule says nothing that could be checked.
        if gone & set(RULE_KINDS):
            del rules[position]
    variables, spoilt_variables = _sound(VariableSpec, data.get("variables"), "variable")
    latent, _ = _sound(LatentSpec, [data.get("latent")], "latent")
    listed = data.get("fields")
    other_names = frozenset(
        str(item.get("name")) if isinstance(item, dict) else "?"
        for position, item in enumerate(listed if isinstance(listed, list) else ["?"])
        if position not in fields or "name" in spoilt.get(position, ())
    )

    def is_sure(mistake: Mistake) -> bool:
        section, position, key = (*mistake.path, "", "", "")[:3]
        if section == "variables" and position != "":
            return key not in spoilt_variables.get(int(position), ())
        if section != "fields" or not spoilt:
            return True
        gone = spoilt.get(int(position), frozenset()) if position != "" else frozenset()
        return key != "key_domain" and key not in gone and not (key == "stop_words" and "clean" in gone)

    found = inconsistencies(
        fields,
        rules,
        other_names,
        data.get("mode"),
        data.get("swaps"),
        variables,
        _identifiers(data.get("custodians")),
        latent.get(0),
        _entries(data.get("variables")) > len(variables) or any("holder" in gone for gone in spoilt_variables.values()),
        rules_elsewhere=bool(data.get("blocking")),
        padding=data.get("padding"),
    )
    return [mistake for mistake in found if is_sure(mistake)]


def _entries(listed: object) -> int:
    return len(listed) if isinstance(listed, list) else 0


def _identifiers(custodians: object) -> dict[Side, str]:
    """The identifier columns, where the document names them rightly."""
    found = {}
    for side in Side:
        custodian = custodians.get(str(side)) if isinstance(custodians, dict) else None
        identifier = custodian.get("identifier") if isinstance(custodian, dict) else None
        if isinstance(identifier, str):
            found[side] = identifier
    return found


def _sound(section: type[S], listed: object, stand_in: str) -> tuple[dict[int, S], dict[int, frozenset[str]]]:
    """Sections by position, and of those that had mistyped values the keys of these."""
    sound: dict[int, S] = {}
    spoilt: dict[int, frozenset[str]] = {}
    for position, item in enumerate(listed if isinstance(listed, list) else []):
        try:
            sound[position] = section.model_validate(item)
        except ValidationError as error:
            if not isinstance(item, dict):
                continue
            keys = frozenset(str(detail["loc"][0]) for detail in error.errors() if detail["type"] != _FIRST_ASKED)
            rest: dict[str, Any] = {key: value for key, value in item.items() if key not in keys}
            try:
                sound[position] = section.model_validate({"name": f"{stand_in}-{position}", **rest})
            except ValidationError:
                continue
            spoilt[position] = keys
    return sound, spoilt


def _mistyped(error: ValidationError) -> list[Mistake]:
    mistakes: dict[Path, Mistake] = {}
    for detail in error.errors(include_url=False):
        if detail["type"] == _FIRST_ASKED:
            continue
        path = tuple(part for part in detail["loc"] if part not in _UNION_TAGS)
        mistakes.setdefault(path, _translated(path, detail["type"], detail["msg"], detail["input"], detail.get("ctx")))
    # A list one of whose items is wrong is also reported as too short: the item says it better.
    return [
        mistake
        for path, mistake in mistakes.items()
        if not any(len(other) > len(path) and other[: len(path)] == path for other in mistakes)
    ]


def _translated(path: Path, kind: str, message: str, got: object, context: Mapping[str, Any] | None) -> Mistake:
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    parent = _section_at(path[:-1])
    if kind == "extra_forbidden":
        known = list(parent.model_fields) if parent is not None else []
        return Mistake(path, "unknown key", shown(key), nearest(key, known))
    if kind == "missing":
        return Mistake(path, "is missing", remedy=_REMEDIES.get(key, f"add `{key}`"))
    if kind == "literal_error" and context is not None:
        choices = [choice.strip("' ") for choice in str(context["expected"]).replace(" or ", ", ").split(", ")]
        remedy = nearest(got, choices) if isinstance(got, str) else _REMEDIES.get(key, "")
        return Mistake(path, f"must be {_alternatives(choices)}", shown(got), "" if "known" in remedy else remedy)
    what = _WORDS.get(kind) or message.removeprefix("Value error, ").replace("Input should", "must")
    remedy = _REMEDIES.get(key, "")
    if kind == "string_type":
        remedy = 'put it in quotes: "..."' if isinstance(got, int | float) else "write one text"
    return Mistake(path, what, shown(got) if kind != "value_error" else "", remedy)


_WORDS = {
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


def _alternatives(choices: list[str]) -> str:
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"


def _section_at(path: Path) -> type[Section] | None:
    """The section of the model that a path leads to."""
    section: type[Section] | None = Specification
    for part in path:
        if isinstance(part, str):
            field = section.model_fields.get(part) if section is not None else None
            section = _section_in(field.annotation) if field is not None else None
    return section


def _section_in(annotation: Any) -> type[Section] | None:
    if not typing.get_args(annotation):
        return annotation if isinstance(annotation, type) and issubclass(annotation, Section) else None
    found = (_section_in(argument) for argument in typing.get_args(annotation))
    return next((section for section in found if section is not None), None)
