"""What a member can do with a project as it is now: its pages have these forms and links, and no others.

Carole decides in any case; this is so that no page has a form that she would refuse, and that whoever opens one by its
address reads why it is not there.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.epochs import MAX_EPOCHS
from gemel.common.parties import Role
from gemel.console.coordinator.project_words import is_under_way, shown_state
from gemel.console.coordinator.waiting import S, has_approved
from gemel.coordinator.client.run_progress import RESOLVE
from gemel.protos.linkage.v1 import project_pb2

R = project_pb2.RunState


class Act(StrEnum):
    """What a member does with a project by a page, or reads on a page of its own."""

    APPROVE = "approve"
    AMEND = "amend"
    START = "start"
    RESOLVE = "resolve"
    RESULTS = "results"
    RISK = "risk"
    NEW_EPOCH = "new-epoch"
    HAND_OVER = "hand-over"
    TAKE_OVER = "take-over"
    ERASE = "erase"
    RELEASE = "release"
    REFUSE = "refuse"
    RESTORED = "restored"


_WORDS = {
    Act.APPROVE: "be approved by you",
    Act.AMEND: "be amended",
    Act.NEW_EPOCH: "be brought to another epoch",
    Act.HAND_OVER: "be handed over",
    Act.TAKE_OVER: "be taken over by you",
    Act.ERASE: "be erased",
    Act.RESTORED: "be decided on after a restoration",
}
_AMENDABLE = (
    S.PROJECT_STATE_DRAFT,
    S.PROJECT_STATE_KEYED,
    S.PROJECT_STATE_CONTRIBUTED,
    S.PROJECT_STATE_ASSESSED,
    S.PROJECT_STATE_HELD,
    S.PROJECT_STATE_RELEASED,
)
_JUDGED = (S.PROJECT_STATE_ASSESSED, S.PROJECT_STATE_HELD, S.PROJECT_STATE_RELEASED)
_BEFORE_A_RESULT = (S.PROJECT_STATE_APPROVED, S.PROJECT_STATE_KEYED, S.PROJECT_STATE_CONTRIBUTED)
_READING = frozenset({Act.RISK, Act.RESULTS})


def acts_of_coordinator(status: project_pb2.ProjectStatus, name: str) -> frozenset[Act]:
    if status.state == S.PROJECT_STATE_ERASED:
        return frozenset()
    if status.owner != name:
        return frozenset({Act.TAKE_OVER}) if status.successor == name else frozenset()
    found = {Act.HAND_OVER, Act.ERASE}
    if status.run.run and status.state in _JUDGED:
        found.add(Act.RISK)
    if status.restore_awaits:
        return frozenset(found | ({Act.RESTORED} if Role.COORDINATOR in status.restore_awaits else set()))
    run_goes_on = is_under_way(status)
    if status.state == S.PROJECT_STATE_DRAFT and not has_approved(status, name):
        found.add(Act.APPROVE)
    if status.state == S.PROJECT_STATE_CONTRIBUTED and not run_goes_on:
        found.add(Act.START)
    if status.run.state == R.RUN_STATE_RESOLVING and status.run.stage == RESOLVE:
        found.add(Act.RESOLVE)
    if status.state in _AMENDABLE:
        found.add(Act.AMEND)
    waits_for_parties = not run_goes_on or status.run.state == R.RUN_STATE_RESOLVING
    if status.state in _BEFORE_A_RESULT and status.epoch < MAX_EPOCHS and waits_for_parties:
        found.add(Act.NEW_EPOCH)
    if status.state == S.PROJECT_STATE_RELEASED:
        found.add(Act.RESULTS)
    return frozenset(found)


def acts_of_steward(status: project_pb2.ProjectStatus, name: str, coordinators: Collection[str]) -> frozenset[Act]:
    """What a steward can do with a project whose result was judged."""
    found = set[Act]()
    if status.owner not in coordinators:
        found.add(Act.HAND_OVER)
    if status.restore_awaits:
        return frozenset(found | ({Act.RESTORED} if Role.STEWARD in status.restore_awaits else set()))
    if status.state == S.PROJECT_STATE_HELD:
        found |= {Act.REFUSE} if name in status.signed else {Act.REFUSE, Act.RELEASE}
    return frozenset(found)


def forms_among(acts: frozenset[Act], *, acting: bool) -> frozenset[Act]:
    """Those of the acts that a person may do: all, or without `acting` what is only read."""
    return acts if acting else acts & _READING


def require_act(act: Act, acts: Collection[Act], status: project_pb2.ProjectStatus) -> None:
    if act not in acts:
        what = f"the project cannot {_WORDS[act]} now"
        got = f"project of {status.owner}: {shown_state(status)}"
        remedy = "its page shows what it waits for, and for whom"
        raise GemelError(ErrorCode.WRONG_STATE, what, where=status.project, got=got, remedy=remedy)
