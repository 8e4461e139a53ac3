"""``--dry-run`` and ``--json`` before real services: what is shown is what would be sent, and nothing is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gemel.command import app
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.epochs import approval_parts
from gemel.common.keys.identity import SigningPurpose
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Side
from gemel.common.rpc.access import ACCESS, READING
from tests.e2e.deployment import STATE, Deployment, digest_of, specification

PROJECT, OTHER = "dry", "other"
TEXT, OTHERS = specification(PROJECT), specification(OTHER)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A project that is contributed, and another that waits for its operators; no run begins."""
    with Deployment(tmp_path_factory.mktemp("dry") / "d", [TEXT]) as deployment:
        deployment.start_all()
        deployment.create(OTHERS)
        deployment.wait_for(deployment.create(TEXT), STATE.PROJECT_STATE_CONTRIBUTED)
        deployment.eventually(lambda: deployment.shown(Side.ALICE, OTHER).waits_for_operator)
        yield deployment


def invoke(made: Deployment, *arguments: str) -> Result:
    config = made.coordinator_yaml if arguments[0] == "project" else made.configs[Side(arguments[0])]
    return CliRunner().invoke(app, [*arguments, "--config", str(config)], catch_exceptions=False)


def dry(made: Deployment, *arguments: str) -> dict[str, Any]:
    """What a command would have sent: the document, of which the words are checked too."""
    shown = invoke(made, *arguments, "--dry-run", "--json") if arguments[0] == "project" else None
    words = invoke(made, *arguments, "--dry-run")
    assert words.exit_code == 0, words.output
    assert "Dry run: nothing was sent." in words.stdout
    if shown is None:
        return {"words": words.stdout}
    assert shown.exit_code == 0, shown.output
    document: dict[str, Any] = json.loads(shown.stdout)["dry_run"]
    assert f"{document['method']} would go to {document['to']}" in words.stdout
    return document | {"words": words.stdout}


def test_a_project_is_not_created(made: Deployment) -> None:
    path = made.root / "third.yaml"
    path.write_text(specification("third"))
    sent = dry(made, "project", "create", str(path))
    assert (sent["method"], sent["to"]) == ("linkage.v1.Coordination/CreateProject", made.address)
    assert sent["request"] == {"specification": path.read_text()}
    assert {status.project for status in made.coordinator.projects()} == {PROJECT, OTHER}


def test_an_approval_is_neither_sent_nor_is_its_signature_shown(made: Deployment) -> None:
    before = made.status(OTHER)
    request = dry(made, "project", "approve", OTHER)["request"]
    assert request["specification_digest"] == digest_of(OTHERS).hex()
    parts = approval_parts(OTHER, digest_of(OTHERS), 1)
    signature = open_identity(None, made.made.parties["coordinator"].identity).sign(SigningPurpose.APPROVAL, *parts)
    assert request["signature"] == f"{len(signature)} bytes, not shown"
    assert signature.hex() not in dry(made, "project", "approve", OTHER)["words"]
    assert list(made.status(OTHER).approvals) == list(before.approvals)


@pytest.mark.parametrize("command", ["start", "erase"])
def test_no_run_begins_and_nothing_is_erased(made: Deployment, command: str) -> None:
    assert dry(made, "project", command, PROJECT)["request"]["project"] == PROJECT
    status = made.status(PROJECT)
    assert (status.state, status.run.run) == (STATE.PROJECT_STATE_CONTRIBUTED, "")


def test_a_dry_run_of_what_is_not_there_is_an_error(made: Deployment) -> None:
    for arguments in (["project", "approve", "none"], ["alice", "decline", "none", "--reason", "a good reason"]):
        with pytest.raises(GemelError) as caught:
            invoke(made, *arguments, "--dry-run")
        assert caught.value.code in (ErrorCode.NOT_FOUND, ErrorCode.NOT_ADMITTED)


def test_an_operators_decision_is_not_made(made: Deployment) -> None:
    words = dry(made, "alice", "approve", OTHER)["words"]
    assert f"specification_digest: {digest_of(OTHERS).hex()}" in words
    words = dry(made, "alice", "decline", OTHER, "--reason", "another basis in law is needed")["words"]
    assert "reason: another basis in law is needed" in words
    assert made.shown(Side.ALICE, OTHER).waits_for_operator


def test_states_as_documents(made: Deployment) -> None:
    document = json.loads(invoke(made, "project", "status", "--json").stdout)
    assert set(document) == {"projects", "certificates"}
    shown = {project["project"]: project for project in document["projects"]}
    assert (shown[PROJECT]["state"], shown[OTHER]["state"]) == ("contributed", "draft")
    assert shown[PROJECT]["sides"]["alice"]["contributed"]
    assert shown[PROJECT]["specification_digest"] == digest_of(TEXT).hex()
    assert shown[PROJECT]["run"] is None
    document = json.loads(invoke(made, "alice", "specification", OTHER, "--json").stdout)
    assert (document["digest"], document["text"]) == (digest_of(OTHERS).hex(), OTHERS)
    assert json.loads(invoke(made, "alice", "checkpoints", "--json").stdout)["checkpoints"]
    assert json.loads(invoke(made, "alice", "profile", OTHER, "--json").stdout)["rows"] == 120


def test_only_methods_that_show_a_state_are_called_by_a_dry_run() -> None:
    shows = (
        *("Get", "List", "Watch", "Show", "Check", "Status", "Profile", "Specification", "Witness", "Fetch", "Leakage"),
    )
    assert set(ACCESS) >= READING
    assert all(method.rpartition("/")[2].startswith(shows) for method in READING)
