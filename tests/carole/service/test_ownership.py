"""Two coordinators and two stewards over real mutual TLS: whose a project is, and how it comes to another."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from structlog.testing import capture_logs
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.audit.statements import HandOver, TakeOver
from gemel.common.errors import ErrorCode
from gemel.common.keys.check import key_check_value
from gemel.common.keys.epochs import approval_parts, verify_new_epoch
from gemel.common.keys.identity import IdentityKey, PublicIdentity, SigningPurpose
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import PARTIES, Role, Side
from gemel.common.pki.certificates import Validity
from gemel.common.pki.members import Members
from gemel.coordinator.client.client_configuration import template
from gemel.coordinator.provisioning import provision
from gemel.protos.linkage.v1 import coordination_pb2, custody_pb2, project_pb2, resolution_pb2
from tests.carole.deployment import DIGEST, ENCODING, SEED, SPECIFICATION, Deployment, coordination, eventually, steward
from tests.carole.refusals import refused
from tests.carole.service.test_stewardship import hold
from tests.console.consoles import wide_consoles

REASON = "she leaves for the ministry in May"
TEXT = SPECIFICATION.replace("results_days: 30", "results_days: 29")
RUN = "0" * 32


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """The usual parties, with a second coordinator and a second steward."""
    return provision(
        tmp_path_factory.mktemp("several") / "parties",
        linker_names=["127.0.0.1"],
        validity=Validity.lasting(timedelta(hours=6)),
        parties={**PARTIES, "successor": Role.COORDINATOR, "second": Role.STEWARD},
    )


@pytest.fixture
def deployment(several, tmp_path, request):
    made = Deployment(several, tmp_path / "carole")
    made.records = getattr(request.module, "RECORDS", made.records)
    listed(made)
    made.configuration.write_text(made.configuration.read_text() + f"members: {tmp_path / 'members.yaml'}\n")
    made.start()
    made.keyed()
    yield made
    made.stop()


def listed(made, *without):
    """Carole's membership list."""
    left = Members(member for member in made.parties.members if member.name not in without)
    (made.root.parent / "members.yaml").write_text(left.dump())


def types(made, party, *words):
    """What a command prints, typed by a coordinator or a steward."""
    role = made.parties.members.named(party).role
    folder = made.root / f"{party}-state"
    folder.mkdir(exist_ok=True)
    config = made.root / f"{party}.yaml"
    config.write_text(template(made.address, keys=str(made.parties.parties[party].path), state=str(folder), role=role))
    group = "steward" if role is Role.STEWARD else "project"
    with wide_consoles():
        result = CliRunner().invoke(app, [group, *words, "--config", str(config)])
    if result.exception is not None:
        raise result.exception
    return " ".join(result.output.split())


def identity(made, party):
    return open_identity(None, made.parties.parties[party].identity)


def handed(made):
    words = ("hand-over", "trial", "--to", "successor", "--reason", REASON, "--yes")
    assert "`gemel project take-over trial`" in types(made, "coordinator", *words)


def others_calls(made, party):
    """Every call of a coordinator's that is for a project's owner."""
    coordinator, connection = made.coordinator(party), made.connect(party)
    stub, reports = coordination(connection), steward(made, party)
    fetch = resolution_pb2.FetchArtifactRequest(
        project="trial", run=RUN, artifact=resolution_pb2.RUN_ARTIFACT_RESOLUTION_REQUEST
    )
    put = resolution_pb2.PutArtifactRequest(
        project="trial", run=RUN, artifact=resolution_pb2.RUN_ARTIFACT_RESOLUTION_RESULT
    )
    return [
        (coordinator.approve, ("trial", DIGEST)),
        (coordinator.amend, (TEXT,)),
        (coordinator.open_epoch, ("trial", 2, ENCODING, REASON)),
        (coordinator.start, ("trial",)),
        (coordinator.statistics, ("trial", RUN)),
        (coordinator.erase, ("trial",)),
        (connection.call, (stub.FetchArtifact, fetch)),
        (connection.call, (stub.PutArtifact, put)),
        (reports.report, ("trial", RUN)),
    ]


