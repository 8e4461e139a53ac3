"""The JSON Schema of `linkage.yaml`, for editors that complete and check while typing."""

from __future__ import annotations

from typing import Any

from gemel.common.specification.model.defaults import KINDS, STEPS
from gemel.common.specification.validation.specification import Specification


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the specification, with explanatory descriptions.

    An editor with a YAML language server takes it from a first line such as
    ``# yaml-language-server: $schema=linkage.schema.json``. It knows the shape of a specification; the checks
    between values (a rule's field that does not exist) are `gemel spec check`'s.
    """
    schema = Specification.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Gemel linkage specification"
    field = schema["$defs"]["FieldSpec"]["properties"]
    field["kind"]["description"] += "\n" + "\n".join(
        f"- {kind}: {defaults.meaning} (tokens {defaults.tokens}, levels {defaults.levels}, {defaults.bits} bits)"
        for kind, defaults in KINDS.items()
    )
    field["clean"]["description"] += "\n" + "\n".join(f"- {step}: {meaning}" for step, meaning in STEPS.items())
    # Pydantic reads `9999` as text where text is meant; an editor must not complain about it.
    for attribute in ("stop_words", "missing", "only_similar"):
        field[attribute]["items"]["type"] = ["string", "integer"]
    variable = schema["$defs"]["VariableSpec"]["properties"]
    for attribute in ("categories", "missing"):
        variable[attribute]["items"]["type"] = ["string", "integer"]
    schema["$defs"]["CoarseningStep"]["properties"]["groups"]["additionalProperties"]["items"]["type"] = [
        "string",
        "integer",
    ]
    common = schema["$defs"]["CommonCategory"]["properties"]
    common["category"]["type"] = ["string", "integer"]
    for side in ("alice", "bob"):
        for choice in common[side].get("oneOf", common[side].get("anyOf", ())):
            if choice.get("type") == "array":
                choice["items"]["type"] = ["string", "integer"]
    return schema
