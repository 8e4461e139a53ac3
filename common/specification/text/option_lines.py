"""An option of a specification as YAML for people, on one line or, where that is too long, on several."""

from __future__ import annotations

import re

from gemel.common.specification.model.section import Section

WIDTH = 100
_DEEPEST = 4
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_. /+-]*(?<! )")
_NOT_TEXT = {"true", "false", "null", "y", "n", "yes", "no", "on", "off"}
"""Words that this reader of YAML, or one of YAML 1.1, does not read as text."""


def entry_lines(key: str, value: object) -> list[str]:
    """The YAML lines of an attribute: one, or for a table also one for each row; a long list is wrapped."""
    if isinstance(value, tuple) and value and key == "categorisation":
        return [f"{key}:", *(f"  - {flow(row)}" for row in value)]
    line = f"{key}: {flow(value)}"
    if len(line) <= WIDTH or key != "only_similar" or not isinstance(value, tuple):
        return [line]
    lines = [f"{key}:", "  ["]
    for word in value:
        entry = f"{flow(word)},"
        if len(lines[-1]) + 1 + len(entry) > WIDTH - _DEEPEST:
            lines.append("  ")
        lines[-1] += entry if lines[-1].endswith(("[", "  ")) else f" {entry}"
    return [*lines[:-1], f"{lines[-1][:-1]}]"]


def _quoted(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08X}"


def flow(value: object, *, all_keys: bool = False) -> str:
    if isinstance(value, Section):
        parts = []
        for key, info in type(value).model_fields.items():
            item = getattr(value, key)
            if (all_keys and item != ()) or info.is_required() or item != info.default:
                parts.append(f"{key}: {flow(item)}")
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    return scalar(value)


def scalar(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # Quoted whenever any reader could read it as something else.
        plain = _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT
        return value if plain else f'"{"".join(map(_quoted, value))}"'
    if isinstance(value, float):
        return repr(value) if value != int(value) else str(int(value))
    return str(value)