def test_another_coordinator_reads_the_state_and_is_refused_all_else(deployment):
    before = deployment.store.audit.entries("trial")
    for call, arguments in others_calls(deployment, "successor"):
        error = refused(ErrorCode.NOT_ADMITTED, call, *arguments)
        assert "belongs to the coordinator coordinator" in str(error)
        assert "hand-over" in error.remedy
    refused(ErrorCode.EXISTS, deployment.coordinator("successor").create, SPECIFICATION)
    assert deployment.store.audit.entries("trial") == before
    denied = {entry.details["method"] for entry in deployment.store.audit.entries() if entry.action == "deny"}
    assert len(denied) == len(others_calls(deployment, "successor")), "a steward sees who tried what"
    status = deployment.coordinator("successor").get("trial")[0]
    assert (status.owner, status.successor, status.state) == ("coordinator", "", project_pb2.PROJECT_STATE_KEYED)
    assert "coordinator" in types(deployment, "successor", "status")
    words = ("hand-over", "trial", "--to", "successor", "--reason", REASON, "--yes")
    assert "belongs to" in str(refused(ErrorCode.NOT_ADMITTED, types, deployment, "successor", *words))
    error = refused(ErrorCode.NOT_ADMITTED, types, deployment, "successor", "take-over", "trial", "--yes")
    assert "was not handed over to you" in str(error)


def test_a_project_is_handed_over_and_taken_by_two_signatures_that_the_log_has(deployment):
    handed(deployment)
    assert "coordinator, handed over to successor" in types(deployment, "coordinator", "status")
    assert deployment.coordinator().get("trial")[0].owner == "coordinator"
    shown = types(deployment, "successor", "take-over", "trial", "--yes")
    assert REASON in shown
    assert DIGEST.hex() in shown
    status = deployment.coordinator("successor").get("trial")[0]
    assert (status.owner, status.successor, status.state) == ("successor", "", project_pb2.PROJECT_STATE_KEYED)
    # Custodians find the new owner's signature on the specification, which they need before they seal to it.
    successor = identity(deployment, "successor").public
    (consent,) = [given for given in status.approvals if given.member == "successor"]
    successor.verify(consent.signature, SigningPurpose.APPROVAL, *approval_parts("trial", DIGEST, 1))
    for call, arguments in others_calls(deployment, "coordinator"):
        assert "belongs to the coordinator successor" in str(refused(ErrorCode.NOT_ADMITTED, call, *arguments))
    entries = {entry.action: entry for entry in steward(deployment).entries("trial")}
    offer, taken = entries["hand-over"], entries["take-over"]
    assert (offer.actor, offer.details["reason"], taken.actor) == ("coordinator", REASON, "successor")
    checkpoint = deployment.store.audit.at
    signature = bytes.fromhex(offer.details["signature"])
    statement = HandOver("trial", "coordinator", "successor", checkpoint(offer.details["entries"]), REASON)
    statement.verify(identity(deployment, "coordinator").public, signature)
    act = TakeOver("trial", "coordinator", "successor", checkpoint(taken.details["entries"]), signature)
    act.verify(successor, bytes.fromhex(taken.details["signature"]))


def test_a_lost_reply_a_withdrawal_and_a_successor_that_cannot_be_one(deployment):
    for _ in range(2):
        handed(deployment)
    words = ("hand-over", "trial", "--reason", REASON, "--yes", "--to")
    for nobody in ("steward", "alice", "stranger"):
        error = refused(ErrorCode.PARAMETER, types, deployment, "coordinator", *words, nobody)
        assert "must be a coordinator in the membership list" in str(error)
    types(deployment, "coordinator", *words, "coordinator")
    refused(ErrorCode.NOT_ADMITTED, types, deployment, "successor", "take-over", "trial", "--yes")
    handed(deployment)
    types(deployment, "successor", "take-over", "trial", "--yes")
    before = deployment.store.audit.checkpoint()
    types(deployment, "successor", "take-over", "trial", "--yes")
    assert deployment.store.audit.checkpoint() == before


