"""Agreeing on the seed with the other custodian, through Carole's mailbox or by a file exchanged by hand.

Everything is stored, encrypted, before it is sent: a service that dies between two messages resumes the agreement with
the same keys. A message that Carole has already is not posted again.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import polars as pl
import structlog

from gemel.common.arrays import Columns
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.check import CANARY_RECORDS, canary_digest, canary_part, canary_part_names, key_check_value
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.pki.sealing_suites import require_sealing_keys
from gemel.common.signatures.payload import to_bytes
from gemel.common.specification import Specification, canonical_json
from gemel.common.wire.parties import side_to_wire
from gemel.custodian.agreement.agreement import Agreement
from gemel.custodian.agreement.agreement_messages import Terms
from gemel.custodian.agreement.seed_file import load_seed_file
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.cleaning.parts import similar_values
from gemel.custodian.encoding.categories import Relabelling
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.steps.step_context import Outcome, StepContext, Task, require_approved
from gemel.protos.linkage.v1 import custody_pb2

# The canary: public test values through this custodian's whole encoder, before any record goes through it.


@dataclass(frozen=True)
class Canary:
    """The canary of one installation.

    `digest` is over everything, 32 bytes; two custodians must have the same. `parts` are over each part, 16 bytes, in
    the order of `canary_part_names`: where digests differ, these show why.
    """

    digest: bytes
    parts: tuple[bytes, ...]


def canary(spec: Specification, encoding: bytes, side: Side, seed: Seed, epoch: int) -> Canary:
    """The canary of this installation for a specification and a seed.

    Every canary record has its value in every field, whatever the field's columns are called and however many there are
    on this side, so each field's cleaning and tokens process all of them. The rows stay in their order: the custodians'
    different shuffles must not enter the digest. Of the variables, both give the relabelling of all categories, whoever
    holds them.

    Salts and lists of similar values would leave most test values unsigned, or cut into no tokens. So where there are
    any, all is signed without them first, and then with them and a salt in every row; the lists go in as they are
    cleaned.
    """
    values = pl.Series(list(CANARY_RECORDS), dtype=pl.String)
    frame = pl.DataFrame(dict.fromkeys((field.name for field in spec.fields), values))
    # Signed in every mode: signatures show whether both clean alike, and have room for the longest test value.
    # Columns and how they are joined differ on purpose. So do categorisations of own values, which are part of the
    # encoding digest; so is the probability of randomised response, while its noise is each custodian's own.
    own = {"column": None, "columns": None, "categorisation": (), "randomised_response": 0.0}
    fields = tuple(field.model_copy(update=own) for field in spec.fields)
    # In mode block_keyed each rule's blocks, tags and signatures are made, and the samples.
    mode = "block_keyed" if spec.in_blocks else "open"
    # Dummies are random, and differ between custodians.
    signed = spec.model_copy(update={"mode": mode, "variables": (), "fields": fields, "padding": None})
    columns = clean(frame, signed, side).columns

    def signatures(of: Specification, values: Columns) -> list[bytes]:
        sets = encode_records(values, of, seed, epoch, shuffle=file_order, threads=1).sets
        return [bytes(part) for part in to_bytes(sets)]

    plain = tuple(field.model_copy(update={"salt": None, "only_similar": ()}) for field in fields)
    payload = signatures(signed.model_copy(update={"fields": plain}), columns)
    if plain != fields:
        salts = {field.salt.field for field in fields if field.salt is not None}
        some = {name: columns[name].fill_null(strategy="forward").fill_null(strategy="backward") for name in salts}
        listed = {field.name: sorted(similar_values(field) or ()) for field in fields}
        payload += [*signatures(signed, {**columns, **some}), canonical_json(listed)]
    relabelling = Relabelling(spec.project, seed, encoding, epoch, spec.suite)
    relabelled = [relabelling.codes(each, spec.coarsenings(each.name)).tobytes() for each in spec.variables]
    cleaned = [canonical_json(columns[field.name].cast(pl.String).to_list()) for field in spec.fields]
    contents = [*cleaned, b"".join(payload), b"".join(relabelled)]
    names, about = canary_part_names(field.name for field in spec.fields), (seed, spec.project, encoding, epoch)
    parts = tuple(canary_part(*about, name, content) for name, content in zip(names, contents, strict=True))
    return Canary(canary_digest(*about, b"".join([*payload, *relabelled])), parts)


AGREEMENT = "agreement"
SEED = "seed"
_OFFER = custody_pb2.AGREEMENT_MESSAGE_KIND_OFFER
_CONFIRMATION = custody_pb2.AGREEMENT_MESSAGE_KIND_CONFIRMATION

log = structlog.get_logger()


def agree(context: StepContext, task: Task) -> Outcome:
    """Take the agreement on a seed as far as it goes, and report the check values once there is one.

    Raises `GemelError`: KEY_MISMATCH or CANARY_MISMATCH when the two seeds or encoders differ; errors of `Agreement`;
    SPECIFICATION for a specification that was not approved.
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
    kept = context.state.secret(task.project, task.epoch, SEED)
    if kept is None:
        what = f"the seed of epoch {task.epoch} is not in this custodian's state"
        remedy = "restore the state folder from its backup; without the seed the coordinator must open a new epoch"
        raise GemelError(ErrorCode.NOT_FOUND, what, where=f"project {task.project}", remedy=remedy)
    return Seed(kept)


def _refuse_former_seed(context: StepContext, task: Task, seed: Seed) -> None:
    """Refuse a seed file that served a former epoch: whoever opened a new one wanted another seed."""
    for epoch in range(1, task.epoch):
        if context.state.secret(task.project, epoch, SEED) == seed.reveal():
            what = f"the seed file holds the seed of epoch {epoch}, and each epoch has its own"
            where = f"project {task.project}, epoch {task.epoch}"
            remedy = "one custodian makes a new file with `seed new`, the other gets a copy, and both configure it; "
            remedy += "the project continues by itself"
            raise GemelError(ErrorCode.CONFIGURATION, what, where=where, remedy=remedy)


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
    request = custody_pb2.ReportKeysRequest(project=task.project, epoch=task.epoch, canary_parts=made.parts)
    request.key_check_value = key_check_value(seed, task.project, task.encoding_digest, task.epoch)
    request.canary_digest = made.digest
    context.call(context.carole.ReportKeys, request)
