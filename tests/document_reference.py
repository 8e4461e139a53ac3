"""The tables of docs/documents.md and docs/assessment.md: public documents, their warnings, measures of risk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.documents.warning_codes import SUBJECTS, WARNING_CODES
from gemel.coordinator.reports.document_schemas import DOCUMENTS, document_schema


def reference() -> str:
    """Tables of every document and of its parts, each part once, in Markdown."""
    described: set[str] = set()
    return "\n".join(line for name in DOCUMENTS for line in _document(name, described))


def _document(name: str, described: set[str]) -> Iterator[str]:
    schema = document_schema(name)
    yield f"## {name}.json\n"
    yield from _table(schema)
    for part, own in schema.get("$defs", {}).items():
        if part not in described and own.get("type") == "object" and part not in _TITLES:
            described.add(part)
            yield f"### {part}\n"
            yield from _table(own)


_TITLES = {model.__name__: name for name, model in DOCUMENTS.items()}


def _table(schema: dict[str, Any]) -> Iterator[str]:
    yield f"{schema['description']}\n"
    yield "| entry | type | meaning |\n|---|---|---|"
    required = schema.get("required", ())
    for name, entry in schema["properties"].items():
        meaning = " ".join(entry.get("description", "").split()).replace("|", "\\|")
        optional = "" if name in required else "; may be absent"
        yield f"| `{name}` | {_type(entry)}{optional} | {meaning} |"
    yield ""


def _type(entry: dict[str, Any]) -> str:
    if "$ref" in entry:
        name = entry["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})" if name not in _TITLES else f"[{_TITLES[name]}.json](#{_TITLES[name]}json)"
    if "anyOf" in entry:
        return " or ".join(_type(choice) for choice in entry["anyOf"])
    if "const" in entry:
        return f"`{entry['const']}`"
    if "enum" in entry:
        return ", ".join(f"`{value}`" for value in entry["enum"])
    if entry["type"] == "array":
        return f"list of {_type(entry['items'])}"
    if entry["type"] == "object":
        return f"by name, {_type(entry['additionalProperties'])}"
    return {"string": "text", "boolean": "true or false"}.get(entry["type"], str(entry["type"]))


def measures_table() -> str:
    """The table of measures in docs/assessment.md."""
    head = "| measure | what it is | it assumes | method |\n|---|---|---|---|\n"
    return head + "".join(f"| `{m.name}` | {m.meaning} | {m.intruder} | {m.method} |\n" for m in MEASURES.values())


def warnings_tables() -> str:
    """The tables of warnings in docs/documents.md."""
    head = "| code | severity | meaning | what to do |\n|---|---|---|---|\n"
    return "\n".join(
        f"### {heading}\n\n{head}"
        + "".join(
            f"| `{each.code}` | {each.severity} | {each.meaning} | {each.remedy or '-'} |\n"
            for each in WARNING_CODES.values()
            if each.subject == subject
        )
        for subject, heading in SUBJECTS.items()
    )