def test_forged_statements_change_nothing(deployment):
    connection = deployment.connect("coordinator")
    seen = deployment.store.audit.checkpoint()
    statement = HandOver("trial", "coordinator", "successor", seen, REASON)
    request = {"project": "trial", "successor": "successor", "reason": REASON, "seen": seen.size}

    def offer(**changes):
        signature = statement.sign(identity(deployment, "coordinator"))
        message = coordination_pb2.HandOverRequest(**{**request, "signature": signature, **changes})
        return connection.call(coordination(connection).HandOver, message)

    refused(ErrorCode.SIGNATURE, offer, signature=statement.sign(identity(deployment, "successor")))
    refused(ErrorCode.SIGNATURE, offer, reason=REASON + "!")
    refused(ErrorCode.SIGNATURE, offer, seen=seen.size - 1)
    refused(ErrorCode.PARAMETER, offer, reason="no")
    refused(ErrorCode.AUDIT, offer, seen=seen.size + 100)
    refused(ErrorCode.AUDIT, offer, seen=2**64 - 1)
    assert offer()
    offered = deployment.store.projects.get("trial").hand_over
    successor = deployment.connect("successor")
    taken = TakeOver("trial", "coordinator", "successor", seen, offered.signature)
    mine = identity(deployment, "successor")
    good = {
        "project": "trial",
        "seen": seen.size,
        "signature": taken.sign(mine),
        "specification_digest": DIGEST,
        "approval": mine.sign(SigningPurpose.APPROVAL, *approval_parts("trial", DIGEST, 1)),
        "epoch": 1,
    }

    def take(**changes):
        message = coordination_pb2.TakeOverRequest(**{**good, **changes})
        return successor.call(coordination(successor).TakeOver, message)

    other = identity(deployment, "coordinator")
    refused(ErrorCode.SIGNATURE, take, signature=taken.sign(other))
    refused(ErrorCode.SIGNATURE, take, approval=bytes(64))
    refused(ErrorCode.SIGNATURE, take, epoch=2)
    refused(ErrorCode.SIGNATURE, take, specification_digest=bytes(32))
    assert deployment.store.projects.get("trial").owner == "coordinator"
    assert take()
    assert deployment.store.projects.get("trial").owner == "successor"


def test_a_project_taken_over_between_two_epochs_goes_on_by_the_successors_signature(deployment):
    """Custodians enter an epoch that the project's owner has signed: who takes it over signs the epoch, too."""
    reason = "Bob has lost his seed together with his state"
    deployment.coordinator().open_epoch("trial", 2, ENCODING, reason)
    handed(deployment)
    successor, project = identity(deployment, "successor"), deployment.store.projects.get("trial")
    seen = deployment.store.audit.checkpoint()
    unsigned = coordination_pb2.TakeOverRequest(
        project="trial",
        seen=seen.size,
        signature=TakeOver("trial", "coordinator", "successor", seen, project.hand_over.signature).sign(successor),
        specification_digest=DIGEST,
        approval=successor.sign(SigningPurpose.APPROVAL, *approval_parts("trial", DIGEST, 2)),
        epoch=2,
    )
    connection = deployment.connect("successor")
    refused(ErrorCode.SIGNATURE, connection.call, coordination(connection).TakeOver, unsigned)
    shown = types(deployment, "successor", "take-over", "trial", "--yes")
    assert f'Custodians enter epoch 2 by your signature. coordinator opened it with the reason: "{reason}"' in shown
    alice, bob = (deployment.custodian(side) for side in Side)
    opened = alice.next_task().new_epoch
    assert (opened.epoch, opened.member, opened.reason) == (2, "successor", reason)
    verify_new_epoch(successor.public, opened.signature, "trial", ENCODING, 2, reason)
    for custodian in (alice, bob):
        custodian.approve(epoch=2)
    for custodian in (alice, bob):
        custodian.report_keys(key_check_value(SEED, "trial", ENCODING, 2), epoch=2)
    assert deployment.coordinator().get("trial")[0].state == project_pb2.PROJECT_STATE_KEYED
    entry = steward(deployment).entries("trial")
    (taken,) = [found for found in entry if found.action == "take-over"]
    verify_new_epoch(
        successor.public, bytes.fromhex(str(taken.details["epoch_signature"])), "trial", ENCODING, 2, reason
    )


