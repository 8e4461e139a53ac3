"""What the coordinator's commands show of projects: the mode named plainly, states, conditions and times in words."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from gemel.common.language.message_words import listed
from gemel.common.pki.certificates import load_certificate
from gemel.common.pki.checks import utc_now
from gemel.common.pki.ending import ending
from gemel.common.pki.folders import PartyFolder
from gemel.common.rpc.certificate_endings import ending_lines
from gemel.common.specification import Specification
from gemel.common.specification.model.defaults import Mode
from gemel.common.specification.notes.modes import JOINED, SENT
from gemel.common.terminal.fitting_table import FittingTable
from gemel.common.wire.parties import side_from_wire
from gemel.common.wire.project_states import STATE_WORDS
from gemel.protos.linkage.v1 import project_pb2
from gemel.records.csv_form import form_line
from gemel.records.sources import Source

SILENT_SECONDS = 600.0
"""A custodian that has not called for so long is named: it calls every few seconds while no long step keeps it."""

WORDS = {
    project_pb2.CUSTODIAN_CONDITION_APPROVAL: "waits for its operator's decision on the specification",
    project_pb2.CUSTODIAN_CONDITION_LEAKAGE: "waits for its operator: its records, or the handles that a "
    "run requests, disclose more than the specification allows",
    project_pb2.CUSTODIAN_CONDITION_SOURCE: "cannot read its records, or they do not fit the specification; its "
    "operator sees why",
    project_pb2.CUSTODIAN_CONDITION_CONFIGURATION: "cannot use its configuration or its keys; its operator sees why",
    project_pb2.CUSTODIAN_CONDITION_INSTALLATION: "lacks a package; its operator sees which",
    project_pb2.CUSTODIAN_CONDITION_STORAGE: "has a full disk",
    project_pb2.CUSTODIAN_CONDITION_AUDIT: "does not accept Carole's audit log: speak with it and with Carole's "
    "operator",
    project_pb2.CUSTODIAN_CONDITION_RESTORE: "waits for its operator's decision on the restored log",
    project_pb2.CUSTODIAN_CONDITION_OTHER: "has met an error, which its operator sees",
}

_NAMES = {project_pb2.SIDE_ALICE: "Alice", project_pb2.SIDE_BOB: "Bob"}
_UNDER_WAY = frozenset(
    {
        project_pb2.PROJECT_STATE_DRAFT,
        project_pb2.PROJECT_STATE_APPROVED,
        project_pb2.PROJECT_STATE_KEYED,
        project_pb2.PROJECT_STATE_CONTRIBUTED,
    }
)


def condition_lines(status: project_pb2.ProjectStatus, now: float | None = None) -> Iterator[str]:
    """A line for each custodian that has declined, and for each that the project waits for, since when."""
    moment = time.time() if now is None else now
    for side in status.sides:
        name = _NAMES.get(side.side, "A custodian")
        if side.declined:
            reason = f': "{side.decline_reason}"' if side.decline_reason else ""
            yield f"{status.project}: {name} declined the specification{reason}"
        if words := WORDS.get(side.condition):
            yield f"{status.project}: {name}'s service {words} (since {_at(side.condition_since_unix_ms)})"
        silent = side.last_poll_unix_ms and moment - side.last_poll_unix_ms / 1000 > SILENT_SECONDS
        if silent and status.state in _UNDER_WAY:
            yield (
                f"{status.project}: {name}'s service has not called Carole since {_at(side.last_poll_unix_ms)}: it is"
                " at a long step, or it does not run"
            )


def _at(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime("%Y-%m-%d %H:%M")


def projects_document(
    projects: Iterable[project_pb2.ProjectStatus], certificates: Iterable[project_pb2.EndingCertificate] = ()
) -> dict[str, Any]:
    return {
        "projects": [status_document(status) for status in projects],
        "certificates": list(ending_lines(certificates)),
    }


def status_document(status: project_pb2.ProjectStatus) -> dict[str, Any]:
    """One project: its state, whose it is, its sides, its newest run, and what it waits for, in words."""
    run = status.run
    newest = {
        "run": run.run,
        "state": _word(project_pb2.RunState, run.state, "RUN_STATE_"),
        "stage": run.stage,
        "fraction": run.fraction,
        "links": None if run.links_withheld or run.state != project_pb2.RUN_STATE_DONE else run.links,
        "error": run.error,
    }
    return {
        "project": status.project,
        "state": _word(project_pb2.ProjectState, status.state, "PROJECT_STATE_"),
        "epoch": status.epoch,
        "owner": status.owner,
        "successor": status.successor,
        "specification_digest": status.specification_digest.hex(),
        "encoding_digest": status.encoding_digest.hex(),
        "sides": {_word(project_pb2.Side, side.side, "SIDE_"): _side(side) for side in status.sides},
        "run": newest if run.run else None,
        "transfers": [
            {
                "sender": _word(project_pb2.Side, each.sender, "SIDE_"),
                "recipient": each.recipient,
                "sent": each.sent,
                "received": each.received,
            }
            for each in status.transfers
        ],
        "blocking_error": status.blocking_error,
        "waits": list(condition_lines(status)),
        "restore_awaits": list(status.restore_awaits),
        "signatures": {"needed": status.signatures, "by": list(status.signed), "of": list(status.signers)},
    }


def _side(side: project_pb2.SideStatus) -> dict[str, Any]:
    return {
        "approved": side.approved,
        "declined": side.declined,
        "keyed": side.keyed,
        "contributed": side.contributed,
        "has_result": side.result_acknowledged,
    }


def _word(enum: Any, number: int, prefix: str) -> str:
    """A state's name in lower case; ``unknown`` for one of a later release."""
    if number not in enum.values():
        return "unknown"
    return str(enum.Name(number)).removeprefix(prefix).lower()


