"""Contributing: read, clean, sign, shuffle, keep, upload.

The upload is stored whole, encrypted, before it is announced to Carole. However often it is interrupted, the same bytes
are sent under the same name, so that Carole never holds a mixture of two encodings or of two shuffles.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import structlog

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.rpc.client import COMMIT_SECONDS
from gemel.common.rpc.transfer import Content
from gemel.common.wire.chunks import chunk_count
from gemel.custodian.state.state_database import Upload
from gemel.custodian.steps.approval import cleaned_records, keep_profile
from gemel.custodian.steps.held_memory import FileSize, MemoryLimit, high_water, require_room
from gemel.custodian.steps.leakage_gate import pass_gate, statement
from gemel.custodian.steps.seed_agreement import kept_seed
from gemel.custodian.steps.signing import computing, sign_into
from gemel.custodian.steps.step_context import Outcome, StepContext, Stopwatch, Task, require_approved
from gemel.protos.linkage.v1 import contribution_pb2

_ROUNDS = 5
"""How often Carole may report gaps before the upload fails."""
_STAGES = {"read": "reading", "clean": "cleaning"}
"""How the operator sees the stages of `read_into`."""

log = structlog.get_logger()


def contribute(context: StepContext, task: Task) -> Outcome:
    """Send this custodian's signatures to Carole, or the rest of them.

    Raises as `cleaned_records` and `sign_into`; errors of Carole's; after UNAVAILABLE the upload is resumed.
    """
    require_approved(context, task)
    upload = context.state.uploads.of_epoch(task.project, task.epoch)
    if (
        upload is None
        or upload.payload_key is None
        or contribution_pb2.Manifest.FromString(upload.manifest).encoding_digest != task.encoding_digest
    ):
        upload = _prepare(context, task)
    _send(context, task, upload)
    return Outcome.DONE


def _prepare(context: StepContext, task: Task) -> Upload:
    """Read, clean and sign the source; the stored upload, with its map."""
    computing(context, task)  # before anything is read
    seed = kept_seed(context, task)
    watch, progress = Stopwatch(), context.progress

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        context.check_stop(task.project)
        progress.update(task.project, _STAGES[name], 0.0)
        with watch.measure(name):
            yield

    def report_progress(doing: str, done: float) -> None:
        context.check_stop(task.project)
        progress.update(task.project, doing, done)

    with progress.stage(task.project, _STAGES["read"]), cleaned_records(context, task, stage) as file:
        keep_profile(context, task, file)
        context.check_stop(task.project)
        require_room(FileSize.of(file), task.spec, MemoryLimit(context.configuration.limits.memory_bytes))
        with watch.measure("gate"):
            pass_gate(context, task, file)
        context.check_stop(task.project)
        with watch.measure("encode"):
            signed = sign_into(context, task, file, seed, report_progress)
    upload = signed.upload
    sizes = {"rows": upload.rows, "upload_bytes": upload.total_bytes, "peak_memory_bytes": high_water()}
    if task.spec.padding is not None:
        sizes["dummies"] = signed.dummies
    if task.spec.decoys:
        sizes["decoys"] = task.spec.decoys
    context.state.add_timings(task.project, {**watch.seconds, **sizes})
    context.state.update(task.project, rows=upload.rows, stage="signed")
    log.info("signed", project=task.project, upload=upload.id, **sizes, **watch.seconds)
    return upload


def _send(context: StepContext, task: Task, upload: Upload) -> None:
    watch = Stopwatch()
    digests = tuple(upload.digests[start : start + 32] for start in range(0, len(upload.digests), 32))
    content = Content(digests, lambda index: context.state.uploads.payload_chunk(upload, index))
    count = len(digests)
    with context.progress.stage(task.project, "uploading"), watch.measure("upload"):
        for _ in range(_ROUNDS):
            begun = _begin(context, task, upload)
            if not begun.committed:
                missing = [index for gap in begun.missing for index in range(gap.first, min(gap.last, count - 1) + 1)]
                chunk_of = partial(contribution_pb2.PutChunkRequest, project=upload.project, upload=upload.id)
                context.send(task, context.carole.PutChunk, chunk_of, content, "uploading", missing)
            if begun.committed or _commit(context, upload, content):
                break
        else:
            what = "Carole reports gaps in the upload repeatedly"
            where = f"project {task.project}, upload {upload.id}"
            remedy = "ask Carole's operator to check her log and her disk"
            raise GemelError(ErrorCode.UPLOAD_GAPS, what, where=where, remedy=remedy)
    context.state.add_timings(task.project, watch.seconds)
    context.state.uploads.mark_committed(upload.id)
    context.state.update(task.project, stage="contributed")
    mode = task.spec.mode
    sent = {"upload": upload.id, "mode": mode, "values_sent": mode == "trusted", "bytes": upload.total_bytes}
    log.info("contributed", project=task.project, **sent, **watch.seconds)


def _begin(context: StepContext, task: Task, upload: Upload) -> contribution_pb2.BeginUploadResponse:
    request = contribution_pb2.BeginUploadRequest(
        manifest=contribution_pb2.Manifest.FromString(upload.manifest),
        upload=upload.id,
        leakage=statement(context, task.project, task.specification_digest),
    )
    begun: contribution_pb2.BeginUploadResponse = context.call(context.carole.BeginUpload, request)
    count = chunk_count(upload.total_bytes)
    if (begun.total_bytes, begun.chunks) != (upload.total_bytes, count):
        what = f"Carole expects an upload of another size than {upload.total_bytes} bytes in {count} chunks"
        got = f"{begun.total_bytes} bytes in {begun.chunks} chunks"
        remedy = "run the same version of Gemel on both sides"
        raise GemelError(ErrorCode.UPLOAD_CORRUPT, what, where=f"upload {upload.id}", got=got, remedy=remedy)
    return begun


def _commit(context: StepContext, upload: Upload, content: Content) -> bool:
    """Commit the upload; false if Carole reports gaps."""
    request = contribution_pb2.CommitUploadRequest(project=upload.project, upload=upload.id, root=content.root)
    request.chunks, request.total_bytes = len(content.digests), upload.total_bytes
    try:
        context.call(context.carole.CommitUpload, request, COMMIT_SECONDS)
    except GemelError as error:
        if error.code is ErrorCode.UPLOAD_GAPS:
            return False
        raise
    return True
