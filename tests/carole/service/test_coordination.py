"""Carole's service for the coordinator, over real mutual TLS."""

from __future__ import annotations

import json

import pytest

from gemel.common.audit.statements import CustodianDecline
from gemel.common.errors import ErrorCode
from gemel.common.keys.check import PART_BYTES, key_check_value
from gemel.common.keys.epochs import MAX_EPOCHS, verify_new_epoch
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Role, Side
from gemel.common.specification import load_specification, specification_digest
from gemel.protos.linkage.v1 import coordination_pb2, custody_pb2, project_pb2
from tests.carole.deployment import DIGEST, ENCODING, KEY_CHECK, SEED, SPECIFICATION, Upload, coordination, steward
from tests.carole.engine.no_statistics import NO_STATISTICS
from tests.carole.refusals import refused
from tests.carole.service.test_stewardship import held
from tests.carole.trial import take

__all__ = ["held"]


@pytest.fixture
def contributed(deployment, uploads):
    deployment.keyed()
    deployment.contribute(uploads)
    return deployment


def test_an_invalid_specification_is_refused_with_all_its_issues(deployment):
    bad = SPECIFICATION.replace("bits: 1024", "bits: 100").replace("mode: open", "mode: closed")
    error = refused(ErrorCode.SPECIFICATION, deployment.coordinator().create, bad)
    assert "mode" in str(error)
    assert "bits" in str(error)
    assert deployment.coordinator().projects() == []
    refused(ErrorCode.SPECIFICATION, deployment.coordinator().create, "#" * (256 * 1024 + 1))


def test_creating_twice_is_harmless_and_another_specification_of_the_name_is_refused(deployment):
    coordinator = deployment.coordinator()
    assert coordinator.create(SPECIFICATION) == coordinator.create(SPECIFICATION)
    refused(ErrorCode.EXISTS, coordinator.create, SPECIFICATION.replace("uploads_days: 7", "uploads_days: 8"))
    status, text = coordinator.get("trial")
    assert text == SPECIFICATION
    assert [found.project for found in coordinator.projects()] == ["trial"]
    assert status.state == project_pb2.PROJECT_STATE_DRAFT


def test_one_run_at_a_time_and_the_same_request_is_the_same_run(contributed):
    stub = coordination(contributed.connect("coordinator"))

    def start(request):
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


def test_a_run_is_watched_from_queue_to_failure(contributed):
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


def test_a_request_made_too_early_is_refused_with_what_is_missing(deployment):
    coordinator = deployment.coordinator()
    coordinator.create(SPECIFICATION)
    error = refused(ErrorCode.WRONG_STATE, coordinator.start, "trial")
    assert "approve" in error.remedy
    coordinator.approve("trial", DIGEST)
    refused(ErrorCode.NOT_FOUND, coordinator.start, "unknown")
    refused(ErrorCode.NOT_FOUND, coordinator.statistics, "trial", "f" * 32)


def test_statistics_after_the_release_and_only_if_granted(contributed):
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


def test_erasing_over_the_wire(contributed):
    coordinator = contributed.coordinator()
    for _ in range(2):
        assert coordinator.erase("trial").state == project_pb2.PROJECT_STATE_ERASED
    assert contributed.custodian(Side.ALICE).next_task().projects[0].state == project_pb2.PROJECT_STATE_ERASED
    refused(ErrorCode.WRONG_STATE, coordinator.start, "trial")
    refused(ErrorCode.NOT_FOUND, coordinator.erase, "unknown")


# A custodian that declines, over real mutual TLS: signed, audited, shown, and with its uploads erased.

REFUSAL = "the committee of data protection has not agreed to the field surname"


def test_a_refusal_is_signed_audited_and_shown_with_its_reason_to_the_coordinator_only(deployment):
    coordinator, alice, bob = deployment.coordinator(), *(deployment.custodian(side) for side in Side)
    coordinator.create(SPECIFICATION)
    coordinator.approve("trial", DIGEST)
    refused(ErrorCode.SIGNATURE, alice.decline, REFUSAL, signed_reason="another reason than the one that is sent")
    refused(ErrorCode.PARAMETER, alice.decline, "no")
    refused(ErrorCode.PARAMETER, alice.decline, "x" * 1001)
    refused(ErrorCode.SPECIFICATION, alice.decline, REFUSAL, digest=bytes(32))
    for _ in range(2):  # its reply may have been lost
        status = alice.decline(REFUSAL).status
        assert status.state == project_pb2.PROJECT_STATE_DRAFT
        assert "alice declined the specification" in status.blocking_error
    assert bob.next_task().kind != 0
    assert REFUSAL not in str(bob.next_task())
    ours = coordinator.get("trial")[0].sides[0]
    assert (ours.declined, ours.decline_reason, ours.approved) == (True, REFUSAL, False)
    (entry,) = [entry for entry in steward(deployment).entries("trial") if entry.action == "decline"]
    assert (entry.actor, entry.details["reason"]) == ("alice", REFUSAL)
    signature = bytes.fromhex(entry.details["signature"])
    CustodianDecline("trial", DIGEST, REFUSAL).verify(alice.identity.public, signature)
    alice.approve()  # the operator may have had second thoughts
    bob.approve()
    status = coordinator.get("trial")[0]
    assert (status.state, status.sides[0].declined) == (project_pb2.PROJECT_STATE_APPROVED, False)


