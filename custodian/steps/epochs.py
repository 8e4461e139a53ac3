"""A project's epochs, as this custodian takes part in them: one after another, each with its operator's consent.

Carole only passes on that there is a new epoch: the coordinator has signed it, for this project, encoding and number,
with the reason that the operator reads. No policy consents to it. What Carole may not do is go back, open an epoch by
herself, or open more than this custodian allows: each in which records are sent gives her the same records under other
keys.
"""

from __future__ import annotations

from gemel.common.audit.statements import normalized_reason
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.epochs import MAX_EPOCHS, approval_parts, verify_new_epoch
from gemel.common.keys.identity import SigningPurpose
from gemel.common.parties import Role
from gemel.common.pki.members import Member, Members
from gemel.custodian.agreement.agreement import Agreement
from gemel.custodian.state.state_database import Project
from gemel.custodian.steps.seed_agreement import AGREEMENT, SEED
from gemel.custodian.steps.step_context import StepContext, Task

# The coordinator that a project belongs to: whose acts count in it, and to whom handles are sealed.
#
# Carole names it. She cannot name one at will: it must be a coordinator of the membership list, and handles are sealed
# only to one that has signed the specification which this custodian has approved.


def listed_owner(members: Members, task: Task) -> Member:
    """The project's owner, as the membership list has it."""
    for member in members.with_role(Role.COORDINATOR):
        if member.name == task.owner:
            return member
    what = "the project's owner must be a coordinator in this custodian's membership list"
    got = repr(task.owner[:40])
    remedy = "get the current membership list"
    raise GemelError(ErrorCode.NOT_ADMITTED, what, where=f"project {task.project}", got=got, remedy=remedy)


def owner_of(members: Members, task: Task) -> Member:
    """The project's owner, which has signed the specification of the task (SIGNATURE); as `listed_owner`."""
    owner = listed_owner(members, task)
    # A new epoch keeps the coordinator's consent of a former one.
    epochs = range(1, min(task.epoch, MAX_EPOCHS) + 1)
    consents = [approval_parts(task.project, task.specification_digest, epoch) for epoch in epochs]
    for given in (given for given in task.approvals if given.member == owner.name):
        if any(owner.identity.is_signed(given.signature, SigningPurpose.APPROVAL, *parts) for parts in consents):
            return owner
    what = "the coordinator that Carole names as the project's owner has not signed its specification"
    remedy = (
        "telephone the coordinator; if the project is its own, it amends the specification, or hands the "
        "project over to the one that has signed"
    )
    raise GemelError(ErrorCode.SIGNATURE, what, where=f"project {task.project}", got=owner.name, remedy=remedy)


REASON = "new-epoch"
"""Kind of the secret that holds the coordinator's reason for an epoch."""


def enter_epoch(context: StepContext, task: Task) -> None:
    """Check that the coordinator has opened the task's epoch, and forget what waited to be sent in the former one."""
    where = f"project {task.project}"
    maximum = context.configuration.policy.max_epochs
    if task.epoch > maximum:
        what = f"this custodian takes part in {maximum} epochs of a project at most"
        remedy = "find out with the coordinator why the keys did not agree; `policy.max_epochs` is the limit"
        raise GemelError(ErrorCode.EPOCH_MISMATCH, what, where=where, got=f"epoch {task.epoch}", remedy=remedy)
    new = task.new_epoch
    if new is None or new.epoch != task.epoch:
        what = "Carole requests another epoch without the coordinator's signature that has opened it"
        remedy = "telephone the coordinator: did it open a new epoch?"
        raise GemelError(ErrorCode.EPOCH_MISMATCH, what, where=where, got=f"epoch {task.epoch}", remedy=remedy)
    reason = normalized_reason(new.reason)
    owner = listed_owner(context.trust.members, task).identity
    verify_new_epoch(owner, new.signature, task.project, task.encoding_digest, new.epoch, reason)
    context.state.keep_secret(task.project, task.epoch, REASON, reason.encode())
    context.state.uploads.erase_payloads(task.project)
    context.state.forget_leakage(task.project)


def epoch_notes(context: StepContext, project: Project) -> list[str]:
    """What an operator must know before it consents to an epoch after the first; nothing for the first."""
    if project.epoch <= 1:
        return []
    kept = context.state.secret(project.name, project.epoch, REASON)
    reason = "" if kept is None else kept.decode()
    maximum = context.configuration.policy.max_epochs
    sent = context.state.uploads.epochs_signed(project.name, before=project.epoch)
    notes = [
        f"EPOCH {project.epoch} of {maximum} at most: the coordinator wants the keys to be agreed again, and has signed"
        f' this reason: "{reason}"',
        _evidence(context, project),
    ]
    if sent:
        under = "the keys of one former epoch" if len(sent) == 1 else f"the keys of {len(sent)} former epochs"
        notes.append(
            f"Carole has, or has had, records of yours under {under}. With this epoch she would have the same records"
            " under other keys too: more bits of each signature, so that known attacks recover more. The leakage gate"
            " counts them together."
        )
    else:
        notes.append("No records of yours were signed in a former epoch: a new one discloses nothing more to Carole.")
    return notes


def _evidence(context: StepContext, project: Project) -> str:
    """What this custodian knows by itself of the former epoch, whatever Carole reports."""
    name, former = project.name, project.epoch - 1
    kept = context.state.secret(name, former, AGREEMENT)
    try:
        agreed = kept is not None and Agreement.resume(kept, context.keyring.identity, context.keyring.peer).is_agreed
    except GemelError:
        agreed = False  # an identity was renewed since
    if agreed:
        return (
            f"In epoch {former} your service and the other custodian's HAD agreed: the same seed, and the same"
            " signatures of the test records, signed by the other custodian. Telephone it before you consent: if none"
            " of you has changed anything since, this request is not what it seems."
        )
    if context.state.secret(name, former, SEED) is not None:
        return (
            f"In epoch {former} your service used a seed file, and only Carole could compare: ask the other custodian"
            " whether the two differed. A new epoch needs a new seed file at both."
        )
    return f"In epoch {former} your service did not come to an agreement with the other custodian's."
