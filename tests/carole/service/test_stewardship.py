"""A steward's calls over real mutual TLS: reports, decisions, the log with its proofs, and refusals."""

from __future__ import annotations

import hashlib
import json

import pytest
from sqlalchemy import update

from gemel.carole.projects.project import PolicyDecision
from gemel.carole.store.results import REPORT
from gemel.carole.store.tables import projects
from gemel.common.audit import verify_inclusion
from gemel.common.audit.statements import StewardDecision
from gemel.common.errors import ErrorCode
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Role, Side
from gemel.protos.linkage.v1 import project_pb2, stewardship_pb2, stewardship_pb2_grpc
from tests.carole.deployment import SPECIFICATION, steward
from tests.carole.refusals import refused
from tests.carole.trial import take

DOCUMENT = json.dumps(
    {"breaches": [{"measure": "correct_matches", "value": 0.4, "limit": 0.1}], "filler": "x" * (2 << 20)}
).encode()
JUDGEMENT = PolicyDecision({"correct_matches": 0.4}, ("correct_matches",), hashlib.sha256(DOCUMENT).digest())
REASON = "used inside the secure room only, see the minutes of May"


@pytest.fixture
def held(deployment, uploads):
    """A deployment with a result that the policy holds, and its run."""
    deployment.keyed()
    return deployment, hold(deployment, uploads)


def hold(deployment, uploads, signatures=1):
    """A run of a project whose keys agree, with a result of 3 links that the policy holds."""
    deployment.contribute(uploads)
    with deployment.store._database.write() as connection:
        connection.execute(update(projects).values(policy="hold", signatures=signatures))
    run = deployment.coordinator().start("trial").run
    lease = take(deployment.store)
    shares = {str(Role.CUSTODIAN_A): [b"share"], str(Role.COORDINATOR): [b"{}"], REPORT: [DOCUMENT]}
    deployment.store.runs.finish(lease, 3, shares, JUDGEMENT)
    return run


def test_a_held_result_cannot_be_fetched_until_a_steward_releases_it(held):
    deployment, run = held
    assert deployment.coordinator().get("trial")[0].state == project_pb2.PROJECT_STATE_HELD
    assert "steward" in deployment.coordinator().get("trial")[0].blocking_error
    refused(ErrorCode.WRONG_STATE, deployment.coordinator().statistics, "trial", run)
    refused(ErrorCode.WRONG_STATE, deployment.custodian(Side.ALICE).fetch, run)
    decider = steward(deployment)
    assert [status.project for status in decider.assessed()] == ["trial"]
    report = decider.report("trial", run)
    assert report.text == DOCUMENT
    assert deployment.coordinator().report("trial", run) == report
    refused(ErrorCode.NOT_FOUND, deployment.coordinator().report, "trial", "0" * 32)
    refused(ErrorCode.PARAMETER, decider.decide, "trial", run, report.sha256, release=True, reason="ok")
    refused(ErrorCode.SIGNATURE, decider.decide, "trial", run, bytes(32), release=True, reason=REASON)
    status = decider.decide("trial", run, report.sha256, release=True, reason=REASON)
    assert status.state == project_pb2.PROJECT_STATE_RELEASED
    assert deployment.custodian(Side.ALICE).fetch(run)[0] == b"share"
    refused(ErrorCode.WRONG_STATE, decider.decide, "trial", run, report.sha256, release=False, reason=REASON)
    reported = {entry.action: entry.details for entry in decider.entries("trial")}
    assert reported["override"]["reason"] == REASON
    assert len(bytes.fromhex(reported["override"]["signature"])) == 64
    assert reported["assess"]["report"] == JUDGEMENT.report.hex()
    assert reported["assess"]["correct_matches"] == 0.4
    assert reported["release"]["assessment"] == "overridden by a steward"


