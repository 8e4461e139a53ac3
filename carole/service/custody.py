"""Carole's service for the custodians. The side is always the caller's own, never taken from a request."""

from __future__ import annotations

from grpc import ServicerContext

from gemel.carole.projects.operations.consent import key_mismatch, post_message, report_keys
from gemel.carole.projects.operations.contribution import decline
from gemel.carole.projects.operations.outcome import Detail
from gemel.carole.projects.project import Decline, KeyReport, MessageKind, Project
from gemel.carole.projects.tasks import Task, choose
from gemel.carole.service.context import ServiceContext, approve, known_id, new_id, project_name
from gemel.carole.service.exchange import Receiving, Resolving
from gemel.carole.service.manifest import check_manifest
from gemel.carole.service.wire import (
    canary_parts,
    leakage_details,
    messages_to_wire,
    new_epoch_to_wire,
    next_task_response,
    status_to_wire,
)
from gemel.carole.store.audit import Log
from gemel.common.audit.statements import CustodianDecline, FileStatement, check_contributed, normalized_reason
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.check import CANARY_BYTES, CHECK_BYTES
from gemel.common.parties import SIDE_OF_ROLE, Side
from gemel.common.pki.members import Member
from gemel.common.rpc.certificate_endings import endings_to_wire
from gemel.common.rpc.trust import Trust
from gemel.common.specification import Specification
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.wire.chunks import CHUNK_BYTES, Chunk
from gemel.common.wire.manifest import Manifest, manifest_from_wire
from gemel.common.wire.parties import side_to_wire
from gemel.protos.linkage.v1 import contribution_pb2, custody_pb2_grpc, variables_pb2
from gemel.protos.linkage.v1 import custody_pb2 as pb
from gemel.serving.server import caller

# What custodians state of their files: in the audit log with their approvals, and compared with what they send.

RECORDS, ORIGIN, SIGNATURE = "stated_records", "stated_origin", "file_signature"
"""Names of a statement's parts in the details of an audit entry."""


def file_details(request: pb.ApproveRequest, member: Member) -> dict[str, Detail]:
    """The details that the audit entry of an approval has of the custodian's file."""
    stated = FileStatement(request.file.records, request.file.origin)
    stated.verify(member.identity, request.file.signature, request.project, request.specification_digest)
    return {RECORDS: stated.records, ORIGIN: stated.origin, SIGNATURE: request.file.signature.hex()}


def check_stated(log: Log, manifest: Manifest, spec: Specification, member: str) -> dict[str, Detail]:
    """Compare a contribution with what its custodian has stated of its file."""
    layout = manifest.layout
    contributed = layout.records or layout.sets[0].rows - spec.decoys
    approved = log.approved(manifest.project, member)
    if RECORDS not in approved:
        what = "a contribution follows its custodian's approval, which states the file's number of records"
        where, remedy = f"{manifest.project}, contribution of {member}", "approve the specification first"
        raise GemelError(ErrorCode.WRONG_STATE, what, where=where, remedy=remedy)
    stated = int(approved[RECORDS])
    check_contributed(stated, contributed, f"{manifest.project}, contribution of {member}")
    return {"records": contributed, RECORDS: stated}


MAX_WAIT_MS = 5000
MAX_WAITING = 1000