console = Console()
"""Where results go."""
ABSENT = {"await-parties": "Coordinator and steward", "await-coordinator": "Coordinator", "await-steward": "Steward"}
"""For whom a run of mode shared waits before it is computed."""


_BORDERS: dict[Mode, str] = {"open": "yellow", "block_keyed": "green", "shared": "green", "trusted": "bold red"}


def show_mode(spec: Specification) -> None:
    """Name the mode, and what it lets Carole see, before anything else happens."""
    joined = spec.resolution.joined
    console.print(
        Panel(
            f"{SENT[spec.mode]} {JOINED}" if joined else SENT[spec.mode],
            title=f"{spec.mode} mode, joined by Carole" if joined else f"{spec.mode} mode",
            title_align="left",
            border_style="bold red" if joined else _BORDERS[spec.mode],
        )
    )


def show_ending(folder: PartyFolder) -> None:
    """Name the party's certificate on standard error, if it ends soon."""
    soon = ending(load_certificate(folder.certificate), utc_now())
    if soon is not None:
        Console(stderr=True).print(f"[yellow]{folder.certificate}: {soon}[/yellow]", highlight=False)


def show_endings(reported: Iterable[project_pb2.EndingCertificate]) -> None:
    """Name members' certificates that end soon, by a line each."""
    for line in ending_lines(reported):
        console.print(f"[yellow]{line}[/yellow]", highlight=False)


def show_notes(notes: Iterable[str]) -> None:
    for note in notes:
        console.print(f"  • {note}", highlight=False)


def show_form(*sources: Source) -> None:
    """State how CSV files are read that are not plain UTF-8 with commas."""
    for line in filter(None, map(form_line, sources)):
        console.print(line, highlight=False)


def show_projects(projects: Iterable[project_pb2.ProjectStatus]) -> None:
    """A table of projects and where they stand, and below it the custodians that they wait for."""
    table = FittingTable("project, owner", "state", "alice", "bob", "run", "error", header_style="bold")
    waits: list[str] = []
    for status in projects:
        waits += [*condition_lines(status), *_notes(status)]
        sides = {side.side: side for side in status.sides}
        table.add_row(
            f"{status.project}\nof {status.owner}"
            + (f", handed over to {status.successor}" if status.successor else ""),
            _state(status),
            *(_progress(sides.get(side)) for side in (project_pb2.SIDE_ALICE, project_pb2.SIDE_BOB)),
            escape(_run(status)),
            escape(status.blocking_error) or "-",
        )
    console.print(table)
    show_notes(waits)


def _notes(status: project_pb2.ProjectStatus) -> Iterator[str]:
    """Who signs the release of a held result where more than one must, what was transferred, and former projects."""
    if status.state == project_pb2.PROJECT_STATE_HELD and status.signatures >= 2:
        missing = status.signatures - len(status.signed)
        signed = f"{listed(status.signed)} has signed" if status.signed else "no steward has signed"
        awaited = listed(status.signers) if status.signers else "a steward who is not yet a member"
        yield f"{status.project}: {signed} the release of the held result; it awaits {missing} more of {awaited}"
    if status.state == project_pb2.PROJECT_STATE_RELEASED:
        yield from (f"{status.project}: {transfer_words(transfer)}" for transfer in status.transfers)
    if n := status.former_projects:
        projects = "one other project" if n == 1 else f"{n} other projects"
        links = f"with {status.former_links:,} links"
        yield f"{status.project}: in a year {projects} of these custodians released, {links}"


def transfer_words(transfer: project_pb2.GrantedTransfer) -> str:
    sender, recipient = side_from_wire(transfer.sender).title(), transfer.recipient
    if transfer.received:
        return f"{recipient} has received columns of {sender}"
    return f"{sender} has sent columns to {recipient}" if transfer.sent else f"{sender} has yet to send to {recipient}"


def _state(status: project_pb2.ProjectStatus) -> str:
    words = STATE_WORDS.get(status.state, "unknown")
    return f"{words} (epoch {status.epoch})" if status.epoch > 1 else words


def _progress(side: project_pb2.SideStatus | None) -> str:
    if side is None:
        return "-"
    steps = (
        ("has its result", side.result_acknowledged),
        ("contributed", side.contributed),
        ("keyed", side.keyed),
        ("approved", side.approved),
        ("declined", side.declined),
    )
    return next((word for word, done in steps if done), "waits")


def _run(status: project_pb2.ProjectStatus) -> str:
    if not status.run.run:
        return "-"
    run = status.run
    match run.state:
        case project_pb2.RUN_STATE_DONE:
            return "done" if run.links_withheld else f"{run.links:,} links"
        case project_pb2.RUN_STATE_FAILED:
            return f"failed: {run.error}"
        case project_pb2.RUN_STATE_RESOLVING:
            return f"waits: {'gemel project watch' if run.stage == 'resolve' else 'handles of the custodians'}"
        case project_pb2.RUN_STATE_RUNNING | project_pb2.RUN_STATE_QUEUED if run.stage in ABSENT:
            return f"waits for `gemel compute`: {ABSENT[run.stage]}"
        case project_pb2.RUN_STATE_RUNNING:
            return f"{run.stage} {run.fraction:.0%}"
        case _:
            return "queued"
