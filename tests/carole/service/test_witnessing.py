"""What Carole shows of her audit log to those who watch it: releases with proofs, and whose signature is awaited."""

from __future__ import annotations

import pytest

from gemel.common.audit import Checkpoint
from gemel.common.audit.signed_note import Cosignature
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role, Side
from gemel.common.rpc.transfer import Content
from gemel.common.wire.checkpoints import checkpoint_to_wire
from gemel.common.witnessing.log_reader import LogReader
from gemel.coordinator.client.coordinator_client import Coordinator, ReleasedRuns
from gemel.coordinator.client.log_memory import FileMemory
from gemel.protos.linkage.v1 import audit_pb2, audit_pb2_grpc, custody_pb2, project_pb2
from tests.carole.deployment import make_upload, people
from tests.carole.refusals import refusal
from tests.carole.trial import take

SHARE = b"sealed share"


@pytest.fixture
def run(deployment):
    """A run of the project trial, released."""
    deployment.records = 30
    deployment.keyed()
    for number, side in enumerate(Side):
        upload, _ = make_upload(side, people(30), f"{number}" * 32)
        deployment.custodian(side).contribute(upload)
    found = deployment.coordinator().start("trial").run
    lease = take(deployment.store)
    shares = {str(role): [SHARE] for role in (Role.CUSTODIAN_A, Role.CUSTODIAN_B, Role.COORDINATOR)}
    deployment.store.runs.finish(lease, 3, shares)
    return found


def linker(deployment):
    return deployment.parties.members.in_role(Role.LINKER).identity


def reader(deployment, custodian, folder):
    memory = FileMemory(folder / f"{custodian.side}.json")
    return LogReader(custodian.connection, custodian.identity, linker(deployment), memory, "")


def test_a_release_is_shown_with_its_proof_and_no_other_run_is(deployment, run, tmp_path):
    log = reader(deployment, deployment.custodian(Side.ALICE), tmp_path)
    entry = log.check_release("trial", run)
    assert (entry.project, entry.action, entry.details["run"]) == ("trial", "release", run)
    for project, other in (
        ("trial", "0" * 32),
        ("another", run),
        ("Trial", run),
        ("trial", "%"),
        ("trial", run.upper()),
    ):
        with refusal(ErrorCode.AUDIT, "whose release is not in her audit log"):
            log.check_release(project, other)


def test_whoever_has_not_countersigned_a_release_is_asked_to(deployment, run, tmp_path):
    alice, bob = (deployment.custodian(side) for side in Side)
    release = reader(deployment, alice, tmp_path).check_release("trial", run).sequence
    assert alice.next_task().countersign == release
    logs = {each.side: reader(deployment, each, tmp_path) for each in (alice, bob)}
    logs[Side.ALICE].check()  # sends what was verified before
    assert alice.next_task().countersign == 0
    assert bob.next_task().countersign == release
    # Bob has his share, and no task any more: Alice still needs his signature of all that she had seen.
    root = Content.of(SHARE).root
    bob.call(bob.stub.AcknowledgeResult, custody_pb2.AcknowledgeResultRequest(project="trial", run=run, root=root))
    for _ in range(2):
        logs[Side.ALICE].check()
    asked = bob.next_task()
    assert (asked.kind, asked.countersign) == (custody_pb2.TASK_KIND_IDLE, release + 1)
    for _ in range(2):
        logs[Side.BOB].check()
    assert bob.next_task().countersign == 0
    held = custody_pb2.AcknowledgeResultRequest(project="trial", run=run, root=root, alone="Bob stays away for good")
    alice.call(alice.stub.AcknowledgeResult, held)
    entries = [one for one in deployment.store.audit.entries("trial") if one.action == "acknowledge-result"]
    assert [one.details.get("alone") for one in entries] == [None, "Bob stays away for good"]
    assert [each.next_task().countersign for each in (alice, bob)] == [0, 0]


def test_a_cosignature_is_verified_before_it_is_kept(deployment, tmp_path):
    alice, bob = (deployment.custodian(side) for side in Side)
    log = reader(deployment, alice, tmp_path)
    log.check()
    seen = FileMemory(tmp_path / "alice.json").newest_seen()
    seen.verify(linker(deployment))
    assert seen.note

    def send(cosignature):
        request = audit_pb2.WitnessRequest(
            seen=checkpoint_to_wire(seen),
            countersignature=seen.countersign(alice.identity),
            cosigned_at=cosignature.at,
            cosignature=cosignature.signature,
        )
        alice.call(alice.connection.stub(audit_pb2_grpc.AuditStub).Witness, request)

    with refusal(ErrorCode.SIGNATURE):
        send(Cosignature.make(bob.identity, 5, seen.log, seen.size, seen.root))
    assert deployment.store.audit.noted("alice") is None
    send(Cosignature.make(alice.identity, 5, seen.log, seen.size, seen.root))
    noted = deployment.store.audit.noted("alice")
    assert noted is not None
    assert noted[0] == seen


def test_a_coordinator_shows_no_release_that_is_not_in_the_log(deployment, run, tmp_path, monkeypatch):
    party = deployment.coordinator()
    memory = FileMemory(tmp_path / "coordinator.json")
    connection = deployment.connect("coordinator")
    log = LogReader(connection, party._identity, linker(deployment), memory, "")
    coordinator = Coordinator(connection, party._identity, None, ReleasedRuns(memory, log))
    with monkeypatch.context() as patched:
        patched.setattr(deployment.store.audit, "released", lambda *_: None)
        with pytest.raises(GemelError, match="whose release is not in her audit log"):
            coordinator.get("trial")
        assert memory.released("trial") == {}
    status = coordinator.projects()[0]
    assert (status.state, status.run.run) == (project_pb2.PROJECT_STATE_RELEASED, run)
    assert set(memory.released("trial")) == {run}
    assert isinstance(memory.newest_seen(), Checkpoint)
