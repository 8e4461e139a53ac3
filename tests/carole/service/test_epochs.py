"""A new epoch at Carole's, over real mutual TLS: signed by the coordinator, consented to again, nothing mixed."""

from __future__ import annotations

import pytest

from gemel.common.errors import ErrorCode
from gemel.common.keys.check import PART_BYTES, key_check_value
from gemel.common.keys.epochs import MAX_EPOCHS, verify_new_epoch
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Side
from gemel.common.specification import load_specification, specification_digest
from gemel.protos.linkage.v1 import custody_pb2, project_pb2
from tests.carole.deployment import DIGEST, ENCODING, KEY_CHECK, SEED, SPECIFICATION, Deployment, Upload
from tests.carole.service.test_stewardship import refused, steward
from tests.carole.trial import take

STATE = project_pb2.ProjectState
REASON = "Bob's library of dates was older; it is the same now"
OFFER = custody_pb2.AGREEMENT_MESSAGE_KIND_OFFER


@pytest.fixture
def mismatched(deployment: Deployment) -> Deployment:
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


def test_the_parts_that_differ_are_named_and_an_epoch_mends_it(mismatched: Deployment) -> None:
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


def test_uploads_of_the_first_epoch_are_erased_and_cannot_be_sent_in_the_second(
    deployment: Deployment, uploads: dict[Side, Upload]
) -> None:
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


def test_epochs_are_few(deployment: Deployment) -> None:
    deployment.keyed()
    coordinator = deployment.coordinator()
    for epoch in range(2, MAX_EPOCHS + 1):
        coordinator.open_epoch("trial", epoch, ENCODING, REASON)
        refused(ErrorCode.WRONG_STATE, coordinator.open_epoch, "trial", epoch + 1, ENCODING, REASON)
        for side in Side:
            deployment.custodian(side).approve(epoch=epoch)
    error = refused(ErrorCode.EPOCH_MISMATCH, coordinator.open_epoch, "trial", MAX_EPOCHS + 1, ENCODING, REASON)
    assert f"at most {MAX_EPOCHS} epochs" in str(error)


def test_no_epoch_after_a_release(deployment: Deployment, uploads: dict[Side, Upload]) -> None:
    deployment.keyed()
    for side in Side:
        deployment.custodian(side).contribute(uploads[side])
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
