"""Agreeing on the seed with the other custodian, through Carole's mailbox or by a file exchanged by hand.

Everything is stored, encrypted, before it is sent: a service that dies between two messages resumes the agreement with
the same keys. A message that Carole has already is not posted again.
"""

from __future__ import annotations

from contextlib import suppress

import structlog

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys import Agreement, Seed, Terms, key_check_value, load_seed_file
from gemel.common.pki.sealing_renewal import require_sealing_keys
from gemel.common.wire import side_to_wire
from gemel.custodian.steps.canary import Canary, canary
from gemel.custodian.steps.step_context import Outcome, StepContext, Task, require_approved
from gemel.protos.linkage.v1 import custody_pb2

AGREEMENT = "agreement"
SEED = "seed"

_OFFER = custody_pb2.AGREEMENT_MESSAGE_KIND_OFFER
_CONFIRMATION = custody_pb2.AGREEMENT_MESSAGE_KIND_CONFIRMATION

log = structlog.get_logger()


def agree(context: StepContext, task: Task) -> Outcome:
    """Take the agreement on a seed as far as it goes, and report the check values once there is one.

    Raises
    ------
    GemelError
        KEY_MISMATCH or CANARY_MISMATCH when the two custodians' seeds or encoders differ; errors of `Agreement` for a
        message; SPECIFICATION for a specification that was not approved.
    """
    require_approved(context, task)
    require_sealing_keys(task.spec, context.trust.members, f"project {task.project}")
    if context.configuration.seed_file is not None:
        seed = load_seed_file(context.configuration.seed_file, task.project)
        _refuse_former_seed(context, task, seed)
        with context.progress.stage(task.project, "checking the seed file"):
            made = canary(task.spec, task.encoding_digest, context.party.side, seed, task.epoch)
        return _report(context, task, seed, made)
    return _by_messages(context, task)


def kept_seed(context: StepContext, task: Task) -> Seed:
    """The seed of the task's epoch.

    Raises
    ------
    GemelError
        NOT_FOUND if this custodian does not hold it.
    """
    kept = context.state.secret(task.project, task.epoch, SEED)
    if kept is None:
        raise GemelError(
            ErrorCode.NOT_FOUND,
            f"the seed of epoch {task.epoch} is not in this custodian's state",
            where=f"project {task.project}",
            remedy="restore the state folder from its backup; without the seed the coordinator must open a new epoch",
        )
    return Seed(kept)


def _refuse_former_seed(context: StepContext, task: Task, seed: Seed) -> None:
    """Refuse a seed file that served a former epoch: whoever opened a new one wanted another seed."""
    for epoch in range(1, task.epoch):
        if context.state.secret(task.project, epoch, SEED) == seed.reveal():
            raise GemelError(
                ErrorCode.CONFIGURATION,
                f"the seed file holds the seed of epoch {epoch}, and each epoch has its own",
                where=f"project {task.project}, epoch {task.epoch}",
                remedy="one custodian makes a new file with `seed new`, the other gets a copy, and both configure it; "
                "the project continues by itself",
            )


def _by_messages(context: StepContext, task: Task) -> Outcome:
    agreement = _resumed(context, task)
    ours, theirs = side_to_wire(context.party.side), side_to_wire(context.party.side.other)
    there = {(message.sender, message.kind): message.payload for message in task.messages}
    if agreement.has_offer:
        _post(context, task, _OFFER, agreement.offer, there.get((ours, _OFFER)))
    if (offer := there.get((theirs, _OFFER))) is None:
        return _wait(context, task, "waits for the other custodian's offer of a key")
    answers = not agreement.has_offer
    agreement.accept_offer(offer)
    if answers:
        _keep(context, task, agreement)
        _post(context, task, _OFFER, agreement.offer, there.get((ours, _OFFER)))
    with context.progress.stage(task.project, "signing the test records"):
        made = canary(task.spec, task.encoding_digest, context.party.side, agreement.candidate, task.epoch)
    confirmation = agreement.confirm(made.digest)
    _keep(context, task, agreement)
    _post(context, task, _CONFIRMATION, confirmation, there.get((ours, _CONFIRMATION)))
    if (message := there.get((theirs, _CONFIRMATION))) is None:
        return _wait(context, task, "waits for the other custodian to confirm the seed")
    try:
        agreement.accept_confirmation(message)
    except GemelError as error:
        if error.code in (ErrorCode.KEY_MISMATCH, ErrorCode.CANARY_MISMATCH):
            # Carole compares the values too, and shows the error to the coordinator and both custodians; her refusal
            # has the reason that is raised here.
            with suppress(GemelError):
                _send_report(context, task, agreement.candidate, made)
        raise
    _keep(context, task, agreement)
    return _report(context, task, agreement.seed, made)


def _resumed(context: StepContext, task: Task) -> Agreement:
    """The stored agreement of this epoch, or a new one, stored before its offer is sent."""
    identity, peer = context.keyring.identity, context.keyring.peer
    kept = context.state.secret(task.project, task.epoch, AGREEMENT)
    if kept is not None:
        agreement = Agreement.resume(kept, identity, peer)
        if agreement.terms.encoding_digest == task.encoding_digest:
            return agreement
    terms = Terms(task.project, task.encoding_digest, task.epoch)
    agreement = Agreement(terms, context.party.side, identity, peer, suite=task.spec.suite)
    _keep(context, task, agreement)
    return agreement


def _keep(context: StepContext, task: Task, agreement: Agreement) -> None:
    context.state.keep_secret(task.project, task.epoch, AGREEMENT, agreement.export())


def _post(
    context: StepContext, task: Task, kind: custody_pb2.AgreementMessageKind, payload: bytes, there: bytes | None
) -> None:
    if there == payload:
        return
    message = custody_pb2.AgreementMessage(kind=kind, sender=side_to_wire(context.party.side), payload=payload)
    request = custody_pb2.PostMessageRequest(project=task.project, epoch=task.epoch, message=message)
    context.call(context.carole.PostMessage, request)


def _wait(context: StepContext, task: Task, stage: str) -> Outcome:
    context.state.update(task.project, stage=stage)
    return Outcome.WAITS_FOR_OTHERS


def _report(context: StepContext, task: Task, seed: Seed, made: Canary) -> Outcome:
    context.state.keep_secret(task.project, task.epoch, SEED, seed.reveal())
    context.state.update(task.project, epoch=task.epoch, stage="reporting the key-check value")
    _send_report(context, task, seed, made)
    context.state.erase_secrets(task.project, before_epoch=task.epoch)
    context.state.update(task.project, stage="holds the seed")
    log.info("keys reported", project=task.project, epoch=task.epoch)
    return Outcome.DONE


def _send_report(context: StepContext, task: Task, seed: Seed, made: Canary) -> None:
    request = custody_pb2.ReportKeysRequest(
        project=task.project,
        epoch=task.epoch,
        key_check_value=key_check_value(seed, task.project, task.encoding_digest, task.epoch),
        canary_digest=made.digest,
        canary_parts=made.parts,
    )
    context.call(context.carole.ReportKeys, request)
