"""Approving a specification: read the source first, show what became of it, then sign or wait for the operator.

The source is read before anyone is asked, because what no check of keys can show, a wrong column or a wrong date order,
shows in its profile: as missing values, as dates that cannot be read, as one token where there should be ten.
"""

from __future__ import annotations

import json
import time

import structlog

from tryst.common.cleaning import Profile
from tryst.common.custodian.source.reading import read_cleaned, source_stamp
from tryst.common.custodian.steps.step_context import Desk, Outcome, Task
from tryst.common.keys.signing_purpose import SigningPurpose
from tryst.protos.linkage.v1 import custody_pb2

log = structlog.get_logger()


def approve(desk: Desk, task: Task) -> Outcome:
    """Take a project as far as this custodian's consent goes.

    Raises
    ------
    TrystError
        As `read_cleaned` when the source does not fit the specification, so that this shows before anyone has signed;
        what Carole refuses with.
    """
    known = desk.state.project(task.project)
    if known is None or known.specification_digest != task.specification_digest:
        known = desk.state.update(
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
        desk.state.update(task.project, stage="declined by the operator")
        return Outcome.WAITS_FOR_OPERATOR
    if not _is_current(known.profile, desk):
        profile(desk, task)
    if not decided and desk.configuration.policy.consents(task.specification_digest, task.spec.mode):
        decide(desk, task.project, task.specification_digest, "approved", "policy")
        decided = "approved"
    if not decided:
        desk.state.update(task.project, stage="waits for the operator's approval")
        return Outcome.WAITS_FOR_OPERATOR
    signature = desk.keyring.identity.sign(SigningPurpose.APPROVAL, task.project.encode(), task.specification_digest)
    request = custody_pb2.ApproveRequest(
        project=task.project, specification_digest=task.specification_digest, signature=signature
    )
    desk.call(desk.carole.Approve, request)
    desk.state.update(task.project, stage="approved")
    log.info(
        "approved",
        project=task.project,
        mode=task.spec.mode,
        values_sent=task.spec.mode == "trusted",
        digest=task.specification_digest.hex(),
        by=known.decided_by or "policy",
    )
    return Outcome.DONE


def profile(desk: Desk, task: Task) -> None:
    """Read and clean the source and keep the counts; the records are dropped again."""
    with desk.progress.stage(task.project, "reading and cleaning, to show the profile"):
        records = read_cleaned(desk.configuration.source, task.spec, desk.party.side)
    keep_profile(desk, task.project, records.cleaned.profile)


def keep_profile(desk: Desk, project: str, profile: Profile) -> None:
    """Keep a profile for the operator's screen: counts and warnings, no value."""
    stamp = source_stamp(desk.configuration.source)
    text = json.dumps({**profile.as_dict(), "warnings": profile.warnings(), "source_stamp": stamp})
    desk.state.update(project, profile=text, rows=profile.rows)


def _is_current(profile: str, desk: Desk) -> bool:
    """Whether a profile is of the source as it is now, as far as a file's size and time tell."""
    stamp = source_stamp(desk.configuration.source)
    return bool(profile) and json.loads(profile)["source_stamp"] == (None if stamp is None else list(stamp))


def decide(desk: Desk, project: str, digest: bytes, decision: str, by: str, reason: str = "") -> None:
    """Keep a decision about one specification."""
    desk.state.update(
        project,
        decision=decision,
        decided_digest=digest,
        decided_by=by,
        decided_at=time.time(),
        reason=reason,
        trouble="",
    )
