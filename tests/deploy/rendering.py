"""Charts rendered by Helm's own engine and checked by schemas, where `make .venv-deploy` has installed both."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.sites import DEPLOY, REPOSITORY

TOOLS = REPOSITORY / ".venv-deploy/bin/python"
CONFINED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
"""The security context of every container."""


def answer_of(chart: str, good: Mapping[str, Any], bad: Mapping[str, tuple[Any, str]], *compose: str) -> dict[str, Any]:
    """What the tools say of all values of a chart and of compose files; skips the test without them."""
    if not TOOLS.exists():
        pytest.skip("Helm's engine is not installed: make .venv-deploy")
    asked = {
        "chart": str(DEPLOY / "helm" / chart),
        "values": {**good, **{name: given for name, (given, _) in bad.items()}},
        "compose": [str(DEPLOY / name) for name in compose],
    }
    program = [str(TOOLS), str(Path(__file__).with_name("charts.py"))]
    ran = subprocess.run(program, input=json.dumps(asked), capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


def assert_accepted(answer: dict[str, Any], good: Mapping[str, Any]) -> None:
    """All that is meant, by the engine, its advice and the schemas."""
    assert {name: answer["rendered"][name].get("refused") for name in good} == {name: [] for name in good}
    assert [one for one in answer["lint"] if one["severity"] > 1] == []
    assert set(map(tuple, answer["compose"].values())) == {()}