class Custody(Receiving, Resolving, custody_pb2_grpc.CustodyServicer):
    def __init__(self, service: ServiceContext, trust: Trust) -> None:
        self._service, self._store, self._trust = service, service.store, trust

    def NextTask(self, request: pb.NextTaskRequest, context: ServicerContext) -> pb.NextTaskResponse:
        """The next task; waits a little when there is none."""
        member, side = _custodian(context)
        waiting = frozenset(request.waiting[:MAX_WAITING])
        projects: list[Project] = []

        def find_task() -> Task | None:
            projects[:] = self._store.projects.all()
            self._service.conditions.report(side, request.conditions, (project.name for project in projects))
            return choose(projects, side, waiting)

        remaining = context.time_remaining()
        seconds = min(request.wait_ms, MAX_WAIT_MS) / 1000
        task = self._service.wait(find_task, min(seconds, max(0.0, remaining - 0.5)), context)
        response = next_task_response(self._store, side, request.since)
        response.certificates.extend(endings_to_wire(self._service.endings()))
        response.countersign = self._store.audit.awaited(
            member.name,
            self._trust.members.in_role(side.other.role).name,
            [project.name for project in projects if project.shares_awaited],
        )
        if task is not None:
            project = next(project for project in projects if project.name == task.project)
            upload, opened = project.uploads.get(side), project.new_epoch
            response.MergeFrom(
                pb.NextTaskResponse(
                    kind=pb.TaskKind.Name(int(task.kind)),
                    status=status_to_wire(project),
                    specification=self._store.projects.specification(task.project),
                    messages=messages_to_wire(project),
                    run=task.run,
                    recipient=task.recipient,
                    upload="" if upload is None or not task.run else upload.upload,
                    new_epoch=None if opened is None else new_epoch_to_wire(opened),
                )
            )
        return response

    def Approve(self, request: pb.ApproveRequest, context: ServicerContext) -> pb.ApproveResponse:
        member, _ = _custodian(context)
        name = project_name(request.project)
        digest, file = request.specification_digest, file_details(request, member)
        project = approve(self._service, member, name, digest, request.signature, request.epoch, file)
        return pb.ApproveResponse(status=status_to_wire(project))

    def Decline(self, request: pb.CustodyDeclineRequest, context: ServicerContext) -> pb.CustodyDeclineResponse:
        member, side = _custodian(context)
        name, reason = project_name(request.project), normalized_reason(request.reason)
        digest, signature = request.specification_digest, request.signature
        CustodianDecline(name, digest, reason).verify(member.identity, signature)
        project = self._store.apply(
            name, lambda project, now: decline(project, side, Decline(member.name, digest, reason, signature, now))
        )
        return pb.CustodyDeclineResponse(status=status_to_wire(project))

    def PostMessage(self, request: pb.PostMessageRequest, context: ServicerContext) -> pb.PostMessageResponse:
        member, side = _custodian(context)
        name = project_name(request.project)
        if request.message.sender != side_to_wire(side):
            raise parameter("message.sender", f"messages of {side} must be sent by {side}")
        if int(request.message.kind) not in set(MessageKind):
            raise parameter("message.kind", "a message must be an offer or a confirmation", str(request.message.kind))
        kind = MessageKind(request.message.kind)
        epoch, payload = request.epoch, request.message.payload
        self._store.apply(name, lambda project, _: post_message(project, side, member.name, epoch, kind, payload))
        return pb.PostMessageResponse()

    def ReportKeys(self, request: pb.ReportKeysRequest, context: ServicerContext) -> pb.ReportKeysResponse:
        """Take a custodian's check values; they are kept even when they differ from the other's."""
        member, side = _custodian(context)
        name = project_name(request.project)
        parts = canary_parts(request, self._service.specification(name)[1])
        report = KeyReport(request.key_check_value, request.canary_digest, parts)
        if (len(report.key_check_value), len(report.canary_digest)) != (CHECK_BYTES, CANARY_BYTES):
            what = f"a key-check value has {CHECK_BYTES} bytes and a canary digest {CANARY_BYTES}"
            raise parameter("report", what, f"{len(report.key_check_value)} and {len(report.canary_digest)}")
        project = self._store.apply(
            name, lambda project, _: report_keys(project, side, member.name, request.epoch, report)
        )
        mismatch = key_mismatch(project)
        if mismatch is not None:
            raise mismatch
        return pb.ReportKeysResponse(status=status_to_wire(project))

    def BeginUpload(
        self, request: contribution_pb2.BeginUploadRequest, context: ServicerContext
    ) -> contribution_pb2.BeginUploadResponse:
        """Announce a contribution, or query its progress."""
        member, side = _custodian(context)
        limits = self._service.limits
        name = project_name(request.manifest.project)
        project = self._store.projects.get(name)
        manifest = manifest_from_wire(request.manifest, limits.max_upload_bytes, limits.max_rows)
        if manifest.side is not side:
            what = "a custodian may contribute for its own side only"
            raise GemelError(ErrorCode.NOT_ADMITTED, what, where="manifest.side")
        _, spec = self._service.specification(name)
        check_manifest(manifest, project, spec)
        stated = check_stated(self._store.audit, manifest, spec, member.name)
        upload = new_id(request.upload, "upload")
        progress = self._store.uploads.begin(
            name,
            side,
            member.name,
            upload,
            manifest.layout,
            {**leakage_details(request), **stated},
            spec.decoys,
            limits.quota,
            manifest.sealed_seeds,
        )
        return contribution_pb2.BeginUploadResponse(
            total_bytes=progress.total_bytes,
            chunk_bytes=CHUNK_BYTES,
            chunks=progress.chunks,
            missing=[contribution_pb2.IndexRange(first=first, last=last) for first, last in progress.missing],
            committed=progress.committed,
        )

    def PutChunk(
        self, request: contribution_pb2.PutChunkRequest, context: ServicerContext
    ) -> contribution_pb2.PutChunkResponse:
        _, side = _custodian(context)
        self._store.uploads.put(project_name(request.project), side, known_id(request.upload), Chunk.of(request.chunk))
        return contribution_pb2.PutChunkResponse()

    def CommitUpload(
        self, request: contribution_pb2.CommitUploadRequest, context: ServicerContext
    ) -> contribution_pb2.CommitUploadResponse:
        member, side = _custodian(context)
        self._store.uploads.commit(
            project_name(request.project),
            side,
            member.name,
            known_id(request.upload),
            request.chunks,
            request.total_bytes,
            request.root,
        )
        return contribution_pb2.CommitUploadResponse()

    def FetchResult(self, request: pb.FetchResultRequest, context: ServicerContext) -> pb.FetchResultResponse:
        member, _ = _custodian(context)
        name, run = project_name(request.project), known_id(request.run)
        chunk = self._store.results.fetch(name, member.role, run, request.index)
        return pb.FetchResultResponse(chunk=chunk.message())

    def AcknowledgeResult(
        self, request: pb.AcknowledgeResultRequest, context: ServicerContext
    ) -> pb.AcknowledgeResultResponse:
        member, side = _custodian(context)
        name, run = project_name(request.project), known_id(request.run)
        alone = normalized_reason(request.alone) if request.alone else ""
        self._store.results.acknowledge(name, side, member.name, run, request.root, alone)
        return pb.AcknowledgeResultResponse()

    def PutVariables(
        self, request: variables_pb2.PutVariablesRequest, context: ServicerContext
    ) -> variables_pb2.PutVariablesResponse:
        member, side = _custodian(context)
        store, limits, transfer = self._store, self._service.limits, Transfer(side, request.recipient)
        name, run, chunk = project_name(request.project), known_id(request.run), Chunk.of(request.chunk)
        store.variables.put(name, member.name, run, transfer, chunk, limits.max_upload_bytes, limits.quota)
        return variables_pb2.PutVariablesResponse()


def _custodian(context: ServicerContext) -> tuple[Member, Side]:
    member = caller(context)
    return member, SIDE_OF_ROLE[member.role]
