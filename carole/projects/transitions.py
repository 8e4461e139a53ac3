"""The transitions of a project: one table of who may do what in which state, and where it leads.

`permit` decides whether an action may happen, `arrive` gives the state after it. `operations` holds the effect of each
action on the project; nothing else changes one.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from enum import StrEnum

from gemel.carole.projects.project import Project, State
from gemel.carole.projects.restoration import no_further_run, standstill
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import CUSTODIANS, Role, Side

SYSTEM = "system"
"""Carole herself, as the actor of what no party requests: a run's end, a release, an expiry."""

OWNER = "owner"
"""The coordinator that the project belongs to, as `ownership.acting` finds it."""

Actor = Role | str


class Action(StrEnum):
    """What can happen to a project. The names are recorded in the audit log."""

    CREATE = "create"
    AMEND = "amend"
    """Another specification with the same encoding is proposed, for all to consent to."""
    APPROVE = "approve"
    DECLINE = "decline"
    NEW_EPOCH = "new-epoch"
    """Other keys are agreed on: all made under the former seed is erased."""
    HAND_OVER = "hand-over"
    TAKE_OVER = "take-over"
    POST_MESSAGE = "post-letter"
    REPORT_KEYS = "report-keys"
    BEGIN_UPLOAD = "begin-upload"
    COMMIT_UPLOAD = "commit-upload"
    START_RUN = "start-run"
    TAKE_RUN = "take-run"
    REQUEUE_RUN = "requeue-run"
    FAIL_RUN = "fail-run"
    REQUEST_ROW_HANDLES = "ask-handles"
    """Custodians are asked which of their rows in the run's candidate pairs are one record."""
    SUBMIT_ROW_HANDLES = "give-handles"
    RESOLVE_RUN = "resolve-run"
    """The resolver has decided, without a signature, which candidate pairs are links."""
    JOIN = "join"
    """Carole, who holds the signatures too, has joined rows of different rules that are one record: the fall-back."""
    FINISH_RUN = "finish-run"
    ASSESS = "assess"
    HOLD = "hold"
    REFUSE = "refuse"
    OVERRIDE = "override"
    RELEASE = "release"
    ACKNOWLEDGE = "acknowledge-result"
    SEND_VARIABLES = "send-variables"
    RECEIVE_VARIABLES = "receive-variables"
    EXPIRE_UPLOAD = "expire-upload"
    EXPIRE_RESULT = "expire-result"
    ERASE = "erase"
    DENY = "deny"
    """No change: a caller requested what it may not have."""
    LIST_MEMBERS = "list-members"
    """No project's: whom Carole admits from then on."""
    INIT = "init"
    """The store was made."""
    RESTORE = "restore"
    """The store was put back to an earlier state, from a backup."""
    DESTROY_KEYS = "destroy-keys"
    """The keys of erased content were destroyed: the entry beside that of the action which erased it."""
    ACCEPT_RESTORE = "accept-restore"
    REFUSE_RESTORE = "refuse-restore"
    UPGRADE = "upgrade"
    """The database was brought to the schema of another version of Gemel."""
    CONFIRM_CLOCK = "confirm-clock"
    """Carole's operator has confirmed her machine's clock, which had moved far."""


@dataclass(frozen=True)
class Condition:
    """A condition on a project after an action, for the action to change its state."""

    text: str
    holds: Callable[[Project], bool]


@dataclass(frozen=True)
class Transition:
    """A row of the table."""

    action: Action
    who: frozenset[Actor]
    states: Set[State]
    arrives: State | None
    when: Condition = Condition("", lambda project: True)


def _approved(project: Project) -> bool:
    return {Role.COORDINATOR, *CUSTODIANS} <= project.approvals.keys()


def _same_keys(project: Project) -> bool:
    return len(project.reports) == len(Side) and len(set(project.reports.values())) == 1


def _contributed(project: Project) -> bool:
    return all(project.contributed(side) for side in Side)


_ALL_APPROVED = Condition("all have approved", _approved)
_APPROVED_AGAIN = Condition(
    "all have approved an amendment, and the keys are agreed",
    lambda project: _approved(project) and _same_keys(project),
)
_ALL_AGAIN = Condition(
    "all have approved an amendment, and both have contributed",
    lambda project: _APPROVED_AGAIN.holds(project) and _contributed(project),
)
_SAME_KEYS = Condition("both reports are equal", _same_keys)
_BOTH_CONTRIBUTED = Condition("both have contributed", _contributed)
_ONE_IS_MISSING = Condition("a contribution is missing", lambda project: not _contributed(project))

