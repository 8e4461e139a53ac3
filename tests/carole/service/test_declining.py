"""A custodian that declines, over real mutual TLS: signed, audited, shown, and with its uploads erased."""

from __future__ import annotations

import pytest

from gemel.common.audit.custodian_decline import verify_decline
from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.protos.linkage.v1 import project_pb2
from tests.carole.deployment import DIGEST, SPECIFICATION, Deployment, Upload
from tests.carole.service.test_stewardship import held, refused, steward
from tests.carole.trial import take

__all__ = ["held"]

REASON = "the committee of data protection has not agreed to the field surname"


def test_a_refusal_is_signed_audited_and_shown_with_its_reason_to_the_coordinator_only(deployment: Deployment) -> None:
    coordinator, alice, bob = deployment.coordinator(), *(deployment.custodian(side) for side in Side)
    coordinator.create(SPECIFICATION)
    coordinator.approve("trial", DIGEST)
    refused(ErrorCode.SIGNATURE, alice.decline, REASON, signed_reason="another reason than the one that is sent")
    refused(ErrorCode.PARAMETER, alice.decline, "no")
    refused(ErrorCode.PARAMETER, alice.decline, "x" * 1001)
    refused(ErrorCode.SPECIFICATION, alice.decline, REASON, digest=bytes(32))
    for _ in range(2):  # its reply may have been lost
        status = alice.decline(REASON).status
        assert status.state == project_pb2.PROJECT_STATE_DRAFT
        assert "alice declined the specification" in status.blocking_error
    assert bob.next_task().kind != 0
    assert REASON not in str(bob.next_task())
    ours = coordinator.get("trial")[0].sides[0]
    assert (ours.declined, ours.decline_reason, ours.approved) == (True, REASON, False)
    (entry,) = [entry for entry in steward(deployment).entries("trial") if entry.action == "decline"]
    assert (entry.actor, entry.details["reason"]) == ("alice", REASON)
    signature = bytes.fromhex(entry.details["signature"])
    verify_decline(alice.identity.public, signature, "trial", DIGEST, REASON)
    alice.approve()  # the operator may have had second thoughts
    bob.approve()
    status = coordinator.get("trial")[0]
    assert (status.state, status.sides[0].declined) == (project_pb2.PROJECT_STATE_APPROVED, False)


def test_withdrawn_uploads_and_what_an_unreleased_run_made_of_them_are_erased(held: tuple[Deployment, str]) -> None:
    deployment, run = held
    report = steward(deployment).report("trial", run)
    before = len(list((deployment.root / "store" / "blobs").rglob("*.chunk"))) or len(_files(deployment))
    deployment.custodian(Side.ALICE).decline(REASON)
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


def test_what_is_released_cannot_be_withdrawn(deployment: Deployment, uploads: dict[Side, Upload]) -> None:
    deployment.keyed()
    for side in Side:
        deployment.custodian(side).contribute(uploads[side])
    run = deployment.coordinator().start("trial").run
    lease = take(deployment.store)
    deployment.store.runs.finish(lease, 3, {str(Side.ALICE.role): [b"share"]})
    error = refused(ErrorCode.WRONG_STATE, deployment.custodian(Side.BOB).decline, REASON)
    assert "cannot be taken back" in str(error)
    assert deployment.custodian(Side.ALICE).fetch(run)[0] == b"share"


def _files(deployment: Deployment) -> list[str]:
    return [str(path) for path in (deployment.root / "store" / "blobs").rglob("*") if path.is_file()]
