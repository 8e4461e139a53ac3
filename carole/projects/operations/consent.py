"""What the parties agree on before anything is uploaded, and who owns the project that they agree on.

Consents, agreement messages and key reports; new epochs; a project's way from one coordinator to another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from gemel.carole.projects.operations.linking import WAITS_TO_JOIN, give_up_waiting
from gemel.carole.projects.operations.outcome import Detail, Outcome, move
from gemel.carole.projects.project import (
    Approval,
    KeyReport,
    MessageKind,
    NewEpoch,
    PendingHandOver,
    Project,
    RunState,
    State,
    Terms,
)
from gemel.carole.projects.transitions import Action, acting, permit, waits_for
from gemel.common.audit.statements import TakeOver
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.epochs import MAX_EPOCHS
from gemel.common.parties import Role, Side

MAX_MESSAGE_BYTES = 4096


def approve(
    project: Project, role: Role, approval: Approval, file: Mapping[str, Detail] = MappingProxyType({})
) -> Outcome:
    """Consent to the specification. The signature has been verified before.

    What a custodian states of its `file`, verified too, goes to the audit log.
    """
    actor = acting(project, role, approval.member, Action.APPROVE)
    if approval.digest != project.specification_digest:
        what = "the approval is for a specification other than the project's"
        got = f"digest {approval.digest[:8].hex()}... instead of {project.specification_digest[:8].hex()}..."
        remedy = "read the project's specification again and approve that"
        raise GemelError(ErrorCode.SPECIFICATION, what, where=project.name, got=got, remedy=remedy)
    if project.state is not State.ERASED:
        _same_epoch(project, approval.epoch)
    if project.state is not State.ERASED and role in project.approvals:
        return Outcome(project)
    row = permit(project, actor, Action.APPROVE)
    after = replace(
        project,
        approvals={**project.approvals, role: approval},
        declines={side: declined for side, declined in project.declines.items() if side.role is not role},
    )
    return move(row, after, approval.member, {"specification_digest": approval.digest.hex(), **file})


def amend(project: Project, member: str, terms: Terms) -> Outcome:
    """Replace the project's specification by another with the same encoding; all must consent to it again.

    A run that waits for handles or for the resolver is ended, since the amendment may change what it waits for. Raises
    ENCODING_MISMATCH if it needs other signatures; RUN_ACTIVE; NOT_ADMITTED, WRONG_STATE.
    """
    actor = acting(project, Role.COORDINATOR, member, Action.AMEND)
    if terms.specification_digest == project.specification_digest and project.state is not State.ERASED:
        return Outcome(project)
    row = permit(project, actor, Action.AMEND)
    if terms.encoding_digest != project.encoding_digest:
        what = (
            "an amended specification may not change what was signed: fields, cleaning, tokens, bits, rules, variables,"
            " files of known values"
        )
        got = f"encoding {terms.encoding_digest[:8].hex()}... instead of {project.encoding_digest[:8].hex()}..."
        remedy = "make a new project for another encoding"
        raise GemelError(ErrorCode.ENCODING_MISMATCH, what, where=project.name, got=got, remedy=remedy)
    given_up = give_up_waiting(project, "the specification was amended while the run waited")
    if given_up.project.active_run is not None:
        what = "a specification cannot be amended during a run"
        raise GemelError(ErrorCode.RUN_ACTIVE, what, where=project.name, remedy="wait until the run has ended")
    details = {
        "specification_digest": terms.specification_digest.hex(),
        "former": project.specification_digest.hex(),
        "policy": str(terms.policy),
    }
    agreed = replace(given_up.project, approvals={}, declines={}, sent=frozenset(), received=frozenset())
    after = replace(agreed, **terms.parts)
    return given_up.then(move(row, after, member, details))


def post_message(project: Project, side: Side, member: str, epoch: int, kind: MessageKind, payload: bytes) -> Outcome:
    if not 0 < len(payload) <= MAX_MESSAGE_BYTES:
        what = f"an agreement message has 1 to {MAX_MESSAGE_BYTES} bytes"
        raise parameter(f"agreement message for {project.name}", what, f"{len(payload)} bytes")
    _same_epoch(project, epoch)
    there = project.messages.get((side, kind))
    if there == payload and project.state is not State.ERASED:
        return Outcome(project)
    row = permit(project, side.role, Action.POST_MESSAGE)
    if there is not None:
        raise GemelError(
            ErrorCode.EXISTS,
            "another agreement message of this kind has already been posted",
            where=f"{kind.name.lower()} of {side} for {project.name}, epoch {epoch}",
            remedy="restore the custodian's state from its backup, or let the coordinator open a new epoch: an "
            "agreement cannot be started twice",
        )
    after = replace(project, messages={**project.messages, (side, kind): payload})
    return move(row, after, member, {"kind": kind.name.lower(), "epoch": epoch, "bytes": len(payload)})


def report_keys(project: Project, side: Side, member: str, epoch: int, report: KeyReport) -> Outcome:
    """Take a custodian's key-check value and canary digest.

    Two unequal reports are kept, each replaceable by its own side until they are equal: `key_mismatch` of the resulting
    project returns the error.
    """
    _same_epoch(project, epoch)
    there = project.reports.get(side)
    if there == report and project.state is not State.ERASED:
        return Outcome(project)
    if there is not None and project.state not in (State.DRAFT, State.APPROVED, State.ERASED):
        blocking_error = key_mismatch(replace(project, reports={side: report, side.other: there}))
        if blocking_error is not None:
            raise blocking_error
    row = permit(project, side.role, Action.REPORT_KEYS)
    after = replace(project, reports={**project.reports, side: report})
    equal = key_mismatch(after) is None
    return move(row, after, member, {"epoch": epoch, "again": there is not None, "agrees": equal})


def key_mismatch(project: Project) -> GemelError | None:
    """The error if the two custodians' reports differ; None if they are equal, or one is missing."""
    reports = project.reports
    if len(reports) < len(Side):
        return None
    alice, bob = reports[Side.ALICE], reports[Side.BOB]
    if alice.key_check_value != bob.key_check_value:
        what = "the custodians' key-check values differ: they do not hold the same seed"
        remedy = (
            "give both custodians the same seed file, or let both agree on a seed through Carole; they then "
            "continue by themselves"
        )
        return GemelError(ErrorCode.KEY_MISMATCH, what, where=f"{project.name}, epoch {project.epoch}", remedy=remedy)
    if alice.canary_digest != bob.canary_digest:
        return GemelError(
            ErrorCode.CANARY_MISMATCH,
            "the custodians' canary digests differ: the same test records give different signatures",
            where=f"{project.name}, epoch {project.epoch}",
            got=_differing(alice, bob),
            remedy="run the same version of Gemel, with the same versions of its libraries, on both sides; custodians "
            "with a seed file then continue by themselves, for others the coordinator opens a new epoch",
        )
    return None


