"""The reference of the public documents: their JSON Schemas, and docs/documents.md, both from the models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gemel.common.documents.assessment_document import AssessmentDocument
from gemel.common.documents.document import Document
from gemel.common.documents.linkage_document import EvaluationDocument, LinkageDocument
from gemel.common.documents.model_document import ModelDocument, StatisticsDocument
from gemel.common.errors import ErrorCode, GemelError

DOCUMENTS: dict[str, type[Document]] = {
    "model": ModelDocument,
    "linkage": LinkageDocument,
    "evaluation": EvaluationDocument,
    "assessment": AssessmentDocument,
    "statistics": StatisticsDocument,
}


def document_schema(name: str) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of one of `DOCUMENTS`; NOT_FOUND if there is no document of this name."""
    if name not in DOCUMENTS:
        raise GemelError(
            ErrorCode.NOT_FOUND, f"expected one of {', '.join(DOCUMENTS)}", where="document", got=name[:60]
        )
    schema = DOCUMENTS[name].model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": f"{name}.json"}


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