def test_withdrawn_uploads_and_what_an_unreleased_run_made_of_them_are_erased(held):
    deployment, run = held
    report = steward(deployment).report("trial", run)
    before = len(list((deployment.root / "store" / "blobs").rglob("*.chunk"))) or len(_files(deployment))
    deployment.custodian(Side.ALICE).decline(REFUSAL)
    left = _files(deployment)
    assert 0 < len(left) < before  # Bob's upload
    status = deployment.coordinator().get("trial")[0]
    assert (status.state, [found.side for found in status.contributions]) == (
        project_pb2.PROJECT_STATE_DRAFT,
        [project_pb2.SIDE_BOB],
    )
    actions = [entry.action for entry in steward(deployment).entries("trial")]
    assert actions[-2:] == ["decline", "destroy-keys"]
    with pytest.raises(Exception, match="erased"):
        steward(deployment).report("trial", run)
    decider = steward(deployment)
    refused(
        ErrorCode.WRONG_STATE, lambda: decider.decide("trial", run, report.sha256, release=True, reason="it was held")
    )
    refused(ErrorCode.WRONG_STATE, deployment.coordinator().start, "trial")


def _files(deployment):
    return [str(path) for path in (deployment.root / "store" / "blobs").rglob("*") if path.is_file()]


# A new epoch at Carole's, over real mutual TLS: signed by the coordinator, consented to again, nothing mixed.

STATE = project_pb2.ProjectState
REASON = "Bob's library of dates was older; it is the same now"
OFFER = custody_pb2.AGREEMENT_MESSAGE_KIND_OFFER


@pytest.fixture
def mismatched(deployment):
    """Both custodians have reported, with canaries that differ in one field's cleaning, and so in the signatures."""
    coordinator = deployment.coordinator()
    coordinator.create(SPECIFICATION)
    coordinator.approve("trial", DIGEST)
    same = [bytes([number]) * PART_BYTES for number in range(5)]
    other = [same[0], b"x" * PART_BYTES, same[2], b"y" * PART_BYTES, same[4]]
    for side in Side:
        deployment.custodian(side).approve()
    for side in Side:
        deployment.custodian(side).post(OFFER, f"offer of {side}".encode())
    for side, parts in zip(Side, (same, other), strict=True):
        custodian = deployment.custodian(side)
        request = custody_pb2.ReportKeysRequest(
            project="trial",
            epoch=1,
            key_check_value=KEY_CHECK,
            canary_digest=str(side).encode().ljust(32),
            canary_parts=parts,
        )
        if side is Side.ALICE:
            custodian.call(custodian.stub.ReportKeys, request)
        else:
            refused(ErrorCode.CANARY_MISMATCH, custodian.call, custodian.stub.ReportKeys, request)
    return deployment


