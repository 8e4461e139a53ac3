"""Coordinator, steward and custodian before a store that was put back: by a copy of its file, and by a lying Carole.

Carole answers over real mutual TLS; the parties read her log as their commands and services do.
"""

from __future__ import annotations

import json

import pytest
from structlog.testing import capture_logs
from typer.testing import CliRunner

from gemel.carole.store.audit import Log
from gemel.carole.store.restoring import RestoredLog
from gemel.command import app
from gemel.common.audit import Checkpoint
from gemel.common.audit.statements import RestorationDecision
from gemel.common.errors import ErrorCode
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Role
from gemel.common.witnessing.log_reader import LogReader
from gemel.coordinator.client.client_configuration import template
from gemel.coordinator.client.log_memory import FileMemory
from gemel.protos.linkage.v1 import restoration_pb2, restoration_pb2_grpc
from tests.carole.deployment import DIGEST, SPECIFICATION
from tests.carole.refusals import refused
from tests.console.consoles import wide_consoles

HAND = "the audit log is shorter than the one seen before"


def configured(deployment, party):
    """The configuration of a party; it has seen what it had seen."""
    config = deployment.root / f"{party}.yaml"
    config.write_text(template(deployment.address, keys=str(deployment.parties.parties[party].path), role=Role(party)))
    return config


def types(deployment, *words):
    """What a command of the coordinator's or the steward's prints; its error is raised."""
    party = "coordinator" if words[0] == "project" else "steward"
    arguments = [*words, "--config", str(configured(deployment, party))]
    with wide_consoles():
        result = CliRunner().invoke(app, arguments)
    if result.exception is not None:
        raise result.exception
    return result.output


def reader(deployment, party, memory):
    identity = open_identity(None, deployment.parties.parties[party].identity)
    linker = deployment.parties.members.in_role(Role.LINKER).identity
    return LogReader(deployment.connect(party), identity, linker, memory, f"gemel {party} accept-restore")


@pytest.fixture
def rolled_back(deployment):
    """All have seen more of the log than the copy of the database has that is in its place now."""
    coordinator = deployment.coordinator()
    coordinator.create(SPECIFICATION)
    types(deployment, "project", "status")
    copy = deployment.copied()
    deployment.coordinator().approve("trial", DIGEST)
    for words in (("project", "status"), ("steward", "list")):
        types(deployment, *words)
    deployment.put_back(copy)
    return deployment


def declare(deployment):
    deployment.stop()
    result = CliRunner().invoke(app, ["carole", "declare-restored", "--config", str(deployment.configuration)])
    assert result.exception is None, result.output
    deployment.start()


def test_a_copy_put_back_by_hand_is_noticed_declared_and_accepted(rolled_back):
    with capture_logs() as logged:
        refused(ErrorCode.AUDIT, types, rolled_back, "project", "status")
    # Her own operator learns it from her log, by a checkpoint that she herself has signed.
    assert "the audit log has been rolled back" in [line["event"] for line in logged]
    for words in (("project", "status"), ("project", "start", "trial"), ("steward", "list"), ("steward", "log")):
        error = refused(ErrorCode.AUDIT, types, rolled_back, *words)
        assert HAND in str(error)
        assert "`gemel carole declare-restored`" in str(error)
        assert "accept-restore PROJECT" in str(error)
    undeclared = refused(ErrorCode.NOT_FOUND, types, rolled_back, "project", "accept-restore", "trial", "--yes")
    assert "`gemel carole declare-restored`" in str(undeclared)
    declare(rolled_back)
    error = refused(ErrorCode.AUDIT, types, rolled_back, "project", "status")
    assert "Carole's store was restored from a backup" in str(error)
    shown = types(rolled_back, "project", "accept-restore", "trial", "--yes")
    assert "Up to there the log is what this party has verified." in shown or "it cannot compare" in shown
    assert "the restored log by alice, bob" in types(rolled_back, "project", "status")
    # No project waits for a steward where no result is held; it accepts the log to read on.
    assert "waits for alice, bob" in types(rolled_back, "steward", "accept-restore", "trial", "--yes")
    types(rolled_back, "steward", "list")