def _differing(alice: KeyReport, bob: KeyReport) -> str:
    differing = [name for name, part in alice.canary_parts.items() if part != bob.canary_parts[name]]
    return f"differences in {', '.join(differing)}" if differing else "parts that all agree"


def _same_epoch(project: Project, epoch: int) -> None:
    if epoch != project.epoch:
        what = f"the project is in epoch {project.epoch}, and epochs cannot be mixed"
        remedy = "agree on the seed of the project's current epoch"
        raise GemelError(ErrorCode.EPOCH_MISMATCH, what, where=project.name, got=f"epoch {epoch}", remedy=remedy)


# A new epoch: the custodians agree on another seed, and everything made under the former one is erased.


def open_epoch(project: Project, new: NewEpoch) -> Outcome:
    """Open the project's next epoch, which both custodians must consent to. The signature has been verified before.

    The coordinator's own approval stays: it has signed the epoch. A run that waits for other parties is ended. Raises
    EPOCH_MISMATCH for any but the next epoch, or one too many; RUN_ACTIVE; WRONG_STATE, also once a result was
    released; NOT_ADMITTED.
    """
    actor = acting(project, Role.COORDINATOR, new.member, Action.NEW_EPOCH)
    known = project.new_epoch
    if known is not None and known.signature == new.signature and project.state is not State.ERASED:
        return Outcome(project)
    row = permit(project, actor, Action.NEW_EPOCH)
    if new.epoch != project.epoch + 1:
        what = f"the project is in epoch {project.epoch}, and the next one must follow"
        remedy = "look at the project's status, and open the next epoch if it still has to be opened"
        raise GemelError(ErrorCode.EPOCH_MISMATCH, what, where=project.name, got=f"epoch {new.epoch}", remedy=remedy)
    if new.epoch > MAX_EPOCHS:
        what = f"a project has at most {MAX_EPOCHS} epochs, since each can show the same records under other keys"
        remedy = "find out with both custodians why their keys or installations differ, then make a new project"
        raise GemelError(ErrorCode.EPOCH_MISMATCH, what, where=project.name, got=f"epoch {new.epoch}", remedy=remedy)
    if project.released_run is not None:
        what = "a result of this project was released, so its keys did agree"
        remedy = "make a new project to link under other keys"
        raise GemelError(ErrorCode.WRONG_STATE, what, where=project.name, remedy=remedy)
    given_up = give_up_waiting(project, "a new epoch was opened while the run waited")
    if given_up.project.active_run is not None:
        what = "a new epoch cannot be opened during a run"
        raise GemelError(ErrorCode.RUN_ACTIVE, what, where=project.name, remedy="wait until the run has ended")
    mismatch = key_mismatch(project)
    details: dict[str, Detail] = {
        "epoch": new.epoch,
        "reason": new.reason,
        "signature": new.signature.hex(),
        "mismatch": "" if mismatch is None else mismatch.code.name,
    }
    dropped = [upload.upload for of in (project.uploads, project.pending) for upload in of.values()]
    if dropped:
        details["uploads"] = " ".join(sorted(dropped))
    after = replace(
        given_up.project,
        epoch=new.epoch,
        new_epoch=new,
        approvals={role: given for role, given in project.approvals.items() if role is Role.COORDINATOR},
        messages={},
        reports={},
        uploads={},
        pending={},
    )
    return given_up.then(move(row, after, new.member, details))


