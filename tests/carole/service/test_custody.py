"""Carole's service for custodians, over real mutual TLS."""

from __future__ import annotations

import time
from dataclasses import replace
from threading import Thread
from typing import Any

from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.common.signatures.layout import Layout, SetLayout
from gemel.common.wire.chunks import CHUNK_BYTES, Chunk
from gemel.protos.linkage.v1 import contribution_pb2, custody_pb2, project_pb2
from gemel.serving.fairness import MemberLimits
from tests.carole.deployment import CANARY, DIGEST, RECORDS, SPECIFICATION, make_upload, people, raw_error
from tests.carole.refusals import refused

OFFER, CONFIRMATION = custody_pb2.AGREEMENT_MESSAGE_KIND_OFFER, custody_pb2.AGREEMENT_MESSAGE_KIND_CONFIRMATION


def test_from_nothing_to_contributed(deployment, uploads):
    alice, bob = (deployment.custodian(side) for side in Side)
    assert alice.next_task().kind == custody_pb2.TASK_KIND_IDLE
    coordinator = deployment.coordinator()
    status = coordinator.create(SPECIFICATION)
    assert (status.state, status.specification_digest) == (project_pb2.PROJECT_STATE_DRAFT, DIGEST)
    task = alice.next_task()
    assert (task.kind, task.specification) == (custody_pb2.TASK_KIND_APPROVE, SPECIFICATION)
    assert alice.next_task(waiting=("trial",)).kind == custody_pb2.TASK_KIND_IDLE
    assert alice.next_task(waiting=("trial",)).projects[0].project == "trial"
    for who in (alice, alice, bob):
        who.approve()
    assert coordinator.approve("trial", DIGEST).state == project_pb2.PROJECT_STATE_APPROVED
    assert [approval.member for approval in coordinator.get("trial")[0].approvals] == ["alice", "bob", "coordinator"]
    alice.post(OFFER, b"alice's offer")
    task = bob.next_task()
    assert task.kind == custody_pb2.TASK_KIND_AGREE
    assert [(message.sender, message.kind, message.payload) for message in task.messages] == [
        (project_pb2.SIDE_ALICE, OFFER, b"alice's offer")
    ]
    assert alice.next_task().kind == custody_pb2.TASK_KIND_IDLE
    alice.report_keys()
    assert bob.report_keys().status.state == project_pb2.PROJECT_STATE_KEYED
    for who in (alice, bob):
        assert who.next_task().kind == custody_pb2.TASK_KIND_CONTRIBUTE
        who.contribute(uploads[who.side])
        assert who.next_task().kind == custody_pb2.TASK_KIND_IDLE
    status, _ = coordinator.get("trial")
    assert status.state == project_pb2.PROJECT_STATE_CONTRIBUTED
    assert [(found.rows, found.committed) for found in status.contributions] == [(RECORDS, True)] * 2
    assert all(side.approved and side.keyed and side.contributed for side in status.sides)


def test_a_consent_is_signed_by_who_gives_it_for_this_very_specification(deployment):
    deployment.coordinator().create(SPECIFICATION)
    alice, bob = (deployment.custodian(side) for side in Side)
    forged = bob.identity.sign("approve-specification", b"trial", DIGEST)
    refused(ErrorCode.SIGNATURE, alice.approve, signature=forged)
    refused(ErrorCode.SIGNATURE, alice.approve, signature=alice.identity.sign("another purpose", b"trial", DIGEST))
    refused(ErrorCode.SPECIFICATION, alice.approve, digest=bytes(32))
    assert not deployment.store.projects.get("trial").approvals


def test_a_wrong_seed_and_another_normaliser_are_reported_to_both_and_can_be_corrected(deployment):
    deployment.coordinator().create(SPECIFICATION)
    deployment.coordinator().approve("trial", DIGEST)
    alice, bob = (deployment.custodian(side) for side in Side)
    alice.approve()
    bob.approve()
    alice.report_keys()
    refused(ErrorCode.KEY_MISMATCH, bob.report_keys, check=b"x" * 8)
    for who in (alice, bob):
        assert "key-check values differ" in who.next_task().status.blocking_error
    refused(ErrorCode.CANARY_MISMATCH, bob.report_keys, canary=b"x" * 32)
    assert "canary digests differ" in deployment.coordinator().get("trial")[0].blocking_error
    bob.report_keys()
    status, _ = deployment.coordinator().get("trial")
    assert (status.state, status.blocking_error) == (project_pb2.PROJECT_STATE_KEYED, "")
    refused(ErrorCode.EPOCH_MISMATCH, bob.report_keys, epoch=2)
    refused(ErrorCode.PARAMETER, bob.report_keys, check=b"short")
    refused(ErrorCode.PARAMETER, bob.report_keys, canary=b"few")
    refused(ErrorCode.CANARY_MISMATCH, bob.report_keys, canary=b"y" * 32)
    bob.report_keys(canary=CANARY)


def test_agreement_messages_carry_their_senders_name_only(deployment):
    deployment.keyed()
    alice = deployment.custodian(Side.ALICE)
    refused(ErrorCode.PARAMETER, alice.post, OFFER, b"x", sender=Side.BOB)
    refused(ErrorCode.PARAMETER, alice.post, 0, b"x")
    refused(ErrorCode.PARAMETER, alice.post, 77, b"x")
    refused(ErrorCode.PARAMETER, alice.post, OFFER, b"x" * 4097)
    refused(ErrorCode.WRONG_STATE, alice.post, OFFER, b"x")


