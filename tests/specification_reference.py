"""The reference of `linkage.yaml`: every option of every section with its values, default and meaning, from the model.

`docs/specification.md` contains it; only the text above it is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic.fields import FieldInfo

from gemel.common.specification.model.content import PROJECT_PATTERN, SpecificationContent
from gemel.common.specification.model.defaults import KINDS, LEVELS, STEPS
from gemel.common.specification.model.granted_variables import MEMBER_PATTERN
from gemel.common.specification.model.section import NAME_PATTERN, Section

_PATTERNS = {
    NAME_PATTERN: "name",
    PROJECT_PATTERN: "1 to 64 of a-z, 0-9 and -, not beginning with -",
    MEMBER_PATTERN: "1 to 32 of a-z, 0-9 and -, neither beginning nor ending with -",
}
_RANGE = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
    "multipleOf": "a multiple of",
}
_COMPUTED = {"key_domain": "the field's `name`"}
"""Defaults taken from another option than the field's kind."""


def specification_reference() -> str:
    """The sections of a specification as Markdown: a heading, a sentence and a table of options for each. A section
    that occurs in several places has one heading, which names all of them."""
    places: dict[type[Section], list[str]] = {}
    _collect(SpecificationContent, "", places)
    headings = {section.__name__: ", ".join(f"`{path}`" for path in paths) for section, paths in places.items()}
    schema = SpecificationContent.model_json_schema()
    definitions = {"SpecificationContent": schema, **schema["$defs"]}
    lines = ["## Top level", "", *_table(SpecificationContent, schema, headings)]
    for section in places:
        purpose = " ".join((section.__doc__ or "").split())
        lines += ["", f"## {headings[section.__name__]}", "", purpose, ""]
        lines += _table(section, definitions[section.__name__], headings)
    return "\n".join([*lines, "", *_kinds(), "", *_steps(), "", *_levels()]) + "\n"


def _collect(section: type[Section], path: str, places: dict[type[Section], list[str]]) -> None:
    """Sections below one, in the order of the document, with the places where each occurs."""
    for name, field in section.model_fields.items():
        here = f"{path}.{name}" if path else name
        for inner in _sections(field.annotation):
            known = inner in places
            places.setdefault(inner, []).append(here)
            if not known:
                _collect(inner, here, places)


def _sections(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for argument in get_args(annotation):
        yield from _sections(argument)


def _table(section: type[Section], schema: Mapping[str, Any], headings: Mapping[str, str]) -> Iterator[str]:
    yield "| option | values | default | meaning |"
    yield "|---|---|---|---|"
    for name, field in section.model_fields.items():
        entry = schema["properties"][name]
        meaning = " ".join(entry.get("description", "").split())
        values = _values(entry, headings)
        yield "| " + " | ".join(_cell(text) for text in (f"`{name}`", values, _default(name, field), meaning)) + " |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _default(name: str, field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is dict:
        return "none"
    if field.default_factory is not None:
        return _COMPUTED.get(name, "by `kind`")
    if isinstance(field.default, Section):
        return "its defaults"
    if field.default is None or field.default == ():
        return "none"
    if isinstance(field.default, tuple):
        return f"`[{', '.join(map(str, field.default))}]`"
    return f"`{str(field.default).lower() if isinstance(field.default, bool) else field.default}`"


def _values(schema: Mapping[str, Any], headings: Mapping[str, str]) -> str:
    """The values that a JSON Schema allows, in words."""
    if "$ref" in schema:
        heading = headings[schema["$ref"].rpartition("/")[2]]
        anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        return f"[{heading.split(', ')[0]}](#{anchor})"
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(_values(one, headings) for one in schema[several] if one.get("type") != "null")
    if "allOf" in schema:
        return _values(schema["allOf"][0], headings)
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    match schema.get("type"):
        case "array" if "prefixItems" in schema:
            return f"list of {len(schema['prefixItems'])}: {_values(schema['prefixItems'][0], headings)} each"
        case "array":
            return f"list{_bounds(schema, 'minItems', 'maxItems')} of {_values(schema['items'], headings)}"
        case "object":
            (of,) = schema.get("patternProperties", {"": schema.get("additionalProperties")}).values()
            return f"mapping of names to {_values(of, headings)}"
        case "boolean":
            return "`true`, `false`"
        case "string":
            return _PATTERNS.get(schema.get("pattern", ""), f"text{_bounds(schema, 'minLength', 'maxLength')}")
        case "integer" | "number" as kind:
            return ("whole number" if kind == "integer" else "number") + _range(schema)
    raise ValueError(f"no words for {schema}")


def _bounds(schema: Mapping[str, Any], minimum: str, maximum: str) -> str:
    if minimum in schema and maximum in schema:
        return f" ({schema[minimum]} to {schema[maximum]:,})"
    if maximum in schema:
        return f" (at most {schema[maximum]:,})"
    return f" (at least {schema[minimum]})" if minimum in schema else ""


def _range(schema: Mapping[str, Any]) -> str:
    # Bounds of the machine's numbers rather than of the option are not shown.
    bounds = {key: f"{schema[key]:,g}" for key in _RANGE if abs(schema.get(key, 2**63)) < 2**63}
    if {"minimum", "maximum"} <= set(bounds):
        bounds["minimum"] += f" to {bounds.pop('maximum')}"
        words = {**_RANGE, "minimum": ""}
    else:
        words = _RANGE
    return "".join(f", {words[key]} {bound}".replace("  ", " ") for key, bound in bounds.items())


def _kinds() -> Iterator[str]:
    common = [code for code in KINDS["name"].missing if all(code in given.missing for given in KINDS.values())]
    yield from ("## Kinds of fields", "", "The defaults of a field by its `kind`.", "")
    yield from ("| kind | holds | describes | clean | tokens | levels | bits |", "|---|---|---|---|---|---|---:|")
    for kind, given in KINDS.items():
        clean = ", ".join(given.clean)
        holds = f"{given.meaning} | {given.describes}"
        yield f"| `{kind}` | {holds} | {clean} | {given.tokens} | {given.levels} | {given.bits} |"
    yield from ("", "## Values taken as missing", "", "Whatever their capitals; a field adds its own by `missing`.", "")
    yield from ("| kind | values |", "|---|---|", f"| all | {_codes(common)} |")
    for kind, given in KINDS.items():
        if others := [code for code in given.missing if code not in common]:
            yield f"| `{kind}` also | {_codes(others)} |"


def _codes(codes: list[str]) -> str:
    return ", ".join(f"`{code}`" for code in codes)


def _steps() -> Iterator[str]:
    yield from ("## Cleaning steps", "", "They run in this order.", "", "| step | does |", "|---|---|")
    yield from (f"| `{step}` | {does} |" for step, does in STEPS.items())


def _levels() -> Iterator[str]:
    yield from ("## Tables of levels", "", "| name | inclusive upper bounds of similarity |", "|---|---|")
    yield from (f"| `{name}` | {', '.join(f'{bound:g}' for bound in bounds)} |" for name, bounds in LEVELS.items())
