"""Consents, agreement messages and key reports: what the parties agree on before anything is uploaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from gemel.carole.projects.operations.linking import give_up_waiting
from gemel.carole.projects.operations.outcome import Detail, Outcome, move
from gemel.carole.projects.ownership import acting
from gemel.carole.projects.project import Approval, KeyReport, Project
from gemel.carole.projects.state import Grant, MessageKind, Policy, State
from gemel.carole.projects.transitions import Action, permit
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.parties import Role, Side
from gemel.common.specification.model.granted_variables import Transfer

MAX_MESSAGE_BYTES = 4096


def approve(
    project: Project, role: Role, approval: Approval, file: Mapping[str, Detail] = MappingProxyType({})
) -> Outcome:
    """Consent to the specification. The signature has been verified before.

    What a custodian states of its `file`, verified too, goes to the audit log.

    Raises
    ------
    GemelError
        SPECIFICATION if the consent is to another specification; NOT_ADMITTED, also for a coordinator that is not the
        owner; WRONG_STATE.
    """
    actor = acting(project, role, approval.member, Action.APPROVE)
    if approval.digest != project.specification_digest:
        raise GemelError(
            ErrorCode.SPECIFICATION,
            "the approval is for a specification other than the project's",
            where=project.name,
            got=f"digest {approval.digest[:8].hex()}... instead of {project.specification_digest[:8].hex()}...",
            remedy="read the project's specification again and approve that",
        )
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


def amend(
    project: Project,
    member: str,
    digest: bytes,
    encoding: bytes,
    grants: Mapping[Role, Grant],
    policy: Policy,
    signatures: int = 1,
    transfers: tuple[Transfer, ...] = (),
) -> Outcome:
    """Replace the project's specification by another with the same encoding; all must consent to it again.

    A run that waits for handles or for the resolver is ended, since the amendment may change what it waits for.

    Raises
    ------
    GemelError
        ENCODING_MISMATCH if it needs other signatures; RUN_ACTIVE; NOT_ADMITTED, WRONG_STATE.
    """
    actor = acting(project, Role.COORDINATOR, member, Action.AMEND)
    if digest == project.specification_digest and project.state is not State.ERASED:
        return Outcome(project)
    row = permit(project, actor, Action.AMEND)
    if encoding != project.encoding_digest:
        raise GemelError(
            ErrorCode.ENCODING_MISMATCH,
            "an amended specification may not change what was signed: fields, cleaning, tokens, bits, rules, variables,"
            " files of known values",
            where=project.name,
            got=f"encoding {encoding[:8].hex()}... instead of {project.encoding_digest[:8].hex()}...",
            remedy="make a new project for another encoding",
        )
    given_up = give_up_waiting(project, "the specification was amended while the run waited")
    if given_up.project.active_run is not None:
        raise GemelError(
            ErrorCode.RUN_ACTIVE,
            "a specification cannot be amended during a run",
            where=project.name,
            remedy="wait until the run has ended",
        )
    details = {
        "specification_digest": digest.hex(),
        "former": project.specification_digest.hex(),
        "policy": str(policy),
    }
    after = replace(
        given_up.project,
        specification_digest=digest,
        grants=grants,
        policy=policy,
        signatures=signatures,
        transfers=transfers,
        sent=frozenset(),
        received=frozenset(),
        approvals={},
        declines={},
    )
    return given_up.then(move(row, after, member, details))


def post_message(project: Project, side: Side, member: str, epoch: int, kind: MessageKind, payload: bytes) -> Outcome:
    """Post a message of the seed agreement for the other custodian.

    Raises
    ------
    GemelError
        PARAMETER for a message that is empty or too long; EPOCH_MISMATCH; EXISTS if another message of this kind
        exists; NOT_ADMITTED, WRONG_STATE.
    """
    if not 0 < len(payload) <= MAX_MESSAGE_BYTES:
        raise parameter(
            f"agreement message for {project.name}",
            f"an agreement message has 1 to {MAX_MESSAGE_BYTES} bytes",
            f"{len(payload)} bytes",
        )
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

    Raises
    ------
    GemelError
        EPOCH_MISMATCH; KEY_MISMATCH or CANARY_MISMATCH if the keys are already agreed and these differ;
        NOT_ADMITTED, WRONG_STATE.
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
        return GemelError(
            ErrorCode.KEY_MISMATCH,
            "the custodians' key-check values differ: they do not hold the same seed",
            where=f"{project.name}, epoch {project.epoch}",
            remedy="give both custodians the same seed file, or let both agree on a seed through Carole; they then "
            "continue by themselves",
        )
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
    """Which parts of the canaries differ, in words."""
    differing = [name for name, part in alice.canary_parts.items() if part != bob.canary_parts[name]]
    return f"differences in {', '.join(differing)}" if differing else "parts that all agree"


def _same_epoch(project: Project, epoch: int) -> None:
    if epoch != project.epoch:
        raise GemelError(
            ErrorCode.EPOCH_MISMATCH,
            f"the project is in epoch {project.epoch}, and epochs cannot be mixed",
            where=project.name,
            got=f"epoch {epoch}",
            remedy="agree on the seed of the project's current epoch",
        )
