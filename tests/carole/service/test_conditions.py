"""What a custodian reports of itself reaches the coordinator as a kind and a time, and no other party."""

from __future__ import annotations

from gemel.common.parties import Side
from gemel.protos.linkage.v1 import custody_pb2, project_pb2
from tests.carole.deployment import SPECIFICATION, Custodian, Deployment


def poll(custodian: Custodian, *conditions: tuple[str, int]) -> custody_pb2.NextTaskResponse:
    reported = []
    for project, kind in conditions:
        each = custody_pb2.ProjectCondition(project=project)
        each.condition = kind  # type: ignore[assignment]
        reported.append(each)
    request = custody_pb2.NextTaskRequest(waiting=["trial"], conditions=reported)
    found: custody_pb2.NextTaskResponse = custodian.call(custodian.stub.NextTask, request)
    return found


def side_of(deployment: Deployment, side: Side) -> project_pb2.SideStatus:
    status, _ = deployment.coordinator().get("trial")
    (listed,) = deployment.coordinator().projects()
    assert listed == status
    return next(each for each in status.sides if each.side == (1 if side is Side.ALICE else 2))


def test_the_newest_report_counts_and_keeps_its_time(deployment: Deployment) -> None:
    deployment.coordinator().create(SPECIFICATION)
    alice, bob = (deployment.custodian(side) for side in Side)
    assert side_of(deployment, Side.BOB).last_poll_unix_ms == 0
    poll(bob, ("trial", project_pb2.CUSTODIAN_CONDITION_APPROVAL))
    first = side_of(deployment, Side.BOB)
    assert first.condition == project_pb2.CUSTODIAN_CONDITION_APPROVAL
    assert first.condition_since_unix_ms == first.last_poll_unix_ms > 0
    poll(bob, ("trial", project_pb2.CUSTODIAN_CONDITION_APPROVAL))
    again = side_of(deployment, Side.BOB)
    assert again.condition_since_unix_ms == first.condition_since_unix_ms
    assert again.last_poll_unix_ms > first.last_poll_unix_ms
    poll(bob, ("trial", project_pb2.CUSTODIAN_CONDITION_LEAKAGE))
    assert side_of(deployment, Side.BOB).condition == project_pb2.CUSTODIAN_CONDITION_LEAKAGE
    assert side_of(deployment, Side.ALICE).condition == project_pb2.CUSTODIAN_CONDITION_UNSPECIFIED
    # The other custodian is shown nothing of it.
    for status in poll(alice).projects:
        for side in status.sides:
            assert (side.condition, side.condition_since_unix_ms, side.last_poll_unix_ms) == (0, 0, 0)
    poll(bob)  # as a service of an older version, which reports nothing
    assert side_of(deployment, Side.BOB).condition == project_pb2.CUSTODIAN_CONDITION_UNSPECIFIED


def test_only_known_kinds_and_projects_are_kept(deployment: Deployment) -> None:
    deployment.coordinator().create(SPECIFICATION)
    bob = deployment.custodian(Side.BOB)
    poll(bob, ("elsewhere", 3), ("trial", 77))
    assert side_of(deployment, Side.BOB).condition == project_pb2.CUSTODIAN_CONDITION_OTHER
    poll(bob, *[(f"p{number}", 3) for number in range(1001)], ("trial", 3))
    assert side_of(deployment, Side.BOB).condition == project_pb2.CUSTODIAN_CONDITION_UNSPECIFIED


def test_after_a_restart_they_are_there_with_the_next_call_and_until_then_unknown(deployment: Deployment) -> None:
    deployment.coordinator().create(SPECIFICATION)
    reported = ("trial", project_pb2.CUSTODIAN_CONDITION_LEAKAGE)
    poll(deployment.custodian(Side.BOB), reported)
    former = side_of(deployment, Side.BOB)
    deployment.restart()
    unknown = side_of(deployment, Side.BOB)
    assert (unknown.condition, unknown.last_poll_unix_ms) == (project_pb2.CUSTODIAN_CONDITION_UNSPECIFIED, 0)
    poll(deployment.custodian(Side.BOB), reported)
    again = side_of(deployment, Side.BOB)
    assert again.condition == former.condition
    assert again.condition_since_unix_ms > former.condition_since_unix_ms, "as far as the running Carole knows"
