"""What each action does to a project: from the project as it is to the project as it will be, with its audit entry.

Every function is total over replays: what has been done already is recognised and changes nothing (`Outcome.entries`
is empty then), because a caller whose reply was lost must be able to ask again. The same thing with *other* content
is refused. Details of an entry are names, counts and digests; never a value, a letter or a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from carole.projects.project import Approval, KeyReport, Project, Run, Upload
from carole.projects.state import LetterKind, RunState, State
from carole.projects.transitions import SYSTEM, Action, Actor, Transition, arrive, permit
from common.errors import ErrorCode, TrystError
from common.parties import Role, Side

MAX_LETTER_BYTES = 4096

Detail = str | int | float | bool


@dataclass(frozen=True)
class Entry:
    """What the audit log is to say: who did what, with details that hold no value."""

    actor: str
    action: Action
    details: Mapping[str, Detail] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Outcome:
    """A project after an operation, and what the audit log says of it; no entry means that nothing changed."""

    project: Project
    entries: tuple[Entry, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the operation did anything."""
        return bool(self.entries)


def approve(project: Project, role: Role, approval: Approval) -> Outcome:
    """Consent to the specification. The signature has been verified before.

    Raises
    ------
    TrystError
        SPECIFICATION if the consent is to another specification; NOT_ADMITTED, WRONG_STATE.
    """
    if approval.digest != project.specification_digest:
        raise TrystError(
            ErrorCode.SPECIFICATION,
            "the approval is for another specification than the project's",
            where=project.name,
            got=f"digest {approval.digest[:8].hex()}... instead of {project.specification_digest[:8].hex()}...",
            remedy="read the project's specification again and approve that",
        )
    if project.state is not State.ERASED and role in project.approvals:
        return Outcome(project)
    row = permit(project, role, Action.APPROVE)
    after = replace(project, approvals={**project.approvals, role: approval})
    return _move(row, after, approval.member, {"specification_digest": approval.digest.hex()})


def post_letter(project: Project, side: Side, member: str, epoch: int, kind: LetterKind, body: bytes) -> Outcome:
    """Leave a letter of the seed agreement for the other custodian.

    Raises
    ------
    TrystError
        PARAMETER for a letter that is empty or too long; EPOCH_MISMATCH; EXISTS if another letter of this kind is
        there; NOT_ADMITTED, WRONG_STATE.
    """
    if not 0 < len(body) <= MAX_LETTER_BYTES:
        raise TrystError(
            ErrorCode.PARAMETER,
            f"a letter has 1 to {MAX_LETTER_BYTES} bytes",
            where=f"letter for {project.name}",
            got=f"{len(body)} bytes",
        )
    _same_epoch(project, epoch)
    there = project.letters.get((side, kind))
    if there == body and project.state is not State.ERASED:
        return Outcome(project)
    row = permit(project, side.role, Action.POST_LETTER)
    if there is not None:
        raise TrystError(
            ErrorCode.EXISTS,
            "another letter of this kind has been left already",
            where=f"{kind.name.lower()} of {side} for {project.name}, epoch {epoch}",
            remedy="restore the custodian's state from its backup, or make a new project: an agreement cannot be "
            "begun twice",
        )
    after = replace(project, letters={**project.letters, (side, kind): body})
    return _move(row, after, member, {"kind": kind.name.lower(), "epoch": epoch, "bytes": len(body)})


def report_keys(project: Project, side: Side, member: str, epoch: int, report: KeyReport) -> Outcome:
    """Take a custodian's key-check value and canary digest.

    Two unequal reports are kept, each replaceable by its own side until they are equal: `key_trouble` of the project
    as it comes out tells what is wrong with them.

    Raises
    ------
    TrystError
        EPOCH_MISMATCH; KEY_MISMATCH or CANARY_MISMATCH if the keys are agreed already, and these are others;
        NOT_ADMITTED, WRONG_STATE.
    """
    _same_epoch(project, epoch)
    there = project.reports.get(side)
    if there == report and project.state is not State.ERASED:
        return Outcome(project)
    if there is not None and project.state not in (State.DRAFT, State.APPROVED, State.ERASED):
        trouble = key_trouble(replace(project, reports={side: report, side.other: there}))
        if trouble is not None:
            raise trouble
    row = permit(project, side.role, Action.REPORT_KEYS)
    after = replace(project, reports={**project.reports, side: report})
    equal = key_trouble(after) is None
    return _move(row, after, member, {"epoch": epoch, "again": there is not None, "agrees": equal})


