"""A project in words, as its custodian sees it: its state, what it waits for and for whom, what can be decided."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from gemel.common.language import clauses, gettext, marked, named
from gemel.common.parties import Party
from gemel.console.web.listing import place_of, state_words
from gemel.custodian.steps.step_context import DECLINED
from gemel.protos.linkage.v1 import operator_pb2, project_pb2

S = project_pb2.ProjectState
YOU = marked("You")
_SERVICE = marked("Your service")
_MINE = {
    "approve": marked("read the specification, and approve or decline it"),
    "override": marked("decide whether your records leave although Carole could learn more than the limit allows"),
    "accept-restore": marked("read what Carole's store has lost, and accept or refuse her restored audit log"),
}
"""What only the operator can do, by the name of the command, in the words of the list of what is awaited."""


def rows(projects: Iterable[operator_pb2.CustodianProject], party: Party) -> list[dict[str, Any]]:
    """Of a list of projects: those that wait for the operator first, those that have ended last."""
    ordered = sorted(projects, key=lambda each: (place_of(each.state, is_awaited=_is_mine(each)), each.project))
    return [
        {
            "project": each.project,
            "state": shown_state(each),
            "kind": kind(each),
            "waits": gettext("It is blocked: {error}").format(error=each.blocking_error)
            if each.blocking_error and not _is_mine(each)
            else clauses(named(who, what) for who, what in waits(each, party)),
        }
        for each in ordered
    ]


def mine(projects: Iterable[operator_pb2.CustodianProject]) -> int:
    return sum(_is_mine(each) for each in projects)


def described(project: operator_pb2.CustodianProject, party: Party) -> dict[str, Any]:
    return {
        "project": project.project,
        "state": shown_state(project),
        "kind": kind(project),
        "stage": project.stage,
        "percent": round(100 * project.fraction) if project.fraction else None,
        "blocking_error": project.blocking_error,
        "waits": list(waits(project, party)),
        "rows": project.rows,
        "links": project.links,
        "results": project.results,
    }


def shown_state(project: operator_pb2.CustodianProject) -> str:
    awaited = gettext("waits for you") if project.waits_for_operator else ""
    return state_words(project.state, project.epoch, instead=awaited)


def kind(project: operator_pb2.CustodianProject) -> str:
    """Of a state's badge."""
    if _is_mine(project):
        return "due"
    if project.blocking_error or project.state == S.PROJECT_STATE_ASSESSED:
        return "bad"
    return "good" if project.state == S.PROJECT_STATE_RELEASED else ""


def page_state(*projects: operator_pb2.CustodianProject) -> str:
    """What of a status decides which forms a page has: the page is loaded again when this differs."""
    parts = [
        (each.project, each.state, each.epoch, each.specification_digest.hex(), *each.decisions, bool(each.results))
        for each in projects
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def waits(project: operator_pb2.CustodianProject, party: Party) -> Iterator[tuple[str, str]]:
    """For whom a project waits, and what that party has to do; nothing where nothing is to happen any more."""
    if _is_mine(project):
        yield from ((gettext(YOU), gettext(_MINE[each])) for each in project.decisions if each in _MINE)
    elif project.stage == DECLINED or project.blocking_error.startswith("declined by the operator"):
        what = gettext("amend the specification that you have declined, or erase the project")
        yield gettext("The coordinator"), what
    else:
        yield from _others(project, party)


def _is_mine(project: operator_pb2.CustodianProject) -> bool:
    # What was declined can still be approved, and waits for someone else.
    decided = project.waits_for_operator or "override" in project.decisions
    return decided or "accept-restore" in project.decisions


def _others(project: operator_pb2.CustodianProject, party: Party) -> Iterator[tuple[str, str]]:
    other = party.side.other.title()
    match project.state:
        case S.PROJECT_STATE_UNSPECIFIED | S.PROJECT_STATE_DRAFT if project.stage != "approved":
            yield gettext(_SERVICE), gettext("read your source, to show you what it finds")
        case S.PROJECT_STATE_UNSPECIFIED | S.PROJECT_STATE_DRAFT:
            yield (
                gettext("The coordinator and {custodian}").format(custodian=other),
                gettext("approve the specification, whoever of them has not"),
            )
        case S.PROJECT_STATE_APPROVED:
            yield (
                gettext("Your service and {custodian}'s").format(custodian=other),
                gettext("agree on a seed, by themselves"),
            )
        case S.PROJECT_STATE_KEYED if project.stage == "contributed":
            yield other, gettext("send its records")
        case S.PROJECT_STATE_KEYED:
            yield gettext(_SERVICE), gettext("read, sign and send your records")
        case S.PROJECT_STATE_CONTRIBUTED:
            yield gettext("The coordinator"), gettext("start a run, unless one is under way")
        case S.PROJECT_STATE_RUN:
            yield "Carole", gettext("assess the result, or release it")
        case S.PROJECT_STATE_ASSESSED:
            yield (
                gettext("The coordinator"),
                gettext("amend the specification, since the result was refused; or erase the project"),
            )
        case S.PROJECT_STATE_HELD:
            yield gettext("A steward"), gettext("release the held result, or refuse it")
        case S.PROJECT_STATE_RELEASED if "fetch-alone" in project.decisions:
            yield other, gettext("countersign Carole's audit log; your share is fetched then")
        case S.PROJECT_STATE_RELEASED if not project.results:
            yield gettext(_SERVICE), gettext("fetch your share of the result")