def test_a_project_that_the_store_has_lost_keeps_no_party_from_going_on(rolled_back):
    """It accepts by the lost project's name; runs that it names stay forbidden under it."""
    declare(rolled_back)
    memory = FileMemory(rolled_back.root / "coordinator.seen.json")
    memory.note_released("lost", "1" * 32)
    for _ in range(2):
        assert "waits for no party any more" in types(rolled_back, "project", "accept-restore", "lost", "--yes")
    assert [entry.action for entry in rolled_back.store.audit.entries("lost")] == ["accept-restore"]
    reason = ("--reason", "the backup is older than our agreement allows")
    words = "project", "accept-restore", "unknown", "--refuse", *reason, "--yes"
    refused(ErrorCode.NOT_FOUND, types, rolled_back, *words)
    coordinator = rolled_back.coordinator()
    assert not coordinator.create(SPECIFICATION.replace("project: trial", "project: another")).blocking_error
    again = coordinator.create(SPECIFICATION.replace("project: trial", "project: lost"))
    assert "was released before Carole's store was restored" in again.blocking_error
    assert not again.restore_awaits


def test_what_is_accepted_is_signed_and_another_signature_is_refused(rolled_back):
    declare(rolled_back)
    types(rolled_back, "project", "accept-restore", "trial", "--yes")
    (entry,) = [one for one in rolled_back.store.audit.entries("trial") if one.action == "accept-restore"]
    found = rolled_back.store.restorations.newest()
    lost = json.loads((rolled_back.root / "coordinator.seen.json").read_text())["lost"]
    (number, text) = max(lost, key=lambda pair: Checkpoint.from_text(pair[1], "test").size)
    assert number == found.entry.sequence
    decision = RestorationDecision("trial", number, found.restored, Checkpoint.from_text(text, "test"), accept=True)
    signature = bytes.fromhex(entry.details["signature"])
    decision.verify(rolled_back.parties.members.in_role(Role.COORDINATOR).identity, signature)
    assert entry.details["lost_entries"] == decision.lost.size
    connection = rolled_back.connect("alice")
    stub = connection.stub(restoration_pb2_grpc.RestorationStub)
    request = restoration_pb2.DecideRestorationRequest(
        project="trial", restoration=number, accept=True, signature=signature
    )
    assert refused(ErrorCode.SIGNATURE, lambda: connection.call(stub.DecideRestoration, request))
    request.runs.add(run="0" * 32, root=b"short")
    assert refused(ErrorCode.PARAMETER, lambda: connection.call(stub.DecideRestoration, request))


def test_who_has_lost_nothing_accepts_by_the_same_command(rolled_back, tmp_path):
    declare(rolled_back)
    memory = FileMemory(tmp_path / "alice.json")
    alice = reader(rolled_back, "alice", memory)
    alice.check()
    restored = alice.restored()
    assert restored.lost is None
    status = alice.decide("trial", restored, {}, accept=True)
    assert list(status.restore_awaits) == ["bob", "coordinator"]
    assert list(alice.decide("trial", restored, {}, accept=True).restore_awaits) == ["bob", "coordinator"]


def test_a_log_that_was_forked_once_more_is_not_explained_by_the_restoration(rolled_back):
    """Accepted, seen further, and rolled back again: the recorded restoration is older than what is lost now."""
    declare(rolled_back)
    types(rolled_back, "project", "accept-restore", "trial", "--yes")
    second = rolled_back.copied()
    types(rolled_back, "project", "status")
    rolled_back.store.audit.deny("someone", "/a/method", 1)
    types(rolled_back, "project", "status")
    rolled_back.put_back(second)
    for words in (("project", "status"), ("project", "accept-restore", "trial", "--yes")):
        error = refused(ErrorCode.AUDIT, types, rolled_back, *words)
        assert "after the restoration she has recorded" in str(error)


def test_a_restoration_that_is_not_in_the_log_is_not_believed(rolled_back, monkeypatch):
    """Carole shows the entry of a restoration to one party, and has it in no log that she shows to others."""
    declare(rolled_back)
    found = rolled_back.store.restorations.newest()
    later = rolled_back.store.audit.checkpoint()
    proof = Log.continued(rolled_back.store.audit, found.restored.size)[1]
    forged = RestoredLog(later, found.entry, found.included[:-1] or [b"x" * 32], found.restored, proof)
    monkeypatch.setattr(rolled_back.store.restorations, "newest", lambda: forged)
    error = refused(ErrorCode.AUDIT, types, rolled_back, "project", "accept-restore", "trial", "--yes")
    assert "a restoration that is not in the log she has signed" in str(error)
