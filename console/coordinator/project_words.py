"""Projects as lists and pages show them to coordinators and stewards: state, parties, run and conditions in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.datastructures import QueryParams

from gemel.common.language import clauses, gettext, named, ngettext, written
from gemel.console.coordinator.waiting import CAROLE, NAMES, S, has_approved, owner_of, stage_words, waits
from gemel.console.web.listing import paged, place_of, state_words
from gemel.coordinator.client.run_progress import DOERS, RESOLVE
from gemel.coordinator.client.terminal import condition_lines
from gemel.protos.linkage.v1 import project_pb2

R = project_pb2.RunState
_KINDS = {
    S.PROJECT_STATE_HELD: "due",
    S.PROJECT_STATE_DRAFT: "due",
    S.PROJECT_STATE_RELEASED: "good",
    S.PROJECT_STATE_ASSESSED: "bad",
}
_RUN_ENDED = (R.RUN_STATE_DONE, R.RUN_STATE_FAILED)


def row(status: project_pb2.ProjectStatus) -> dict[str, Any]:
    return {
        "project": status.project,
        "owner": status.owner,
        "state": shown_state(status),
        "kind": _kind(status),
        "waits": clauses(map(str, waits(status))),
    }


def project_list(projects: Sequence[project_pb2.ProjectStatus], query: QueryParams) -> dict[str, Any]:
    """What the page of a list shows; `query` as `paged` takes it."""
    ordered = sorted(
        projects, key=lambda each: (place_of(each.state, is_awaited=each.state == S.PROJECT_STATE_HELD), each.project)
    )
    return paged([row(each) for each in ordered], query)


def shown_state(status: project_pb2.ProjectStatus) -> str:
    run = ""
    if status.state == S.PROJECT_STATE_CONTRIBUTED and status.run.run:
        has_failed = status.run.state == R.RUN_STATE_FAILED
        run = gettext("the run has failed") if has_failed else gettext("a run is under way")
    return state_words(status.state, status.epoch, instead=run)


def described(status: project_pb2.ProjectStatus) -> dict[str, Any]:
    return {
        "project": status.project,
        "owner": owner_of(status),
        "successor": status.successor,
        "state": shown_state(status),
        "kind": _kind(status),
        # Of a held result it says what is awaited, as the list below does.
        "blocking_error": "" if status.state == S.PROJECT_STATE_HELD else status.blocking_error,
        "waits": waits(status),
        "conditions": [line.removeprefix(f"{status.project}: ") for line in condition_lines(status)],
        "parties": _parties(status),
        "run": run_words(status.run),
        "former": (status.former_projects, status.former_links),
        "resolving": "",
    }


def page_state(status: project_pb2.ProjectStatus) -> str:
    """What of a status decides which forms its page has: the page is loaded again when this differs."""
    run = status.run
    approved = [side.approved for side in status.sides]
    parts = (status.state, status.epoch, len(status.approvals), *approved, len(status.signed), run.run, run.state)
    whose = (status.owner, status.successor, *status.restore_awaits)
    shown = (*parts, run.stage == RESOLVE, *whose)
    return "-".join(str(int(each)) if isinstance(each, bool) else str(each) for each in shown)


def is_under_way(status: project_pb2.ProjectStatus) -> bool:
    return bool(status.run.run) and status.run.state not in _RUN_ENDED


def run_words(run: project_pb2.RunStatus) -> dict[str, Any] | None:
    """The newest run: what happens, by whom, how far it is; None where there is none."""
    if not run.run:
        return None
    if run.state == R.RUN_STATE_DONE:
        ended = ngettext("It has ended, with {links} link.", "It has ended, with {links} links.", run.links)
        words = gettext("It has ended.") if run.links_withheld else ended.format(links=written(run.links, ",d"))
    elif run.state == R.RUN_STATE_FAILED:
        words = gettext("It failed: {error}").format(error=run.error)
    elif run.state == R.RUN_STATE_QUEUED and not run.stage:
        words = gettext("It waits in Carole's queue.")
    elif run.stage:
        words = named(gettext(DOERS[run.stage]) if run.stage in DOERS else CAROLE, stage_words(run.stage))
    else:
        words = gettext("It is under way.")
    return {
        "run": run.run,
        "words": words,
        "failed": run.state == R.RUN_STATE_FAILED,
        "percent": round(100 * run.fraction) if run.state == R.RUN_STATE_RUNNING else None,
        "attempt": run.attempt,
    }


def when(milliseconds: int) -> str:
    """A time, in UTC."""
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M} UTC" if milliseconds else ""


def _parties(status: project_pb2.ProjectStatus) -> list[dict[str, Any]]:
    approved = {each.member: each.at_unix_ms for each in status.approvals}
    found: list[dict[str, Any]] = [
        {
            "name": _coordinator(owner_of(status)),
            "steps": [_approval(has_approved(status, status.owner), approved.get(status.owner, 0))],
        }
    ]
    rows = {each.side: each.rows for each in status.contributions if each.committed}
    for side in status.sides:
        steps = [_approval(side.approved, 0)]
        if side.declined:
            why = gettext("has declined: “{reason}”").format(reason=side.decline_reason)
            steps = [(False, why if side.decline_reason else gettext("has declined"))]
        steps += [
            (side.keyed, gettext("has keys") if side.keyed else gettext("no keys yet")),
            (side.contributed, _contribution(side.contributed, rows.get(side.side, 0))),
            (side.result_acknowledged, _result(side.result_acknowledged)),
        ]
        found.append({"name": gettext("{name}, custodian").format(name=NAMES[side.side]), "steps": steps})
    return found


def _coordinator(name: str) -> str:
    return name if "coordinator" in name else gettext("{name}, coordinator").format(name=name)


def _approval(done: bool, at: int) -> tuple[bool, str]:
    if not done:
        return False, gettext("has not approved")
    return True, gettext("approved on {at}").format(at=when(at)) if at else gettext("has approved")


def _contribution(done: bool, rows: int) -> str:
    if not done:
        return gettext("has not contributed")
    if not rows:
        return gettext("has contributed")
    sent = ngettext("has contributed {rows} row", "has contributed {rows} rows", rows)
    return sent.format(rows=written(rows, ",d"))


def _result(done: bool) -> str:
    return gettext("has its result") if done else gettext("no result yet")


def _kind(status: project_pb2.ProjectStatus) -> str:
    if status.state in _KINDS:
        return _KINDS[status.state]
    return "bad" if status.blocking_error or status.run.state == R.RUN_STATE_FAILED else ""
