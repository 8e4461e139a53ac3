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


class Rendered:
    """The objects of one release."""

    def __init__(self, answer: dict[str, Any], name: str) -> None:
        self.objects: list[dict[str, Any]] = answer["rendered"][name]["objects"]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [one for one in self.objects if one["kind"] == kind]

    @property
    def pod(self) -> dict[str, Any]:
        """Of the job if there is one, else of the service."""
        (owner,) = self.of("Job") or self.of("Deployment")
        spec: dict[str, Any] = owner["spec"]["template"]["spec"]
        return spec


def assert_answers(answer: dict[str, Any], good: Mapping[str, Any], bad: Mapping[str, tuple[Any, str]]) -> None:
    """All that is meant is accepted by the engine, its advice and the schemas, and the rest refused by its name."""
    assert {name: answer["rendered"][name].get("refused") for name in good} == {name: [] for name in good}
    assert [one for one in answer["lint"] if one["severity"] > 1] == []
    assert set(map(tuple, answer["compose"].values())) == {()}
    for name, (_, misplaced) in bad.items():
        assert misplaced in answer["rendered"][name]["error"], name


def assert_confined(pod: dict[str, Any], image: str) -> None:
    """What no pod may do, in any of its containers, which are all of one image."""
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] == 10001
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    for container in (*pod["initContainers"], *pod["containers"]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["image"] == image