def test_a_steward_hands_over_what_belonged_to_one_who_has_left(deployment):
    words = ("hand-over", "trial", "--from", "coordinator", "--to", "successor", "--reason", REASON, "--yes")
    error = refused(ErrorCode.NOT_ADMITTED, types, deployment, "steward", *words)
    assert "only where its owner is no longer a member" in str(error)
    listed(deployment, "coordinator")
    deployment.restart()
    error = refused(ErrorCode.NOT_ADMITTED, deployment.coordinator("successor").start, "trial")
    assert "a steward does" in error.remedy
    stranger = [word if word != "coordinator" else "stranger" for word in words]
    refused(ErrorCode.WRONG_STATE, types, deployment, "steward", *stranger)
    types(deployment, "steward", *words)
    assert f'steward hands over the project of coordinator with the reason: "{REASON}"' in types(
        deployment, "successor", "take-over", "trial", "--yes"
    )
    entries = {entry.action: entry for entry in steward(deployment).entries("trial")}
    assert (entries["hand-over"].actor, entries["hand-over"].details["role"]) == ("steward", "steward")
    assert deployment.store.projects.get("trial").owner == "successor"


def test_a_stewards_offer_ends_with_the_owners_absence(deployment):
    words = ("hand-over", "trial", "--from", "coordinator", "--to", "successor", "--reason", REASON, "--yes")
    listed(deployment, "coordinator")
    deployment.restart()
    types(deployment, "steward", *words)
    listed(deployment)
    deployment.restart()
    error = refused(ErrorCode.NOT_ADMITTED, types, deployment, "successor", "take-over", "trial", "--yes")
    assert "only where its owner is no longer a member" in str(error)
    assert deployment.store.projects.get("trial").owner == "coordinator"


def test_the_name_of_an_owner_who_has_left_is_not_given_to_another_party(deployment, monkeypatch):
    monkeypatch.setattr("gemel.common.rpc.trust.LOOK_SECONDS", 0.05)
    listed(deployment, "coordinator")
    deployment.restart()
    another = PublicIdentity(IdentityKey.create().public)
    stranger = replace(deployment.parties.members.named("coordinator"), identity=another)
    others = [member for member in deployment.parties.members if member.name != "coordinator"]
    file = deployment.root.parent / "members.yaml"
    with capture_logs() as logged:
        file.write_text(Members([*others, stranger]).dump())
        eventually(lambda: any("cannot be used" in entry["event"] for entry in logged))
    (reason,) = {entry["reason"] for entry in logged if "cannot be used" in entry["event"]}
    assert "the name coordinator was another member's, to whom projects belong" in reason
    assert "coordinator" not in (deployment.store.audit.last_members() or {})
    error = refused(ErrorCode.CONFIGURATION, deployment.restart)
    assert "`gemel steward hand-over`" in error.remedy
    # Who had the name may come back, and renew its keys while it is listed.
    listed(deployment)
    deployment.restart()
    file.write_text(Members([*others, stranger]).dump())
    eventually(
        lambda: (deployment.store.audit.last_members() or {})["coordinator"]["identity"] in stranger.identity.hex
    )


def test_before_a_release_its_owner_and_stewards_alone_see_how_many_links(deployment, uploads):
    run = hold(deployment, uploads)

    def shown(status):
        return status.run.links, status.run.links_withheld

    def seen():
        """By the owner, a steward, another coordinator, a custodian."""
        (listed,) = deployment.coordinator("successor").projects()
        status, _ = deployment.coordinator("successor").get("trial")
        custodian = deployment.custodian(Side.BOB)
        request = custody_pb2.NextTaskRequest(waiting=["trial"])
        (told,) = custodian.call(custodian.stub.NextTask, request).projects
        assert shown(listed) == shown(status)
        owners, _ = deployment.coordinator().get("trial")
        return [shown(owners), *(shown(each) for each in steward(deployment).assessed()), shown(status), shown(told)]

    assert seen() == [(3, False), (3, False), (0, True), (0, True)]
    raw = coordination_pb2.GetRunRequest(project="trial", run=run)
    connection = deployment.connect("successor")
    assert connection.call(coordination(connection).GetRun, raw).run.links_withheld
    assert "done" in types(deployment, "successor", "status")
    decider = steward(deployment)
    decider.decide("trial", run, decider.report("trial", run).sha256, release=True, reason=REASON)
    assert seen() == [(3, False)] * 4


def test_why_a_custodian_declined_is_for_the_projects_owner(deployment):
    deployment.custodian(Side.ALICE).decline(REASON)
    for party, reason in (("coordinator", REASON), ("successor", "")):
        side = deployment.coordinator(party).get("trial")[0].sides[0]
        assert (side.declined, side.decline_reason) == (True, reason)
