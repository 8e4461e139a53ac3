"""What a custodian reports of itself reaches the coordinator as a kind and a time, and no other party."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager

import grpc
import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.pki.members import Members
from gemel.protos.linkage.v1 import custody_pb2, project_pb2
from tests.carole.deployment import SPECIFICATION, Deployment, eventually, steward
from tests.carole.service.test_process import Process


def poll(custodian, *conditions):
    reported = []
    for project, kind in conditions:
        each = custody_pb2.ProjectCondition(project=project)
        each.condition = kind
        reported.append(each)
    request = custody_pb2.NextTaskRequest(waiting=["trial"], conditions=reported)
    found: custody_pb2.NextTaskResponse = custodian.call(custodian.stub.NextTask, request)
    return found


def side_of(deployment, side):
    status, _ = deployment.coordinator().get("trial")
    (listed,) = deployment.coordinator().projects()
    assert listed == status
    return next(each for each in status.sides if each.side == (1 if side is Side.ALICE else 2))


def test_the_newest_report_counts_and_keeps_its_time(deployment):
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


def test_only_known_kinds_and_projects_are_kept(deployment):
    deployment.coordinator().create(SPECIFICATION)
    bob = deployment.custodian(Side.BOB)
    poll(bob, ("elsewhere", 3), ("trial", 77))
    assert side_of(deployment, Side.BOB).condition == project_pb2.CUSTODIAN_CONDITION_OTHER
    poll(bob, *[(f"p{number}", 3) for number in range(1001)], ("trial", 3))
    assert side_of(deployment, Side.BOB).condition == project_pb2.CUSTODIAN_CONDITION_UNSPECIFIED


def test_after_a_restart_they_are_there_with_the_next_call_and_until_then_unknown(deployment):
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


# A member that holds a hundred long polls at Carole, and the calls of the other.

POLLS, CALLS = 100, 15


@contextmanager
def polling(deployment):
    """A hundred connections of Alice's that poll again as soon as they have an answer, whatever it is."""
    ended, begun = threading.Event(), threading.Barrier(POLLS + 1, timeout=60)
    stubs = [deployment.custodian(Side.ALICE).stub for _ in range(POLLS)]
    request = custody_pb2.NextTaskRequest(wait_ms=20_000, waiting=["trial"])

    def poll(stub):
        call = stub.NextTask.future(request, timeout=30)
        begun.wait()
        while not ended.is_set():
            try:
                call.result(timeout=0.1)
            except grpc.FutureTimeoutError:
                continue
            except grpc.RpcError:
                ended.wait(0.01)
            call = stub.NextTask.future(request, timeout=30)
        call.cancel()

    threads = [threading.Thread(target=poll, args=(stub,)) for stub in stubs]
    for thread in threads:
        thread.start()
    try:
        begun.wait()
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def test_a_hundred_long_polls_of_one_member_refuse_no_call_of_the_other(deployment):
    deployment.keyed()
    bob = deployment.custodian(Side.BOB)
    with polling(deployment):
        for _ in range(CALLS):
            # By the stub, which unlike the client does not try again.
            assert bob.stub.NextTask(custody_pb2.NextTaskRequest(), timeout=20).kind == custody_pb2.TASK_KIND_CONTRIBUTE


# A membership list that changes while Carole runs, as a process, and while she does not.


class Listed:
    """A Carole whose list is a file of the test's own."""

    def __init__(self, parties, folder):
        self.folder = folder
        self.deployment = Deployment(parties, folder / "carole")
        self.all = parties.members
        self.file = folder / "members.yaml"
        self.write(self.all)
        configuration = self.deployment.configuration
        configuration.write_text(configuration.read_text() + f"members: {self.file}\n")
        self.process = self.start()

    def write(self, members):
        self.file.write_text(members.dump())

    def start(self):
        self.process = Process(self.deployment.configuration, self.folder)
        self.deployment.connect_to(self.process.address())
        return self.process

    def admits(self):
        try:
            steward(self.deployment).assessed()
        except GemelError as error:
            if error.code is not ErrorCode.NOT_ADMITTED:
                raise
            return False
        return True


@pytest.fixture
def listed(parties, tmp_path):
    made = Listed(parties, tmp_path)
    yield made
    made.deployment.stop()
    made.process.end(signal.SIGKILL)


def test_a_steward_who_is_removed_is_refused_at_once_and_the_log_says_since_when(listed):
    assert listed.admits()
    fewer = Members(member for member in listed.all if member.name != "steward")
    listed.write(fewer)
    listed.process.popen.send_signal(signal.SIGHUP)
    eventually(lambda: not listed.admits())
    listed.write(listed.all)
    eventually(listed.admits)
    assert listed.process.end(signal.SIGTERM) == 0
    listed.write(fewer)
    listed.start()
    assert not listed.admits()
    listed.write(listed.all)
    eventually(listed.admits)

    def recorded():
        return [entry for entry in steward(listed.deployment).entries() if entry.action == "list-members"]

    # A list counts a moment before it is recorded.
    eventually(lambda: len(recorded()) == 5)
    found = recorded()
    changes = [(entry.details["added"], entry.details["removed"]) for entry in found]
    removed: tuple[list[str], list[str]] = ([], ["steward"])
    assert changes == [(sorted(m.name for m in listed.all), []), removed, removed[::-1], removed, removed[::-1]]
    assert set(found[-1].details["members"]) == {member.name for member in listed.all}
