"""A canary mismatch mended: one custodian runs a library that cleans otherwise, then the right one, in a new epoch."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gemel.common.parties import Side
from gemel.protos.linkage.v1 import project_pb2
from tests.e2e.deployment import Deployment, people, specification
from tests.typed import printed

STATE = project_pb2.ProjectState
REASON = "Bob's cleaning of accents was of another version; corrected on Monday"
OTHER_VERSION = """\
# Stands for an installation with another version of a library: it cleans a name of the test records otherwise.
from gemel.custodian.cleaning import (definition)

accents = definition.TEXT_STEPS["accents"]
definition.TEXT_STEPS["accents"] = lambda value: accents(value).replace("zoe", "zo")
"""


@pytest.mark.long  # of one custodian: tests/custodian/test_epochs.py
def test_custodians_whose_canaries_differed_link_in_the_next_epoch(
    deploy: Callable[..., Deployment], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = specification("mended")
    made = deploy(text, files=people(60, 30))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "sitecustomize.py").write_text(OTHER_VERSION)
    for config in (made.carole_yaml, made.coordinator_yaml):
        config.write_text(config.read_text().replace("share_request_ids: false", "share_request_ids: true"))
    made.processes("carole", "alice")
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path / "other"), prepend=os.pathsep)
        (bob,) = made.processes("bob")
    made.create(text)
    made.eventually(lambda: "canary digests differ" in made.status("mended").blocking_error)
    error = made.status("mended").blocking_error
    assert "the cleaning of given_name" in error
    assert "the cleaning of phone" not in error
    assert "`gemel project new-epoch`" in made.blocking_error(Side.ALICE, "mended")
    bob.kill()
    made.processes("bob")
    config = ("--config", made.coordinator_yaml)
    printed("project", "new-epoch", "mended", "--reason", REASON, "--yes", *config)
    for side in Side:
        made.eventually(lambda side=side: made.shown(side, "mended").waits_for_operator)
        shown = printed(side, "approve", "mended", "--yes", "--config", made.configs[side])
        shown = " ".join(shown.replace("│", "").split())
        assert REASON in shown
        assert "did not come to an agreement" in shown
    status = made.wait_for("mended", STATE.PROJECT_STATE_CONTRIBUTED)
    assert (status.epoch, status.blocking_error) == (2, "")
    started = " ".join(printed("project", "start", "mended", *config).split())
    status = made.wait_for("mended", STATE.PROJECT_STATE_RELEASED)
    assert status.run.links == 30
    # Where both have agreed, the coordinator's own id is in the lines of Carole and of her worker about the run.
    (request,) = re.findall(r"by request ([0-9a-f]{16})\.", started)
    lines = [json.loads(line) for line in (made.logs / "carole.log").read_text().splitlines()]
    processes = {line["process"] for line in lines if line.get("run") == status.run.run and "request" in line}
    assert processes == {"carole", "worker"}
    assert {line.get("request") for line in lines if line.get("run") == status.run.run} == {request}
