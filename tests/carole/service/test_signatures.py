"""Two stewards over real mutual TLS: whose signatures release a held result, and which specifications Carole takes."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.audit.statements import StewardDecision
from gemel.common.errors import ErrorCode
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Side
from gemel.common.pki.members import Members
from gemel.common.specification import load_specification, specification_digest
from gemel.protos.linkage.v1 import project_pb2
from tests.carole.deployment import SPECIFICATION, steward
from tests.carole.refusals import refused
from tests.carole.service.test_ownership import deployment, listed, several, types
from tests.carole.service.test_stewardship import REASON, hold
from tests.console.consoles import wide_consoles

__all__ = ["deployment", "several"]

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
def held(deployment, uploads):
    """A result that the policy holds until two stewards have signed; and its run."""
    return deployment, hold(deployment, uploads, signatures=2)


def spec_check(specification, members):
    with wide_consoles():
        result = CliRunner().invoke(app, ["spec", "check", str(specification), "--members", str(members)])
    assert result.exception is None, result.output
    return " ".join(result.output.split())


def test_two_stewards_sign_and_all_see_who_is_awaited(held):
    deployment, run = held
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
        StewardDecision("trial", run, report, True, entry.details["reason"]).verify(identity, signature)


def test_the_second_may_refuse_what_the_first_has_signed(held):
    deployment, run = held
    first, second = steward(deployment), steward(deployment, "second")
    report = first.report("trial", run).sha256
    first.decide("trial", run, report, release=True, reason=REASON)
    status = second.decide("trial", run, report, release=False, reason=REASON)
    assert (status.state, list(status.signed)) == (project_pb2.PROJECT_STATE_ASSESSED, [])
    refused(ErrorCode.WRONG_STATE, deployment.custodian(Side.ALICE).fetch, run)


def test_the_signature_of_a_steward_who_was_removed_does_not_count(held):
    deployment, run = held
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


def test_carole_takes_no_specification_that_needs_more_stewards_than_are_listed(deployment):
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


def test_the_check_of_a_specification_warns_where_it_is_given_the_list(deployment, tmp_path):
    specification, members = tmp_path / "linkage.yaml", tmp_path / "known.yaml"
    specification.write_text(TWO)
    fewer = Members(member for member in deployment.parties.members if member.name != "second")
    for known, warned in ((deployment.parties.members, False), (fewer, True)):
        members.write_text(known.dump())
        shown = spec_check(specification, members)
        assert ("the membership list has 1" in shown) is warned
        assert "only when two different members of the role steward have signed" in shown