def test_gaps_conflicts_and_replays_over_the_wire(deployment, uploads):
    deployment.keyed()
    alice, upload = deployment.custodian(Side.ALICE), uploads[Side.ALICE]
    begun = alice.begin(upload)
    assert (begun.total_bytes, begun.chunk_bytes, begun.chunks) == (
        len(upload.payload),
        CHUNK_BYTES,
        len(upload.chunks),
    )
    alice.put(upload, 1)
    alice.put(upload, 1)
    error = refused(ErrorCode.UPLOAD_GAPS, alice.commit, upload)
    last = len(upload.chunks) - 1
    assert f"0, 2-{last} missing" in error.got
    assert [(gap.first, gap.last) for gap in alice.begin(upload).missing] == [(0, 0), (2, last)]
    refused(ErrorCode.CHUNK_CONFLICT, alice.put, upload, 1, bytes(CHUNK_BYTES))
    refused(ErrorCode.PARAMETER, alice.put, upload, len(upload.chunks), b"")
    refused(ErrorCode.PARAMETER, alice.put, upload, 2**32 - 1, b"")
    for index in reversed(range(len(upload.chunks))):
        alice.put(upload, index)
    alice.commit(upload)
    alice.commit(upload)
    assert alice.begin(upload).committed
    refused(ErrorCode.CHUNK_CONFLICT, alice.put, upload, 1, bytes(CHUNK_BYTES))


def test_a_manifest_for_something_else_is_refused_before_any_chunk(deployment):
    deployment.records = 10
    deployment.keyed()
    alice = deployment.custodian(Side.ALICE)
    part = make_upload(Side.ALICE, people(10), "a" * 32)[0].sets.layout

    def with_fields(*fields):
        return Layout((replace(part, fields=fields),))

    cases: list[tuple[ErrorCode, dict[str, Any]]] = [
        (ErrorCode.ENCODING_MISMATCH, {"encoding_digest": bytes(32)}),
        (ErrorCode.EPOCH_MISMATCH, {"epoch": 2}),
        (ErrorCode.KEY_MISMATCH, {"key_check_value": b"x" * 8}),
        (ErrorCode.NOT_ADMITTED, {"manifest_side": Side.BOB}),
        (ErrorCode.ENCODING_MISMATCH, {"layout": with_fields(*part.fields[:-1])}),
        (ErrorCode.ENCODING_MISMATCH, {"layout": with_fields(*reversed(part.fields))}),
        (ErrorCode.ENCODING_MISMATCH, {"layout": with_fields(replace(part.fields[0], bits=512), *part.fields[1:])}),
        (ErrorCode.ENCODING_MISMATCH, {"layout": with_fields(replace(part.fields[0], name="other"), *part.fields[1:])}),
        (ErrorCode.ENCODING_MISMATCH, {"layout": Layout((replace(part, blocks=()),))}),
        (ErrorCode.ENCODING_MISMATCH, {"layout": Layout((part, SetLayout("born", 10, part.fields[:1], ())))}),
        (ErrorCode.UPLOAD_LIMIT, {"layout": Layout((replace(part, rows=6_000_000),))}),
        (ErrorCode.NOT_FOUND, {"project": "no-such-project"}),
    ]
    for code, changes in cases:
        upload, _ = make_upload(Side.ALICE, people(10), "a" * 32, **changes)
        error = refused(code, alice.begin, upload)
        assert error.where or code is ErrorCode.NOT_FOUND
    assert not deployment.store.projects.get("trial").uploads


def test_unknown_and_forbidden_are_the_same_byte_for_byte(deployment, uploads):
    """Another side's upload, another project's, one that never existed: the error is the same for all."""
    deployment.keyed()
    alice, bob = (deployment.custodian(side) for side in Side)
    mine = uploads[Side.ALICE]
    alice.begin(mine)

    def put(project, upload):
        request = contribution_pb2.PutChunkRequest(
            project=project, upload=upload, chunk=Chunk(0, 3, b"", b"", b"x").message()
        )
        return raw_error(lambda: bob.stub.PutChunk(request, timeout=10))

    def fetch(project, run):
        request = custody_pb2.FetchResultRequest(project=project, run=run)
        return raw_error(lambda: bob.stub.FetchResult(request, timeout=10))

    answers = {
        put("trial", mine.name),
        put("trial", "f" * 32),
        put("trial", "no id at all \0"),
        put("unknown", mine.name),
        put("", ""),
        put("x" * 5000, mine.name),
        fetch("trial", "f" * 32),
        fetch("unknown", "f" * 32),
        fetch("trial\0", "f" * 32),
    }
    assert len(answers) == 1


def test_a_custodian_that_begins_one_upload_after_another_is_stopped(deployment, uploads):
    deployment.keyed()
    alice, upload = deployment.custodian(Side.ALICE), uploads[Side.ALICE]
    for number in range(20):
        alice.begin(replace(upload, name=f"{number:032x}"))
    for number in range(20, 40):
        refused(ErrorCode.UPLOAD_LIMIT, alice.begin, replace(upload, name=f"{number:032x}"))
    begun = [entry for entry in deployment.store.audit.entries("trial") if entry.action == "begin-upload"]
    assert len(begun) == 20
    deployment.custodian(Side.BOB).begin(uploads[Side.BOB])


def test_waiting_for_a_task_ends_when_there_is_one(deployment):
    alice = deployment.custodian(Side.ALICE)
    found: list[custody_pb2.NextTaskResponse] = []
    waiter = Thread(target=lambda: found.append(alice.next_task(wait_ms=5000)))
    waiter.start()
    dispatcher = deployment._application._server._dispatcher
    while "alice" not in dispatcher._shares or dispatcher._shares["alice"].places._value == MemberLimits().waiting:
        time.sleep(0.01)
    deployment.coordinator().create(SPECIFICATION)
    waiter.join(30)
    assert [task.kind for task in found] == [custody_pb2.TASK_KIND_APPROVE]
