"""A steward's calls over real mutual TLS: reports, decisions, the log with its proofs, and refusals."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from sqlalchemy import update
from typer.testing import CliRunner

from gemel.carole.projects.project import PolicyDecision
from gemel.carole.store.database import Database
from gemel.carole.store.results import REPORT
from gemel.carole.store.tables import projects
from gemel.command import app
from gemel.common.audit import verify_inclusion
from gemel.common.audit.steward_decision import sign_decision, verify_decision
from gemel.common.errors import ErrorCode
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Role, Side
from gemel.common.pki.members import Members
from gemel.common.specification import load_specification, specification_digest
from gemel.coordinator.client.steward_client import Steward
from gemel.protos.linkage.v1 import project_pb2, stewardship_pb2, stewardship_pb2_grpc
from tests.carole.deployment import SPECIFICATION, Deployment, Upload
from tests.carole.refusals import refused
from tests.carole.service.test_ownership import deployment, listed, several, types
from tests.carole.trial import take
from tests.consoles import wide_consoles

__all__ = ["deployment", "several"]

DOCUMENT = json.dumps(
    {"breaches": [{"measure": "correct_matches", "value": 0.4, "limit": 0.1}], "filler": "x" * (2 << 20)}
).encode()
JUDGEMENT = PolicyDecision({"correct_matches": 0.4}, ("correct_matches",), hashlib.sha256(DOCUMENT).digest())
REASON = "used inside the secure room only, see the minutes of May"


def steward(deployment: Deployment, party: str = "steward") -> Steward:
    folder = deployment.parties.parties[party]
    linker = deployment.parties.members.in_role(Role.LINKER).identity
    return Steward(deployment.connect(party), open_identity(None, folder.identity), linker)


@pytest.fixture
def held(deployment: Deployment, uploads: dict[Side, Upload]) -> tuple[Deployment, str]:
    """A deployment with a result that the policy holds, and its run."""
    deployment.keyed()
    return deployment, hold(deployment, uploads)


def hold(deployment: Deployment, uploads: dict[Side, Upload]) -> str:
    """A run of a project whose keys agree, with a result of 3 links that the policy holds."""
    for side in Side:
        deployment.custodian(side).contribute(uploads[side])
    database = Database(f"sqlite:///{deployment.root / 'store' / 'carole.db'}")
    database.holder = deployment.store.holder
    with database.write() as connection:
        connection.execute(update(projects).values(policy="hold"))
    database.close()
    run = deployment.coordinator().start("trial").run
    lease = take(deployment.store)
    shares = {str(Role.CUSTODIAN_A): [b"share"], str(Role.COORDINATOR): [b"{}"], REPORT: [DOCUMENT]}
    deployment.store.runs.finish(lease, 3, shares, JUDGEMENT)
    return run


def test_a_held_result_cannot_be_fetched_until_a_steward_releases_it(held: tuple[Deployment, str]) -> None:
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


def test_what_a_steward_has_signed_verifies_from_the_log_alone(held: tuple[Deployment, str]) -> None:
    """The reason is signed as the log keeps it: else a steward could deny what the log says that it signed."""
    deployment, run = held
    decider, reason = steward(deployment), "used  inside the\nsecure room, see\u202e May"
    report = decider.report("trial", run).sha256
    signer = open_identity(None, deployment.parties.parties["steward"].identity)
    signature = sign_decision(signer, "trial", run, report, release=True, reason=reason)
    raw = stewardship_pb2.DecideRequest(project="trial", run=run, release=True, reason=reason, signature=signature)
    connection = deployment.connect("steward")
    stub = connection.stub(stewardship_pb2_grpc.StewardshipStub)
    refused(ErrorCode.SIGNATURE, connection.call, stub.Decide, raw)
    decider.decide("trial", run, report, release=True, reason=reason)
    (entry,) = [entry for entry in decider.entries("trial") if entry.action == "override"]
    kept = str(entry.details["reason"])
    assert kept == "used inside the secure room, see May"
    signed = bytes.fromhex(str(entry.details["signature"]))
    verify_decision(signer.public, signed, "trial", run, report, release=True, reason=kept)


def test_a_steward_refuses_and_nothing_is_ever_fetched(held: tuple[Deployment, str]) -> None:
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


def test_a_coordinator_reads_reports_and_neither_the_list_nor_the_log(held: tuple[Deployment, str]) -> None:
    deployment, _ = held
    reader = steward(deployment, "coordinator")
    refused(ErrorCode.NOT_ADMITTED, reader.assessed)
    refused(ErrorCode.NOT_ADMITTED, lambda: list(reader.entries()))


def test_a_coordinator_decides_nothing_and_a_denied_call_is_in_the_log_once(held: tuple[Deployment, str]) -> None:
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


def test_entries_come_with_proofs_and_a_changed_one_is_refused(held: tuple[Deployment, str]) -> None:
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


def test_reports_that_do_not_exist(held: tuple[Deployment, str]) -> None:
    deployment, run = held
    refused(ErrorCode.NOT_FOUND, steward(deployment).report, "trial", "0" * 32)
    refused(ErrorCode.NOT_FOUND, steward(deployment).report, "other", run)
    deployment.coordinator().erase("trial")
    refused(ErrorCode.WRONG_STATE, steward(deployment).report, "trial", run)


# Two stewards over real mutual TLS: whose signatures release a held_by_two result, and which specifications Carole
# takes.

HELD, RELEASED = project_pb2.PROJECT_STATE_HELD, project_pb2.PROJECT_STATE_RELEASED
TWO = (
    SPECIFICATION.replace("project: trial", "project: twice")
    + """
