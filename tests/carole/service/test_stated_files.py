"""What custodians state of their files reaches the log, and a contribution of another size is refused."""

from __future__ import annotations

from gemel.common.audit.file_statement import FileStatement
from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.protos.linkage.v1 import custody_pb2
from tests.carole.deployment import DIGEST, SPECIFICATION, Custodian, Deployment, make_upload, people
from tests.carole.refusals import refusal

STATED = FileStatement(300, "register of births")


def stated(custodian: Custodian, file: FileStatement = STATED, signed: FileStatement = STATED) -> None:
    signature = signed.sign(custodian.identity, "trial", DIGEST)
    custodian.approve(file=custody_pb2.FileStatement(records=file.records, origin=file.origin, signature=signature))


def agreed(carole: Deployment) -> tuple[Custodian, Custodian]:
    """The trial project, created and approved by the coordinator."""
    coordinator = carole.coordinator()
    coordinator.create(SPECIFICATION)
    coordinator.approve("trial", DIGEST)
    return carole.custodian(Side.ALICE), carole.custodian(Side.BOB)


def test_a_file_that_grew_by_invented_records_is_refused(deployment: Deployment) -> None:
    alice, bob = agreed(deployment)
    stated(alice)
    bob.approve()
    for custodian in (alice, bob):
        custodian.report_keys()
    _, approved, _ = (e for e in deployment.store.audit.entries("trial") if e.action == "approve")
    assert (approved.details["stated_records"], approved.details["stated_origin"]) == (300, "register of births")
    assert len(str(approved.details["file_signature"])) == 128
    with refusal(ErrorCode.UPLOAD_LIMIT, "the number of records that its custodian has stated"):
        alice.begin(make_upload(Side.ALICE, people(340), "a" * 32)[0])
    alice.contribute(make_upload(Side.ALICE, people(310), "b" * 32)[0])
    begun = [e.details for e in deployment.store.audit.entries("trial") if e.action == "begin-upload"]
    assert [(e["records"], e["stated_records"]) for e in begun] == [(310, 300)]


def test_a_statement_that_its_custodian_has_not_signed_is_no_approval(deployment: Deployment) -> None:
    alice, _ = agreed(deployment)
    with refusal(ErrorCode.SIGNATURE):
        stated(alice, FileStatement(3_000, "register of births"))
    with refusal(ErrorCode.SIGNATURE):
        alice.approve(file=custody_pb2.FileStatement())
    with refusal(ErrorCode.PARAMETER):
        alice.approve(file=custody_pb2.FileStatement(records=1, origin="two\nlines", signature=b"s" * 64))
    assert sum(entry.action == "approve" for entry in deployment.store.audit.entries("trial")) == 1