_CUSTODIANS: frozenset[Actor] = frozenset(CUSTODIANS)
_COORDINATOR: frozenset[Actor] = frozenset({Role.COORDINATOR})
_OWNER: frozenset[Actor] = frozenset({OWNER})
_STEWARD: frozenset[Actor] = frozenset({Role.STEWARD})
_ANALYST: frozenset[Actor] = frozenset({Role.ANALYST})
_SYSTEM: frozenset[Actor] = frozenset({SYSTEM})
_EVERYONE = _CUSTODIANS | _OWNER | _STEWARD

DRAFT, APPROVED, KEYED, CONTRIBUTED, RUN, ASSESSED, HELD, RELEASED, ERASED = State
_UNERASED = frozenset(State) - {ERASED}


TRANSITIONS: tuple[Transition, ...] = (
    # Consent to an amended specification leads back to the project's state before the amendment: existing keys and
    # contributions need not be made again.
    Transition(Action.APPROVE, _OWNER | _CUSTODIANS, {DRAFT}, CONTRIBUTED, _ALL_AGAIN),
    Transition(Action.APPROVE, _OWNER | _CUSTODIANS, {DRAFT}, KEYED, _APPROVED_AGAIN),
    Transition(Action.APPROVE, _OWNER | _CUSTODIANS, {DRAFT}, APPROVED, _ALL_APPROVED),
    Transition(Action.DECLINE, _CUSTODIANS, {DRAFT}, None),
    # A consent can be withdrawn until it has been used.
    Transition(Action.DECLINE, _CUSTODIANS, {APPROVED, KEYED, CONTRIBUTED, ASSESSED, HELD}, DRAFT),
    # Signed and sent data stay valid: only their use is agreed again.
    Transition(Action.AMEND, _OWNER, {DRAFT, KEYED, CONTRIBUTED, ASSESSED, HELD, RELEASED}, DRAFT),
    # Other keys need another consent, and what was made under the former ones is worth nothing.
    Transition(Action.NEW_EPOCH, _OWNER, {APPROVED, KEYED, CONTRIBUTED}, DRAFT),
    Transition(Action.POST_MESSAGE, _CUSTODIANS, {APPROVED}, None),
    Transition(Action.REPORT_KEYS, _CUSTODIANS, {APPROVED}, KEYED, _SAME_KEYS),
    Transition(Action.BEGIN_UPLOAD, _CUSTODIANS, {KEYED}, None),
    Transition(Action.COMMIT_UPLOAD, _CUSTODIANS, {KEYED}, CONTRIBUTED, _BOTH_CONTRIBUTED),
    Transition(Action.START_RUN, _OWNER, {CONTRIBUTED}, None),
    Transition(Action.TAKE_RUN, _SYSTEM, {CONTRIBUTED}, None),
    # Where a worker has died or lost its lease: queued again while attempts are left, else given up.
    Transition(Action.REQUEUE_RUN, _SYSTEM, {CONTRIBUTED}, None),
    Transition(Action.FAIL_RUN, _SYSTEM, {CONTRIBUTED}, None),
    Transition(Action.REQUEST_ROW_HANDLES, _SYSTEM, {CONTRIBUTED}, None),
    Transition(Action.SUBMIT_ROW_HANDLES, _CUSTODIANS, {CONTRIBUTED}, None),
    Transition(Action.RESOLVE_RUN, _OWNER, {CONTRIBUTED}, None),
    Transition(Action.JOIN, _SYSTEM, {CONTRIBUTED}, None),
    Transition(Action.FINISH_RUN, _SYSTEM, {CONTRIBUTED}, RUN),
    Transition(Action.ASSESS, _SYSTEM, {RUN}, ASSESSED),
    Transition(Action.HOLD, _SYSTEM, {ASSESSED}, HELD),
    Transition(Action.REFUSE, _SYSTEM, {ASSESSED}, None),
    Transition(Action.REFUSE, _STEWARD, {HELD}, ASSESSED),
    Transition(Action.OVERRIDE, _STEWARD, {HELD}, None),
    # From RUN only where the approved specification requests no assessment; `finish_run` ensures it.
    Transition(Action.RELEASE, _SYSTEM, {RUN, ASSESSED, HELD}, RELEASED),
    Transition(Action.ACKNOWLEDGE, _CUSTODIANS, {RELEASED}, None),
    Transition(Action.SEND_VARIABLES, _CUSTODIANS, {RELEASED}, None),
    Transition(Action.RECEIVE_VARIABLES, _CUSTODIANS | _ANALYST, {RELEASED}, None),
    # A contribution that has expired before its release must be made again.
    Transition(Action.EXPIRE_UPLOAD, _SYSTEM, {KEYED, CONTRIBUTED}, KEYED, _ONE_IS_MISSING),
    Transition(Action.EXPIRE_UPLOAD, _SYSTEM, {DRAFT, ASSESSED, HELD, RELEASED}, None),
    Transition(Action.EXPIRE_RESULT, _SYSTEM, {ASSESSED, HELD, RELEASED}, ERASED),
    Transition(Action.ERASE, _OWNER, _UNERASED, ERASED),
    Transition(Action.HAND_OVER, _OWNER | _STEWARD, _UNERASED, None),
    Transition(Action.TAKE_OVER, _COORDINATOR, _UNERASED, None),
    Transition(Action.ACCEPT_RESTORE, _EVERYONE, _UNERASED, None),
    Transition(Action.REFUSE_RESTORE, _EVERYONE, _UNERASED, None),
)
"""Everything that can happen to an existing project. Any other action is refused."""

