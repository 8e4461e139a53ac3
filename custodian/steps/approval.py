"""Approving a specification: read the source first, show what became of it, then sign or wait for the operator.

The source is read before the operator decides, because a wrong column or a wrong date order, which no check of keys
can detect, is visible in its profile: as missing values, as dates that cannot be read, as one token instead of ten.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import structlog

from gemel.common.audit.statements import CustodianDecline, FileStatement
from gemel.common.documents.result_warning import result_warning
from gemel.common.keys.epochs import approval_parts
from gemel.common.keys.identity import SigningPurpose
from gemel.common.keys.sealing import require_suite
from gemel.custodian.cleaning.own_copies import copies_warnings
from gemel.custodian.source.cleaned_file import CleanedFile, Stage, read_into
from gemel.custodian.source.known_file import read_known_files
from gemel.custodian.state.state_database import Project
from gemel.custodian.steps.epochs import enter_epoch
from gemel.custodian.steps.held_memory import MemoryLimit
from gemel.custodian.steps.signing import computing
from gemel.custodian.steps.step_context import DECLINED, Outcome, StepContext, Task, refuse_former_epoch
from gemel.protos.linkage.v1 import custody_pb2
from gemel.records.csv_form import read_as
from gemel.records.registry import source_stamp
from gemel.records.sources import DETECT

log = structlog.get_logger()


def approve(context: StepContext, task: Task) -> Outcome:
    """Profile the source, then sign the specification if the operator or the policy approves it.

    Raises as `cleaned_records`, CONFIGURATION if this installation lacks an algorithm that it names, and as
    `computing`, so that what does not fit is found before anyone has signed; errors of Carole's.
    """
    refuse_former_epoch(context, task)
    require_suite(task.spec.suite, f"project {task.project}")
    known = context.state.project(task.project)
    if known is None or known.epoch != task.epoch:
        if task.epoch != 1:
            enter_epoch(context, task)
        # What was decided before was about another epoch.
        known = context.state.update(task.project, epoch=task.epoch, decision="", decided_digest=b"")
    if known.specification_digest != task.specification_digest:
        proposed = {"specification": task.text, "specification_digest": task.specification_digest, "profile": ""}
        known = context.state.update(task.project, mode=task.spec.mode, **proposed)
    # A decision counts for the specification it was made about, and for no other.
    decided = known.decision if known.decided_digest == task.specification_digest else ""
    if decided == "declined":
        send_decline(context, known)
        return Outcome.WAITS_FOR_OPERATOR
    computing(context, task)
    stamp = source_stamp(context.configuration.source)  # a file's inode, size and time
    if not known.profile or json.loads(known.profile)["source_stamp"] != (None if stamp is None else list(stamp)):
        profile(context, task)
    if not decided and context.configuration.policy.consents(task.specification_digest, task.spec.mode, task.epoch):
        decide(context, task.project, task.specification_digest, "approved", "policy")
        decided = "approved"
    if not decided:
        waits = "approval" if task.epoch == 1 else f"consent to epoch {task.epoch}, which the coordinator has opened"
        context.state.update(task.project, stage=f"waits for the operator's {waits}")
        return Outcome.WAITS_FOR_OPERATOR
    known = context.state.project(task.project) or known
    file = FileStatement(int(json.loads(known.profile)["rows"]), " ".join(context.configuration.origin.split()))
    identity, about = context.keyring.identity, (task.project, task.specification_digest)
    signed_file = file.sign(identity, *about)
    stated = custody_pb2.FileStatement(records=file.records, origin=file.origin, signature=signed_file)
    request = custody_pb2.ApproveRequest(project=task.project, epoch=task.epoch, file=stated)
    request.specification_digest = task.specification_digest
    request.signature = identity.sign(SigningPurpose.APPROVAL, *approval_parts(*about, task.epoch))
    context.call(context.carole.Approve, request)
    context.state.update(task.project, stage="approved")
    mode, digest, by = task.spec.mode, task.specification_digest.hex(), known.decided_by or "policy"
    stated_of = {"mode": mode, "values_sent": mode == "trusted", "digest": digest, "records": file.records}
    log.info("approved", project=task.project, epoch=task.epoch, by=by, **stated_of)
    return Outcome.DONE


def send_decline(context: StepContext, project: Project) -> None:
    """Send the operator's refusal to Carole, perhaps once more, and drop what waits to be sent; WRONG_STATE once
    released.
    """
    context.state.uploads.erase_payloads(project.name)
    digest, reason = project.decided_digest, project.reason
    request = custody_pb2.CustodyDeclineRequest(project=project.name, specification_digest=digest, reason=reason)
    request.signature = CustodianDecline(project.name, digest, reason).sign(context.keyring.identity)
    context.call(context.carole.Decline, request)
    context.state.update(project.name, stage=DECLINED, blocking_error="")
    log.info("declined", project=project.name, digest=digest.hex(), reason=reason)


def profile(context: StepContext, task: Task) -> None:
    """Read and clean the source and store the counts; the records are dropped.

    So are those of the files that the specification names, which are read first: that one is missing is to be found
    before anyone has signed.
    """
    read_known_files(context.configuration.known_files, task.spec, context.party.side)
    with (
        context.progress.stage(task.project, "reading and cleaning, to show the profile"),
        cleaned_records(context, task, lambda stage: nullcontext()) as file,
    ):
        keep_profile(context, task, file)


@contextmanager
def cleaned_records(context: StepContext, task: Task, stage: Stage) -> Iterator[CleanedFile]:
    """The source's records, cleaned, outside memory; they are erased when the block ends."""
    memory = MemoryLimit(context.configuration.limits.memory_bytes)

    @contextmanager
    def limited(name: str) -> Iterator[None]:
        memory.check(f"project {task.project}")
        with stage(name):
            yield

    table = context.state.working.table(by_column=True)
    try:
        yield read_into(table, context.configuration.source, task.spec, context.party.side, limited)
    finally:
        table.erase()


def keep_profile(context: StepContext, task: Task, file: CleanedFile) -> None:
    """Store a profile for the operator's screen: counts and warnings, no value."""
    stamp, profile = source_stamp(context.configuration.source), file.profile
    copies = copies_warnings(file.copies, task.spec)
    warnings = [warning.plain() for warning in (*profile.warnings(), *copies)]
    if (csv := context.configuration.source.csv) is not None and DETECT in (csv.encoding, csv.separator):
        form = read_as(context.configuration.source)
        warnings.append(result_warning("source_form_found", form=form).plain())
    text = json.dumps({**profile.as_dict(), "warnings": warnings, "source_stamp": stamp})
    context.state.update(task.project, profile=text, rows=profile.rows)


def decide(context: StepContext, project: str, digest: bytes, decision: str, by: str, reason: str = "") -> None:
    decided = {"decision": decision, "decided_digest": digest, "decided_by": by, "decided_at": time.time()}
    context.state.update(project, **decided, reason=reason, blocking_error="")