def key_trouble(project: Project) -> TrystError | None:
    """What is wrong between the two custodians' reports; None if nothing is, or one is missing."""
    reports = project.reports
    if len(reports) < len(Side):
        return None
    alice, bob = reports[Side.ALICE], reports[Side.BOB]
    if alice.key_check_value != bob.key_check_value:
        return TrystError(
            ErrorCode.KEY_MISMATCH,
            "the custodians' key-check values differ: they do not hold the same seed",
            where=f"{project.name}, epoch {project.epoch}",
            remedy="give both custodians the same seed file, or let both agree on a seed through Carole; then "
            "report again",
        )
    if alice.canary_digest != bob.canary_digest:
        return TrystError(
            ErrorCode.CANARY_MISMATCH,
            "the custodians' canary digests differ: the same test records give them other signatures",
            where=f"{project.name}, epoch {project.epoch}",
            remedy="run the same version of Tryst, with the same versions of its libraries, on both sides; then "
            "report again",
        )
    return None


def begin_upload(project: Project, side: Side, member: str, upload: Upload) -> Outcome:
    """Begin a contribution, or begin it anew under another name; an uncommitted one is dropped then.

    Raises
    ------
    TrystError
        NOT_ADMITTED, WRONG_STATE.
    """
    there = project.uploads.get(side)
    if there is not None and there.upload == upload.upload and not there.expired:
        return Outcome(project)
    row = permit(project, side.role, Action.BEGIN_UPLOAD)
    # A committed upload stays the side's contribution until the new one is committed too.
    keep = there is not None and there.committed and not there.expired
    after = project if keep else replace(project, uploads={**project.uploads, side: upload})
    return _move(row, after, member, _described(upload))


def commit_upload(project: Project, side: Side, member: str, upload: Upload) -> Outcome:
    """Make a complete and verified upload the side's contribution.

    Raises
    ------
    TrystError
        NOT_ADMITTED, WRONG_STATE.
    """
    there = project.uploads.get(side)
    if there is not None and there.upload == upload.upload and there.committed and not there.expired:
        return Outcome(project)
    row = permit(project, side.role, Action.COMMIT_UPLOAD)
    committed = replace(upload, committed=True, received_bytes=upload.total_bytes)
    after = replace(project, uploads={**project.uploads, side: committed})
    details = _described(upload)
    if there is not None and there.committed and not there.expired:
        details["replaces"] = there.upload
    return _move(row, after, member, details)


def start_run(project: Project, member: str, request: str, name: str) -> Outcome:
    """Ask for a run. The same request is the same run, whatever has become of it.

    Raises
    ------
    TrystError
        RUN_ACTIVE if another run is queued or running; NOT_ADMITTED, WRONG_STATE.
    """
    if any(run.request == request for run in project.runs):
        return Outcome(project)
    row = permit(project, Role.COORDINATOR, Action.START_RUN)
    active = project.active_run
    if active is not None:
        raise TrystError(
            ErrorCode.RUN_ACTIVE,
            f"a run of this project is {active.state.name.lower()} already",
            where=project.name,
            got=f"run {active.run}",
            remedy="watch it, and start another when it has ended",
        )
    after = replace(project, runs=(*project.runs, Run(name, request, RunState.QUEUED)))
    return _move(row, after, member, {"run": name})


def take_run(project: Project, name: str) -> Outcome:
    """Begin to work on a queued run, or on one whose worker has died.

    Raises
    ------
    TrystError
        WRONG_STATE if the run is not active.
    """
    run = _active(project, name)
    row = permit(project, SYSTEM, Action.TAKE_RUN)
    taken = replace(run, state=RunState.RUNNING, attempt=run.attempt + 1, stage="", fraction=0.0)
    return _move(row, _with_run(project, taken), SYSTEM, {"run": name, "attempt": taken.attempt})


def fail_run(project: Project, name: str, error: str) -> Outcome:
    """Give a run up; another may be asked for.

    Raises
    ------
    TrystError
        WRONG_STATE if the run is not active.
    """
    run = _active(project, name)
    row = permit(project, SYSTEM, Action.FAIL_RUN)
    failed = replace(run, state=RunState.FAILED, error=error)
    return _move(row, _with_run(project, failed), SYSTEM, {"run": name, "attempt": run.attempt, "error": error})