def test_what_a_steward_has_signed_verifies_from_the_log_alone(held):
    """The reason is signed as the log keeps it: else a steward could deny what the log says that it signed."""
    deployment, run = held
    decider, reason = steward(deployment), "used  inside the\nsecure room, see\u202e May"
    report = decider.report("trial", run).sha256
    signer = open_identity(None, deployment.parties.parties["steward"].identity)
    signature = StewardDecision("trial", run, report, True, reason).sign(signer)
    raw = stewardship_pb2.DecideRequest(project="trial", run=run, release=True, reason=reason, signature=signature)
    connection = deployment.connect("steward")
    stub = connection.stub(stewardship_pb2_grpc.StewardshipStub)
    refused(ErrorCode.SIGNATURE, connection.call, stub.Decide, raw)
    decider.decide("trial", run, report, release=True, reason=reason)
    (entry,) = [entry for entry in decider.entries("trial") if entry.action == "override"]
    kept = str(entry.details["reason"])
    assert kept == "used inside the secure room, see May"
    signed = bytes.fromhex(str(entry.details["signature"]))
    StewardDecision("trial", run, report, True, kept).verify(signer.public, signed)


def test_a_steward_refuses_and_nothing_is_ever_fetched(held):
    deployment, run = held
    decider = steward(deployment)
    report = decider.report("trial", run)
    status = decider.decide("trial", run, report.sha256, release=False, reason=REASON)
    assert status.state == project_pb2.PROJECT_STATE_ASSESSED
    refused(ErrorCode.WRONG_STATE, decider.decide, "trial", run, report.sha256, release=True, reason=REASON)
    refused(ErrorCode.WRONG_STATE, deployment.custodian(Side.ALICE).fetch, run)
    amended = SPECIFICATION.replace("bob: pairs", "bob: statistics")
    assert deployment.coordinator().amend(amended).state == project_pb2.PROJECT_STATE_DRAFT
    refused(ErrorCode.WRONG_STATE, deployment.custodian(Side.ALICE).fetch, run)
    refused(ErrorCode.ENCODING_MISMATCH, deployment.coordinator().amend, amended.replace("bits: 1024", "bits: 512"))


def test_a_coordinator_reads_reports_and_neither_the_list_nor_the_log(held):
    deployment, _ = held
    reader = steward(deployment, "coordinator")
    refused(ErrorCode.NOT_ADMITTED, reader.assessed)
    refused(ErrorCode.NOT_ADMITTED, lambda: list(reader.entries()))


def test_a_coordinator_decides_nothing_and_a_denied_call_is_in_the_log_once(held):
    deployment, run = held
    report = steward(deployment).report("trial", run)
    for _ in range(3):
        refused(
            ErrorCode.NOT_ADMITTED,
            steward(deployment, "coordinator").decide,
            "trial",
            run,
            report.sha256,
            release=True,
            reason=REASON,
        )
    denied = [entry for entry in steward(deployment).entries() if entry.action == "deny"]
    assert [(entry.actor, entry.details["method"]) for entry in denied] == [
        ("coordinator", "/linkage.v1.Stewardship/Decide")
    ]


def test_entries_come_with_proofs_and_a_changed_one_is_refused(held):
    deployment, _ = held
    reader = steward(deployment)
    entries = list(reader.entries())
    assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1))
    connection = deployment.connect("steward")
    answer = connection.call(reader._stub.ListEntries, stewardship_pb2.ListEntriesRequest(project="trial"))
    for reported, entry in zip(answer.entries, reader.entries("trial"), strict=True):
        proof = list(reported.included)
        checkpoint = answer.checkpoint
        assert verify_inclusion(entry.leaf, entry.sequence - 1, checkpoint.size, proof, checkpoint.root)
        assert not verify_inclusion(bytes(32), entry.sequence - 1, checkpoint.size, proof, checkpoint.root)


def test_reports_that_do_not_exist(held):
    deployment, run = held
    refused(ErrorCode.NOT_FOUND, steward(deployment).report, "trial", "0" * 32)
    refused(ErrorCode.NOT_FOUND, steward(deployment).report, "other", run)
    deployment.coordinator().erase("trial")
    refused(ErrorCode.WRONG_STATE, steward(deployment).report, "trial", run)
