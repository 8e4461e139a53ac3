"""Carole's service for the coordinator, over real mutual TLS."""

from __future__ import annotations

import json

import pytest

from gemel.common.errors import ErrorCode
from gemel.common.parties import Role, Side
from gemel.protos.linkage.v1 import coordination_pb2, project_pb2
from tests.carole.deployment import DIGEST, SPECIFICATION, Deployment, Upload, coordination
from tests.carole.engine.no_statistics import NO_STATISTICS
from tests.carole.refusals import refused
from tests.carole.trial import take


@pytest.fixture
def contributed(deployment: Deployment, uploads: dict[Side, Upload]) -> Deployment:
    deployment.keyed()
    for side in Side:
        deployment.custodian(side).contribute(uploads[side])
    return deployment


def test_an_invalid_specification_is_refused_with_all_its_issues(deployment: Deployment) -> None:
    bad = SPECIFICATION.replace("bits: 1024", "bits: 100").replace("mode: open", "mode: closed")
    error = refused(ErrorCode.SPECIFICATION, deployment.coordinator().create, bad)
    assert "mode" in str(error)
    assert "bits" in str(error)
    assert deployment.coordinator().projects() == []
    refused(ErrorCode.SPECIFICATION, deployment.coordinator().create, "#" * (256 * 1024 + 1))


def test_creating_twice_is_harmless_and_another_specification_of_the_name_is_refused(deployment: Deployment) -> None:
    coordinator = deployment.coordinator()
    assert coordinator.create(SPECIFICATION) == coordinator.create(SPECIFICATION)
    refused(ErrorCode.EXISTS, coordinator.create, SPECIFICATION.replace("uploads_days: 7", "uploads_days: 8"))
    status, text = coordinator.get("trial")
    assert text == SPECIFICATION
    assert [found.project for found in coordinator.projects()] == ["trial"]
    assert status.state == project_pb2.PROJECT_STATE_DRAFT


def test_one_run_at_a_time_and_the_same_request_is_the_same_run(contributed: Deployment) -> None:
    stub = coordination(contributed.connect("coordinator"))

    def start(request: str) -> project_pb2.RunStatus:
        return (
            contributed.connect("coordinator")
            .call(stub.StartRun, coordination_pb2.StartRunRequest(project="trial", request=request))
            .run
        )

    run = start("first")
    assert run.state == project_pb2.RUN_STATE_QUEUED
    assert start("first") == run
    error = refused(ErrorCode.RUN_ACTIVE, start, "second")
    assert run.run in error.got
    refused(ErrorCode.PARAMETER, start, "")
    refused(ErrorCode.PARAMETER, start, "x" * 65)


def test_a_run_is_watched_from_queue_to_failure(contributed: Deployment) -> None:
    coordinator = contributed.coordinator()
    run = coordinator.start("trial").run
    seen = []
    for status in coordinator.watch("trial", run):
        seen.append((status.state, status.stage))
        if status.state == project_pb2.RUN_STATE_QUEUED:
            lease = take(contributed.store)
            contributed.store.runs.renew_lease(lease, "compare", 0.5)
        elif status.stage == "compare" and status.state == project_pb2.RUN_STATE_RUNNING:
            contributed.store.runs.fail(lease, "because it was requested")
    assert seen[0][0] == project_pb2.RUN_STATE_QUEUED
    assert (project_pb2.RUN_STATE_RUNNING, "compare") in seen
    assert seen[-1][0] == project_pb2.RUN_STATE_FAILED
    assert coordinator.get("trial")[0].run.error == "because it was requested"


def test_a_request_made_too_early_is_refused_with_what_is_missing(deployment: Deployment) -> None:
    coordinator = deployment.coordinator()
    coordinator.create(SPECIFICATION)
    error = refused(ErrorCode.WRONG_STATE, coordinator.start, "trial")
    assert "approve" in error.remedy
    coordinator.approve("trial", DIGEST)
    refused(ErrorCode.NOT_FOUND, coordinator.start, "unknown")
    refused(ErrorCode.NOT_FOUND, coordinator.statistics, "trial", "f" * 32)


def test_statistics_after_the_release_and_only_if_granted(contributed: Deployment) -> None:
    coordinator = contributed.coordinator()
    run = coordinator.start("trial").run
    refused(ErrorCode.WRONG_STATE, coordinator.statistics, "trial", run)
    lease = take(contributed.store)
    bars = 300_000  # more than one message holds
    document = NO_STATISTICS.plain()
    document["linkage"]["histogram"] = {"edges": [float(i) for i in range(bars + 1)], "counts": [0] * bars}
    content = json.dumps(document).encode()
    assert len(content) > 2 << 20
    contributed.store.runs.finish(lease, 1, {str(Role.COORDINATOR): [content]})
    assert coordinator.statistics("trial", run).plain() == document


def test_erasing_over_the_wire(contributed: Deployment) -> None:
    coordinator = contributed.coordinator()
    for _ in range(2):
        assert coordinator.erase("trial").state == project_pb2.PROJECT_STATE_ERASED
    assert contributed.custodian(Side.ALICE).next_task().projects[0].state == project_pb2.PROJECT_STATE_ERASED
    refused(ErrorCode.WRONG_STATE, coordinator.start, "trial")
    refused(ErrorCode.NOT_FOUND, coordinator.erase, "unknown")