def finish_run(project: Project, name: str, links: int) -> Outcome:
    """End a run with links, and release it: the specification asks for no assessment.

    Two transitions, and two audit entries, that stand or fall together.

    Raises
    ------
    TrystError
        WRONG_STATE if the run is not running.
    """
    run = _active(project, name)
    row = permit(project, SYSTEM, Action.FINISH_RUN)
    done = replace(run, state=RunState.DONE, fraction=1.0, links=links)
    ended = _move(row, _with_run(project, done), SYSTEM, {"run": name, "links": links})
    row = permit(ended.project, SYSTEM, Action.RELEASE)
    grants = {str(role): str(grant) for role, grant in sorted(project.grants.items())}
    released = _move(row, ended.project, SYSTEM, {"run": name, "assessment": "none", **grants})
    return Outcome(released.project, ended.entries + released.entries)


def acknowledge(project: Project, side: Side, member: str, name: str) -> Outcome:
    """A custodian confirms that it holds its share of a released run, whose digest has been compared before.

    Raises
    ------
    TrystError
        NOT_ADMITTED, WRONG_STATE.
    """
    if side in project.acknowledged and project.state is not State.ERASED:
        return Outcome(project)
    row = permit(project, side.role, Action.ACKNOWLEDGE)
    after = replace(project, acknowledged=project.acknowledged | {side})
    return _move(row, after, member, {"run": name})


def expire_upload(project: Project, side: Side, upload: str) -> Outcome:
    """An upload's time is over. Not while a run is at work on it: the run ends first.

    Raises
    ------
    TrystError
        RUN_ACTIVE, WRONG_STATE.
    """
    if project.active_run is not None:
        raise TrystError(ErrorCode.RUN_ACTIVE, "an upload does not expire under a run", where=project.name)
    row = permit(project, SYSTEM, Action.EXPIRE_UPLOAD)
    there = project.uploads.get(side)
    after = project
    if there is not None and there.upload == upload:
        after = replace(project, uploads={**project.uploads, side: replace(there, expired=True)})
    return _move(row, after, SYSTEM, {"side": str(side), "upload": upload})


def expire_result(project: Project) -> Outcome:
    """The result's time is over, and the project's with it.

    Raises
    ------
    TrystError
        WRONG_STATE.
    """
    return _move(permit(project, SYSTEM, Action.EXPIRE_RESULT), _erased(project), SYSTEM, {})


def erase(project: Project, role: Actor, member: str) -> Outcome:
    """Erase whatever is stored for the project. A run under way comes to nothing.

    Raises
    ------
    TrystError
        NOT_ADMITTED.
    """
    if project.state is State.ERASED and role == Role.COORDINATOR:
        return Outcome(project)
    return _move(permit(project, role, Action.ERASE), _erased(project), member, {})


def _erased(project: Project) -> Project:
    runs = tuple(
        replace(run, state=RunState.FAILED, error="the project was erased") if run.state.active else run
        for run in project.runs
    )
    return replace(project, letters={}, reports={}, uploads={}, runs=runs)


def _move(row: Transition, after: Project, actor: str, details: Mapping[str, Detail]) -> Outcome:
    state = arrive(row, after)
    described = dict(details)
    if state is not after.state:
        described["state"] = state.name
    return Outcome(replace(after, state=state), (Entry(actor, row.action, described),))


def _described(upload: Upload) -> dict[str, Detail]:
    return {"upload": upload.upload, "rows": upload.rows, "bytes": upload.total_bytes}


def _with_run(project: Project, changed: Run) -> Project:
    return replace(project, runs=tuple(changed if run.run == changed.run else run for run in project.runs))


def _active(project: Project, name: str) -> Run:
    run = project.run(name)
    if run is None or not run.state.active:
        raise TrystError(
            ErrorCode.WRONG_STATE,
            "the run is not under way",
            where=f"{project.name}, run {name}",
            got="no such run" if run is None else run.state.name,
        )
    return run


def _same_epoch(project: Project, epoch: int) -> None:
    if epoch != project.epoch:
        raise TrystError(
            ErrorCode.EPOCH_MISMATCH,
            f"the project is in epoch {project.epoch}, and epochs are not mixed",
            where=project.name,
            got=f"epoch {epoch}",
            remedy="agree on the seed of the project's present epoch",
        )