# A project's way from one coordinator to another: offered by a signature, and taken over by another one.


def hand_over(project: Project, role: Role, pending: PendingHandOver) -> Outcome:
    """Offer the project to another coordinator, in the place of a former offer; to its owner: withdraw that one.

    The signature has been verified before, and that the successor is a coordinator; of a steward, that the owner is no
    longer a member.
    """
    actor = acting(project, role, pending.member, Action.HAND_OVER)
    known, statement = project.hand_over, pending.statement
    withdrawn = statement.successor == project.owner
    done = known is None if withdrawn else known is not None and known.signature == pending.signature
    if done and project.state is not State.ERASED:
        return Outcome(project)
    row = permit(project, actor, Action.HAND_OVER)
    if statement.former != project.owner:
        raise _changed(project, f"a statement about the owner {statement.former}")
    details: dict[str, Detail] = {
        "role": str(role),
        "former": statement.former,
        "successor": statement.successor,
        "reason": statement.reason,
        "entries": statement.seen.size,
        "root": statement.seen.root.hex(),
        "signature": pending.signature.hex(),
    }
    return move(row, replace(project, hand_over=None if withdrawn else pending), pending.member, details)


def take_over(
    project: Project, statement: TakeOver, signature: bytes, consent: Approval, opening: NewEpoch | None = None
) -> Outcome:
    """Make a coordinator the owner of a project that was handed over to it. Both signatures have been verified before.

    Its consent to the specification takes the place of the former owner's, if that one had consented, and its opening
    of the present epoch the former owner's: custodians enter an epoch that the project's owner has signed. A run that
    waits for the former owner as resolver is ended: what custodians seal is for one reader.

    `opening`: of the present epoch, by the successor; None in the first.
    """
    member = statement.successor
    if project.owner == member and project.state is not State.ERASED:
        return Outcome(project)
    row = permit(project, Role.COORDINATOR, Action.TAKE_OVER)
    if not waits_for(project, member):
        what = f"the project belongs to the coordinator {project.owner}, and was not handed over to you"
        remedy = f"let {project.owner} hand it over: `gemel project hand-over {project.name} --to {member}`"
        raise GemelError(ErrorCode.NOT_ADMITTED, what, where=project.name, got=f"coordinator {member}", remedy=remedy)
    offered = b"" if project.hand_over is None else project.hand_over.signature
    if (statement.former, statement.hand_over) != (project.owner, offered):
        raise _changed(project, "a statement about another offer")
    if project.hand_over is not None and project.hand_over.statement.seen.size < project.restoration:
        raise _changed(project, "an offer from before Carole's store was restored, which may have been withdrawn since")
    if consent.digest != project.specification_digest:
        raise _changed(project, "consent to another specification", ErrorCode.SPECIFICATION)
    if consent.epoch != project.epoch:
        raise _changed(project, f"consent in epoch {consent.epoch}", ErrorCode.EPOCH_MISMATCH)
    opened = project.new_epoch
    if (None if opening is None else (opening.epoch, opening.member, opening.reason)) != (
        None if opened is None else (opened.epoch, member, opened.reason)
    ):
        raise _changed(project, f"no signature under its epoch {project.epoch}", ErrorCode.EPOCH_MISMATCH)
    given_up = _without_reader(project)
    approvals = given_up.project.approvals
    if Role.COORDINATOR in approvals:
        approvals = {**approvals, Role.COORDINATOR: consent}
    details: dict[str, Detail] = {
        "former": project.owner,
        "entries": statement.seen.size,
        "root": statement.seen.root.hex(),
        "hand_over": offered.hex(),
        "signature": signature.hex(),
        "specification_digest": consent.digest.hex(),
        "consent": consent.signature.hex(),
    }
    if opening is not None:
        details |= {"epoch": opening.epoch, "epoch_signature": opening.signature.hex()}
    after = replace(given_up.project, owner=member, hand_over=None, approvals=approvals, new_epoch=opening)
    return given_up.then(move(row, after, member, details))


def _without_reader(project: Project) -> Outcome:
    """The project without a run whose handles are sealed to the former owner."""
    run = project.active_run
    if run is None or run.state is not RunState.RESOLVING or run.stage == WAITS_TO_JOIN:
        return Outcome(project)
    return give_up_waiting(project, "the project was taken over while the run waited for its resolver")


def _changed(project: Project, got: str, code: ErrorCode = ErrorCode.WRONG_STATE) -> GemelError:
    what = "the project is no longer what the statement is about"
    return GemelError(code, what, where=project.name, got=got, remedy="look at the project's status, and sign again")
