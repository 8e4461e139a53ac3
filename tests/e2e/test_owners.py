"""A project of mode block_keyed that goes to another coordinator while a run waits for its resolver.

Carole and her worker are processes; both custodians are services in this one, where the commands run too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode
from gemel.common.parties import Role, Side
from gemel.protos.linkage.v1 import project_pb2
from tests.carole.refusals import refusal
from tests.e2e.deployment import TWO_RULES, Deployment, people, specification
from tests.typed import printed

STATE = project_pb2.ProjectState
RELEASE = "release: {alice: pairs, bob: links, coordinator: statistics}\n"


def project(config: Path, *words: str) -> None:
    printed("project", *words, "--config", config)


def refused(owner: str, config: Path, *words: str) -> None:
    with refusal(ErrorCode.NOT_ADMITTED, f"belongs to the coordinator {owner}"):
        project(config, *words)


@pytest.mark.long  # of Carole alone: tests/carole/service/test_ownership.py
def test_the_new_owner_links_what_the_former_could_not_end(deploy: Callable[..., Deployment]) -> None:
    text = specification("moved", bits=256, more=TWO_RULES + RELEASE, mode="block_keyed")
    made = deploy(text, files=people(80, 50), more={"successor": Role.COORDINATOR})
    former, successor = made.coordinator_yaml, made.client_yaml("successor")
    made.start_all(worker=True)
    made.contributed(text)
    refused("coordinator", successor, "start", "moved")
    project(former, "start", "moved")
    # Both custodians have sealed their handles to the coordinator, and it does not resolve them.
    made.eventually(lambda: made.status("moved").run.stage == "resolve")
    first = made.status("moved").run.run
    reason = ("--reason", "she leaves for the ministry in May", "--yes")
    project(former, "hand-over", "moved", "--to", "successor", *reason)
    project(successor, "take-over", "moved", "--yes")
    status = made.status("moved")
    assert (status.owner, status.run.state) == ("successor", project_pb2.RUN_STATE_FAILED)
    assert "taken over while the run waited for its resolver" in status.run.error
    for words in (("start", "moved"), ("results", "moved"), ("erase", "moved", "--yes")):
        refused("successor", former, *words)
    project(successor, "start", "moved")
    project(successor, "watch", "moved")
    status = made.wait_for("moved", STATE.PROJECT_STATE_RELEASED)
    assert status.run.run != first
    assert status.run.links > 40
    project(successor, "results", "moved", "--out", str(made.root / "out"))
    assert json.loads((made.root / "out" / "model.json").read_text())["linkage"]
    made.received("moved")
    assert all(made.shown(side, "moved").results for side in Side)