def test_the_parts_that_differ_are_named_and_an_epoch_mends_it(mismatched):
    coordinator, alice, bob = mismatched.coordinator(), *(mismatched.custodian(side) for side in Side)
    assert "differences in the cleaning of given, the signatures;" in coordinator.get("trial")[0].blocking_error
    refused(ErrorCode.EPOCH_MISMATCH, coordinator.open_epoch, "trial", 3, ENCODING, REASON)
    refused(ErrorCode.SIGNATURE, coordinator.open_epoch, "trial", 2, bytes(32), REASON)
    refused(ErrorCode.PARAMETER, coordinator.open_epoch, "trial", 2, ENCODING, "no")
    for _ in range(2):  # its reply may have been lost
        status = coordinator.open_epoch("trial", 2, ENCODING, REASON)
    assert (status.state, status.epoch, status.blocking_error) == (STATE.PROJECT_STATE_DRAFT, 2, "")
    assert [given.member for given in status.approvals] == ["coordinator"]
    # Both get the coordinator's act, to verify it by themselves, and nothing of the first epoch.
    task = alice.next_task()
    assert (task.kind, list(task.messages)) == (custody_pb2.TASK_KIND_APPROVE, [])
    identity = open_identity(None, mismatched.parties.parties["coordinator"].identity).public
    verify_new_epoch(identity, task.new_epoch.signature, "trial", ENCODING, 2, task.new_epoch.reason)
    assert task.new_epoch.reason == REASON
    # A consent to the first epoch, as it stands in the log, is none to the second.
    refused(ErrorCode.EPOCH_MISMATCH, alice.approve)
    refused(ErrorCode.SIGNATURE, alice.approve, epoch=2, signed_epoch=1)
    for custodian in (alice, bob):
        custodian.approve(epoch=2)
    assert coordinator.get("trial")[0].state == STATE.PROJECT_STATE_APPROVED
    refused(ErrorCode.EPOCH_MISMATCH, alice.post, OFFER, b"offer of alice")
    refused(ErrorCode.EPOCH_MISMATCH, alice.report_keys)
    check = key_check_value(SEED, "trial", ENCODING, 2)
    for custodian in (alice, bob):
        custodian.report_keys(check, epoch=2)
    assert coordinator.get("trial")[0].state == STATE.PROJECT_STATE_KEYED
    (entry,) = [entry for entry in steward(mismatched).entries("trial") if entry.action == "new-epoch"]
    assert {name: entry.details[name] for name in ("epoch", "reason", "mismatch")} == {
        "epoch": 2,
        "reason": REASON,
        "mismatch": "CANARY_MISMATCH",
    }
    verify_new_epoch(identity, bytes.fromhex(entry.details["signature"]), "trial", ENCODING, 2, REASON)


def test_uploads_of_the_first_epoch_are_erased_and_cannot_be_sent_in_the_second(deployment, uploads):
    deployment.keyed()
    coordinator, alice, bob = deployment.coordinator(), *(deployment.custodian(side) for side in Side)
    alice.contribute(uploads[Side.ALICE])
    coordinator.open_epoch("trial", 2, ENCODING, "Bob has lost his seed together with his state")
    assert not [path for path in (deployment.root / "store" / "blobs").rglob("*.*") if path.is_file()]
    assert not coordinator.get("trial")[0].contributions
    assert [entry.action for entry in steward(deployment).entries("trial")][-2:] == ["new-epoch", "destroy-keys"]
    for custodian in (alice, bob):
        custodian.approve(epoch=2)
    for custodian in (alice, bob):
        custodian.report_keys(key_check_value(SEED, "trial", ENCODING, 2), epoch=2)
    refused(ErrorCode.EPOCH_MISMATCH, alice.contribute, uploads[Side.ALICE])
    # Announced as of the second epoch, it still has the first one's key-check value.
    forged = type(uploads[Side.ALICE].manifest).FromString(uploads[Side.ALICE].manifest.SerializeToString())
    forged.epoch = 2
    upload = Upload(uploads[Side.ALICE].sets, Side.ALICE, "f" * 32, uploads[Side.ALICE].payload, forged)
    refused(ErrorCode.KEY_MISMATCH, alice.contribute, upload)


def test_epochs_are_few(deployment):
    deployment.keyed()
    coordinator = deployment.coordinator()
    for epoch in range(2, MAX_EPOCHS + 1):
        coordinator.open_epoch("trial", epoch, ENCODING, REASON)
        refused(ErrorCode.WRONG_STATE, coordinator.open_epoch, "trial", epoch + 1, ENCODING, REASON)
        for side in Side:
            deployment.custodian(side).approve(epoch=epoch)
    error = refused(ErrorCode.EPOCH_MISMATCH, coordinator.open_epoch, "trial", MAX_EPOCHS + 1, ENCODING, REASON)
    assert f"at most {MAX_EPOCHS} epochs" in str(error)


def test_no_epoch_after_a_release(deployment, uploads):
    deployment.keyed()
    deployment.contribute(uploads)
    coordinator = deployment.coordinator()
    run = coordinator.start("trial")
    refused(ErrorCode.RUN_ACTIVE, coordinator.open_epoch, "trial", 2, ENCODING, REASON)
    lease = take(deployment.store)
    assert lease.run == run.run
    deployment.store.runs.finish(lease, 3, {})
    refused(ErrorCode.WRONG_STATE, coordinator.open_epoch, "trial", 2, ENCODING, REASON)
    amended = SPECIFICATION.replace("results_days: 30", "results_days: 29")
    digest = specification_digest(load_specification(amended))
    coordinator.amend(amended)
    coordinator.approve("trial", digest)
    for side in Side:
        deployment.custodian(side).approve(digest)
    assert coordinator.get("trial")[0].state == STATE.PROJECT_STATE_CONTRIBUTED
    error = refused(ErrorCode.WRONG_STATE, coordinator.open_epoch, "trial", 2, ENCODING, REASON)
    assert "so its keys did agree" in str(error)
