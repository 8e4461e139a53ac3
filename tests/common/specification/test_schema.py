"""The JSON Schema for editors."""

from __future__ import annotations

import json
from typing import Any

from gemel.common.specification import KINDS, STEPS, Specification, json_schema


def test_it_is_json_and_refuses_unknown_keys_everywhere() -> None:
    schema = json.loads(json.dumps(json_schema()))
    sections = [schema, *schema["$defs"].values()]
    assert len(sections) > 10
    assert all(section["additionalProperties"] is False for section in sections)


def test_every_key_is_explained() -> None:
    schema = json_schema()
    for section in [schema, *schema["$defs"].values()]:
        for key, value in section["properties"].items():
            assert len(value.get("description", "")) > 3, key


def test_it_requires_what_must_be_given_and_no_more() -> None:
    schema = json_schema()
    assert schema["required"] == ["version", "project", "mode", "custodians", "fields", "retention"]
    assert schema["$defs"]["FieldSpec"]["required"] == ["name", "kind"]
    assert set(schema["properties"]) == set(Specification.model_fields)


def test_kinds_and_steps_are_explained() -> None:
    field: dict[str, Any] = json_schema()["$defs"]["FieldSpec"]["properties"]
    assert all(f"- {kind}: " in field["kind"]["description"] for kind in KINDS)
    assert all(f"- {step}: " in field["clean"]["description"] for step in STEPS)
    assert field["missing"]["items"]["type"] == ["string", "integer"]