variables:
  - {name: age, holder: alice, categories: [young, old], role: key}
assessment:
  fractions: {alice: 0.2, bob: 0.1, combined: 0.05}
  limits: {sample_uniques: 0.05}
  on_breach: hold
  signatures: 2
"""
)


@pytest.fixture
def held_by_two(deployment: Deployment, uploads: dict[Side, Upload]) -> tuple[Deployment, str]:
    """A result that the policy holds until two stewards have signed; and its run."""
    for side in Side:
        deployment.custodian(side).contribute(uploads[side])
    database = Database(f"sqlite:///{deployment.root / 'store' / 'carole.db'}")
    database.holder = deployment.store.holder
    with database.write() as connection:
        connection.execute(update(projects).values(policy="hold", signatures=2))
    database.close()
    run = deployment.coordinator().start("trial").run
    lease = take(deployment.store)
    shares = {str(Role.CUSTODIAN_A): [b"share"], str(Role.COORDINATOR): [b"{}"], REPORT: [DOCUMENT]}
    deployment.store.runs.finish(lease, 3, shares, JUDGEMENT)
    return deployment, run


def spec_check(specification: Path, members: Path) -> str:
    with wide_consoles():
        result = CliRunner().invoke(app, ["spec", "check", str(specification), "--members", str(members)])
    assert result.exception is None, result.output
    return " ".join(result.output.split())


def test_two_stewards_sign_and_all_see_who_is_awaited(held_by_two: tuple[Deployment, str]) -> None:
    deployment, run = held_by_two
    first, second = steward(deployment), steward(deployment, "second")
    report = first.report("trial", run).sha256
    (status,) = first.assessed()
    assert (status.signatures, list(status.signed), list(status.signers)) == (2, [], ["steward", "second"])
    for _ in range(2):  # its reply may have been lost
        status = first.decide("trial", run, report, release=True, reason=REASON)
    assert (status.state, list(status.signed), list(status.signers)) == (HELD, ["steward"], ["second"])
    for shown in (deployment.coordinator().get("trial")[0], *second.assessed(), *deployment.coordinator().projects()):
        assert (list(shown.signed), list(shown.signers)) == (["steward"], ["second"])
    # A custodian sees that two must sign and who has, and not who else is a steward.
    (told,) = deployment.custodian(Side.ALICE).next_task().projects
    assert (told.signatures, list(told.signed), list(told.signers)) == (2, ["steward"], [])
    assert "it awaits 1 more of second" in types(deployment, "coordinator", "status")
    refused(ErrorCode.WRONG_STATE, deployment.custodian(Side.ALICE).fetch, run)
    refused(ErrorCode.SIGNATURE, second.decide, "trial", run, bytes(32), release=True, reason=REASON)
    assert second.decide("trial", run, report, release=True, reason=REASON + "!").state == RELEASED
    assert deployment.custodian(Side.ALICE).fetch(run)[0] == b"share"
    overrides = [entry for entry in first.entries("trial") if entry.action == "override"]
    assert [entry.actor for entry in overrides] == ["steward", "second"]
    for entry in overrides:
        identity = open_identity(None, deployment.parties.parties[entry.actor].identity).public
        signature = bytes.fromhex(entry.details["signature"])
        verify_decision(identity, signature, "trial", run, report, release=True, reason=entry.details["reason"])


def test_the_second_may_refuse_what_the_first_has_signed(held_by_two: tuple[Deployment, str]) -> None:
    deployment, run = held_by_two
    first, second = steward(deployment), steward(deployment, "second")
    report = first.report("trial", run).sha256
    first.decide("trial", run, report, release=True, reason=REASON)
    status = second.decide("trial", run, report, release=False, reason=REASON)
    assert (status.state, list(status.signed)) == (project_pb2.PROJECT_STATE_ASSESSED, [])
    refused(ErrorCode.WRONG_STATE, deployment.custodian(Side.ALICE).fetch, run)


def test_the_signature_of_a_steward_who_was_removed_does_not_count(held_by_two: tuple[Deployment, str]) -> None:
    deployment, run = held_by_two
    report = steward(deployment).report("trial", run).sha256
    steward(deployment).decide("trial", run, report, release=True, reason=REASON)
    listed(deployment, "steward")
    deployment.restart()
    second = steward(deployment, "second")
    status = second.decide("trial", run, report, release=True, reason=REASON)
    assert (status.state, list(status.signed), list(status.signers)) == (HELD, ["second"], [])
    assert "a steward who is not yet a member" in types(deployment, "second", "list")
    listed(deployment)
    deployment.restart()
    status = steward(deployment).decide("trial", run, report, release=True, reason=REASON)
    assert status.state == RELEASED


def test_carole_takes_no_specification_that_needs_more_stewards_than_are_listed(deployment: Deployment) -> None:
    digest = specification_digest(load_specification(TWO, "test"))
    listed(deployment, "second")
    deployment.restart()
    error = refused(ErrorCode.SPECIFICATION, deployment.coordinator().create, TWO)
    assert "the membership list has fewer" in str(error)
    assert "make another steward a member" in error.remedy
    one = TWO.replace("signatures: 2", "signatures: 1")
    assert deployment.coordinator().create(one).signatures == 1
    refused(ErrorCode.SPECIFICATION, deployment.coordinator().amend, TWO)
    listed(deployment)
    deployment.restart()
    assert deployment.coordinator().amend(TWO).signatures == 2
    listed(deployment, "steward")
    deployment.restart()
    refused(ErrorCode.SPECIFICATION, deployment.coordinator().approve, "twice", digest)
    listed(deployment)
    deployment.restart()
    assert len(deployment.coordinator().approve("twice", digest).approvals) == 1


def test_the_check_of_a_specification_warns_where_it_is_given_the_list(deployment: Deployment, tmp_path: Path) -> None:
    specification, members = tmp_path / "linkage.yaml", tmp_path / "known.yaml"
    specification.write_text(TWO)
    fewer = Members(member for member in deployment.parties.members if member.name != "second")
    for known, warned in ((deployment.parties.members, False), (fewer, True)):
        members.write_text(known.dump())
        shown = spec_check(specification, members)
        assert ("the membership list has 1" in shown) is warned
        assert "only when two different members of the role steward have signed" in shown