_DESPITE_RESTORATION = frozenset(
    {Action.ACCEPT_RESTORE, Action.REFUSE_RESTORE, Action.DECLINE, Action.ERASE, Action.HAND_OVER, Action.TAKE_OVER}
)
"""What parties may do in a project whose restored log not all have accepted: decide, take their data away, and find
another owner who decides.
"""

_WORKED_ON = frozenset({Action.TAKE_RUN, Action.RELEASE})
"""What Carole may not do meanwhile; she may end what can no longer go on, and erase what is due."""

_RUN_AGAIN = frozenset({Action.START_RUN, Action.TAKE_RUN, Action.OVERRIDE})
"""What would lead to a further release."""

_WAITING = {
    State.DRAFT: "the coordinator and both custodians must approve its specification first",
    State.APPROVED: "both custodians must agree on their keys first",
    State.KEYED: "both custodians must contribute first",
    State.CONTRIBUTED: "the coordinator must start a run first, and it must have ended",
    State.RUN: "the result must be released first",
    State.ASSESSED: "its result is refused; amend the specification, or make a new project",
    State.HELD: "a steward must decide first",
    State.RELEASED: "its result is released; amend the specification to link again, or make a new project",
    State.ERASED: "it is erased; make a new project to link again",
}


def permit(project: Project, actor: Actor, action: Action) -> Transition:
    """The row of the table by which `actor` may do `action` now."""
    rows = [row for row in TRANSITIONS if row.action is action]
    if not any(actor in row.who for row in rows):
        raise GemelError(ErrorCode.NOT_ADMITTED, f"a {actor} may not do this", where=f"{action} of {project.name}")
    if (action in _WORKED_ON) if actor == SYSTEM else (action not in _DESPITE_RESTORATION):
        _refuse(project, action, standstill(project))
    if action in _RUN_AGAIN:
        _refuse(project, action, no_further_run(project))
    for row in rows:
        if actor in row.who and project.state in row.states:
            return row
    expected = sorted({state for row in rows for state in row.states})
    what = f"the project must be {' or '.join(state.name for state in expected)} for this"
    remedy = _WAITING[project.state]
    raise GemelError(
        ErrorCode.WRONG_STATE, what, where=f"{action} of {project.name}", got=project.state.name, remedy=remedy
    )


def _refuse(project: Project, action: Action, why: str) -> None:
    if why:
        remedy = "see the section on restored logs in the guide of your role"
        raise GemelError(
            ErrorCode.WRONG_STATE, why, where=f"{action} of {project.name}", got=project.state.name, remedy=remedy
        )


def arrive(row: Transition, after: Project) -> State:
    """The state of a project that the action of `row` has left as `after`."""
    for other in TRANSITIONS:
        same = (other.action, other.who) == (row.action, row.who) and after.state in other.states
        if same and other.arrives is not None and other.when.holds(after):
            return other.arrives
    return after.state


# A project belongs to one coordinator: whatever coordinators do to a project is for its owner alone.


def acting(project: Project, role: Actor, member: str, action: Action) -> Actor:
    """The actor that a member is in the table of transitions: of a coordinator, only the project's owner is one.

    Raises NOT_ADMITTED for another coordinator.
    """
    if role != Role.COORDINATOR:
        return role
    require_owner(project, member, str(action))
    return OWNER


def require_owner(project: Project, member: str, doing: str) -> None:
    """Refuse a coordinator that the project does not belong to; `doing` is what it requests, for the error.

    Raises NOT_ADMITTED, with the owner's name.
    """
    if project.owner == member:
        return
    raise GemelError(
        ErrorCode.NOT_ADMITTED,
        f"the project belongs to the coordinator {project.owner}",
        where=f"{doing} of {project.name}",
        got=f"coordinator {member}",
        remedy=f"let {project.owner} do it, or hand the project over to you (`gemel project hand-over`); where "
        f"{project.owner} is no longer a member, a steward does (`gemel steward hand-over`)",
    )


def waits_for(project: Project, member: str) -> bool:
    """Whether a coordinator may take the project over: it was handed over to it."""
    return project.hand_over is not None and project.hand_over.statement.successor == member
