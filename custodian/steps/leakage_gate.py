"""The leakage gate: what Carole could learn is measured before anything is sent, and above the limit nothing is sent.

Where the specification refuses above its limit, a contribution is measured on the custodian's own records just before
they are signed. Above the limit it waits for the operator, who can override with a reason. The override is stored and
logged here, and goes to Carole with the upload, whose audit log shows it to her operator and the steward.
"""

from __future__ import annotations

import json

import structlog

from gemel.common.audit.statements import MAX_REASON
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.noise import AssessmentKeys
from gemel.common.specification import Specification
from gemel.custodian.leakage_report import ATTACKERS, EVERYBODY, PUBLIC, REGISTER, Gate, LeakageReport, Verdict
from gemel.custodian.source.cleaned_file import CleanedFile
from gemel.custodian.source.drawing import drawn_records
from gemel.custodian.state.state_database import Leakage
from gemel.custodian.steps.step_context import StepContext, Task
from gemel.protos.linkage.v1 import contribution_pb2

WHOLE_ROWS = 1 << 18
"""Records up to which a file is measured whole."""

log = structlog.get_logger()


def load_gate() -> Gate:
    """What measures what Carole could learn; imported here, since it is compiled code, which help does not load."""
    from gemel.custodian.leakage.leakage_assessment import assess

    return assess


def pass_gate(context: StepContext, task: Task, file: CleanedFile) -> None:
    """Measure cleaned records, and refuse to go on above the limit."""
    if context.gate is None or not task.spec.leakage.refuses(task.spec.mode):
        return
    known = context.state.leakage(task.project, task.specification_digest)
    if known is None or known.overridden_at is None:
        # Measured at every attempt: the source may have been corrected in between.
        context.progress.update(task.project, "measuring what Carole could learn", 0.0)
        # The same records have the same verdict, however often it is tried, and no other party can foresee it.
        keys = AssessmentKeys.of_custodian(context.state.noise_key(), task.specification_digest)
        report = _measured(context.gate, file, _altogether(context, task), keys)
        verdict = report.decisive
        known = Leakage(
            project=task.project,
            specification_digest=task.specification_digest,
            worst=verdict.share,
            field=_of_what(verdict),
            limit=report.limit if verdict.limit is None else verdict.limit,
            exceeds=report.exceeds,
            report=json.dumps(report.as_dict()),
            reason="",
            overridden_at=None,
        )
        known = context.state.keep_leakage(known)
        log.info("leakage", project=task.project, worst=known.worst, limit=known.limit, exceeds=known.exceeds)
    if known.exceeds and known.overridden_at is None:
        gemel, where = f"gemel {context.party.name}", f"project {task.project}, {known.field}"
        what = f"Carole could learn more of these records than the limit of {known.limit:.1%} allows"
        got = f"{known.worst:.1%} {_unit(known.field)}"
        remedy = f"see where with `{gemel} leakage`, and ask the coordinator for another specification; or contribute"
        remedy += f" nevertheless: `{gemel} override {task.project} --reason ...`"
        raise GemelError(ErrorCode.LEAKAGE, what, where=where, got=got, remedy=remedy)


def _measured(gate: Gate, file: CleanedFile, spec: Specification, keys: AssessmentKeys) -> LeakageReport:
    """The report on a file; on whole blocks and some records of a large one, where its columns are not held anyway."""
    if file.n_rows <= WHOLE_ROWS or not spec.in_blocks or spec.padding is not None:
        return gate(file.columns(spec), spec, file.variables(), keys, None)
    drawn = drawn_records(file, spec, keys.generator("drawn records"))
    return gate(drawn.columns, spec, drawn.variables, keys, drawn)


def _of_what(verdict: Verdict) -> str:
    """What the limit is exceeded for, as it is kept: the field, or the attacker who recognises whole rows."""
    if verdict.attacker != PUBLIC:
        return ATTACKERS[verdict.attacker]
    return "" if verdict.worst is None else f"field {verdict.worst.field}"


def _unit(kept: str) -> str:
    """What the share kept with it is a share of; before registers were measured a field's bare name was kept."""
    recognised = kept in (ATTACKERS[REGISTER], ATTACKERS[EVERYBODY])
    return "of the people she has in it recognised" if recognised else "of their values above guessing"


def _altogether(context: StepContext, task: Task) -> Specification:
    """What Carole would have of each record, in all epochs together: as many times the bits as there are of them.

    Rows of two epochs stand in another order and under other keys, so that it is the most she could make of both: if
    she knew which of their values are equal.
    """
    epochs = 1 + len(context.state.uploads.epochs_signed(task.project, before=task.epoch))
    if epochs == 1:
        return task.spec
    fields = tuple(field.model_copy(update={"bits": epochs * field.bits}) for field in task.spec.fields)
    return task.spec.model_copy(update={"fields": fields})


def override(context: StepContext, project: str, reason: str) -> None:
    """Store the operator's decision to contribute above the limit; WRONG_STATE if nothing is held back."""
    where = f"project {project}"
    if not reason.strip():
        remedy = "give the reason why the records may leave nevertheless with --reason; the audit log will show it"
        raise parameter(where, "an override needs a reason", remedy=remedy)
    if len(reason) > MAX_REASON:
        raise parameter(where, f"a reason has at most {MAX_REASON} characters", str(len(reason)))
    known = context.state.override_leakage(project, reason.strip())
    if known is None:
        what = "no contribution of this project is above the leakage limit"
        raise GemelError(ErrorCode.WRONG_STATE, what, where=where, remedy=f"see `gemel {context.party.name} status`")
    log.warning("leakage limit overridden", project=project, worst=known.worst, limit=known.limit, reason=known.reason)


def statement(
    context: StepContext, project: str, specification_digest: bytes
) -> contribution_pb2.LeakageStatement | None:
    """The measurement for Carole's audit log, if one was made."""
    known = context.state.leakage(project, specification_digest)
    if known is None:
        return None
    overridden = known.overridden_at is not None
    shares = {"worst": known.worst, "limit": known.limit}
    return contribution_pb2.LeakageStatement(**shares, overridden=overridden, reason=known.reason)
