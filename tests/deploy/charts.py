"""Run by the environment `.venv-deploy` alone: renders the chart by Helm's own engine, and checks files by schemas.

Reads one JSON object: `chart`, its folder; `values`, by name; `compose`, files. Writes one: of each name the objects
that are rendered, or the error; of each object and file what its schema refuses.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import helm_python
import kubernetes_validate
import yaml
from jsonschema.validators import validator_for

VERSIONS = ("1.30", "1.37")
"""Of Kubernetes: the schemas of each know every field, and no other."""


def rendered(chart: Any, values: dict[str, Any]) -> dict[str, Any]:
    """The objects, or the error; and what the schemas refuse."""
    try:
        name = values.get("party", "cluster")
        sheets = chart.render(values, name=name, namespace=f"gemel-{name}")
    except helm_python.HelmError as error:
        return {"error": str(error)}
    notes = sheets.pop(next(name for name in sheets if name.endswith("/NOTES.txt")))
    objects = [one for sheet in sheets.values() for one in yaml.safe_load_all(sheet) if one]
    refused = []
    for one in objects:
        for version in VERSIONS:
            try:
                kubernetes_validate.validate(one, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                refused.append(f"{one['kind']} {version}: {error.message}")
    return {"objects": objects, "refused": refused, "notes": notes}


def compose_errors(path: str) -> list[str]:
    """What the schema of compose files refuses."""
    package = find_spec("check_jsonschema")
    assert package is not None
    assert package.origin is not None
    schema = json.loads((Path(package.origin).parent / "builtin_schemas/vendor/compose-spec.json").read_text())
    document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    return [error.message for error in validator_for(schema)(schema).iter_errors(document)]


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    with helm_python.Chart.load(asked["chart"]) as chart:
        answer = {name: rendered(chart, values) for name, values in asked["values"].items()}
        linted = helm_python.lint(asked["chart"], values=next(iter(asked["values"].values())))
    compose = {path: compose_errors(path) for path in asked["compose"]}
    json.dump({"rendered": answer, "lint": linted["messages"], "compose": compose}, sys.stdout)
