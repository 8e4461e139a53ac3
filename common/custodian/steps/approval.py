"""Approving a specification: read the source first, show what became of it, then sign or wait for the operator.

The source is read before the operator decides, because a wrong column or a wrong date order, which no check of keys
can detect, is visible in its profile: as missing values, as dates that cannot be read, as one token instead of ten.
"""

from __future__ import annotations

import json
import time

import structlog

from tryst.common.cleaning import Cleaned
from tryst.common.cleaning.own_copies import copies_warnings
from tryst.common.custodian.source.reading import read_cleaned, source_stamp
from tryst.common.custodian.steps.step_context import Outcome, StepContext, Task
from tryst.common.keys.signing_purpose import SigningPurpose
from tryst.protos.linkage.v1 import custody_pb2

log = structlog.get_logger()


def approve(context: StepContext, task: Task) -> Outcome:
    """Profile the source, then sign the specification if the operator or the policy approves it.

    Raises
    ------
    TrystError
        As `read_cleaned` when the source does not fit the specification, so that this is found before anyone has
        signed; errors of Carole's.
    """
    known = context.state.project(task.project)
    if known is None or known.specification_digest != task.specification_digest:
        known = context.state.update(
            task.project,
            specification=task.text,
            specification_digest=task.specification_digest,
            mode=task.spec.mode,
            epoch=task.epoch,
            profile="",
        )
    # A decision counts for the specification it was made about, and for no other.
    decided = known.decision if known.decided_digest == task.specification_digest else ""
    if decided == "declined":
        context.state.update(task.project, stage="declined by the operator")
        return Outcome.WAITS_FOR_OPERATOR
    if not _is_current(known.profile, context):
        profile(context, task)
    if not decided and context.configuration.policy.consents(task.specification_digest, task.spec.mode):
        decide(context, task.project, task.specification_digest, "approved", "policy")
        decided = "approved"
    if not decided:
        context.state.update(task.project, stage="waits for the operator's approval")
        return Outcome.WAITS_FOR_OPERATOR
    signature = context.keyring.identity.sign(SigningPurpose.APPROVAL, task.project.encode(), task.specification_digest)
    request = custody_pb2.ApproveRequest(
        project=task.project, specification_digest=task.specification_digest, signature=signature
    )
    context.call(context.carole.Approve, request)
    context.state.update(task.project, stage="approved")
    log.info(
        "approved",
        project=task.project,
        mode=task.spec.mode,
        values_sent=task.spec.mode == "trusted",
        digest=task.specification_digest.hex(),
        by=known.decided_by or "policy",
    )
    return Outcome.DONE


def profile(context: StepContext, task: Task) -> None:
    """Read and clean the source and store the counts; the records are dropped."""
    with context.progress.stage(task.project, "reading and cleaning, to show the profile"):
        records = read_cleaned(context.configuration.source, task.spec, context.party.side)
    keep_profile(context, task, records.cleaned)


def keep_profile(context: StepContext, task: Task, cleaned: Cleaned) -> None:
    """Store a profile for the operator's screen: counts and warnings, no value."""
    stamp, profile = source_stamp(context.configuration.source), cleaned.profile
    copies = copies_warnings(cleaned.columns, task.spec, context.party.side)
    warnings = [warning.plain() for warning in (*profile.warnings(), *copies)]
    text = json.dumps({**profile.as_dict(), "warnings": warnings, "source_stamp": stamp})
    context.state.update(task.project, profile=text, rows=profile.rows)


def _is_current(profile: str, context: StepContext) -> bool:
    """Whether a profile is of the source as it is now, judged by a file's inode, size and time."""
    stamp = source_stamp(context.configuration.source)
    return bool(profile) and json.loads(profile)["source_stamp"] == (None if stamp is None else list(stamp))


def decide(context: StepContext, project: str, digest: bytes, decision: str, by: str, reason: str = "") -> None:
    """Store a decision about one specification."""
    context.state.update(
        project,
        decision=decision,
        decided_digest=digest,
        decided_by=by,
        decided_at=time.time(),
        reason=reason,
        blocking_error="",
    )
