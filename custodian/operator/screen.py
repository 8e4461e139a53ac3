"""What a custodian's operator sees: rich tables for people, plain values for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax

from gemel.common.documents.result_warning import ResultWarning, by_severity
from gemel.common.parties import Party
from gemel.common.rpc.certificate_endings import ending_lines
from gemel.common.terminal.fitting_table import FittingTable
from gemel.common.wire.project_states import STATE_WORDS
from gemel.protos.linkage.v1 import operator_pb2, project_pb2

if TYPE_CHECKING:
    from gemel.custodian.leakage_report import LeakageReport

console = Console()


def show_status(status: operator_pb2.StatusResponse, party: Party) -> None:
    answers = "[green]answers[/green]" if status.connected else "[red]does not answer[/red]"
    answers = "[red]cannot be called[/red]" if status.refusal else answers
    console.print(f"[bold]{party.title}[/bold]  Carole at {status.carole} {answers}")
    if status.refusal:
        console.print(f"[red]{status.refusal}[/red]", highlight=False)
    _print_whole(f"identity {status.identity_fingerprint}")
    if status.certificate:
        console.print(f"[yellow]{status.certificate}[/yellow]", highlight=False)
    for line in ending_lines(status.certificates, without=status.member):
        console.print(f"[yellow]{line}[/yellow]", highlight=False)
    if not status.projects:
        console.print("No project yet: the coordinator makes one, and it appears here by itself.")
        return
    table = FittingTable("project", "mode", "at Carole", "here", "rows", "links", header_style="bold")
    for project in status.projects:
        done = f" {project.fraction:.0%}" if project.fraction else ""
        state, here = STATE_WORDS.get(project.state, "unknown"), f"{project.stage or '-'}{done}"
        rows = f"{project.rows:,}" if project.rows else "-"
        links = f"{project.links:,}" if project.results else "-"
        table.add_row(project.project, _mode(project.mode), state, here, rows, links)
    console.print(table)
    for project in status.projects:
        if project.blocking_error:
            _print_whole(f"[red]{project.project}:[/red] {escape(project.blocking_error)}")
        if project.results:
            _print_whole(f"{project.project}: its share is in {escape(project.results)}")
        if project.waits_for_operator and not project.blocking_error:
            console.print(f"{project.project} waits for you: gemel {party.name} approve {project.project}, or decline")


def _print_whole(line: str) -> None:
    """A line with what may be copied from it, as it is and in one piece."""
    console.print(line, highlight=False, soft_wrap=True)


def _mode(mode: str) -> str:
    """A mode, marked if values leave the custodian in it."""
    return "[bold red]trusted: values are sent[/bold red]" if mode == "trusted" else mode or "-"


_SHOWN = ("project", "mode", "stage", "fraction", "blocking_error", "rows", "links", "results", "waits_for_operator")
"""What a program is shown of a project as the service has it."""


def status_json(status: operator_pb2.StatusResponse) -> dict[str, Any]:
    return {
        "party": status.party,
        "carole": {"address": status.carole, "connected": status.connected, "refusal": status.refusal},
        "identity_fingerprint": status.identity_fingerprint,
        "certificate": status.certificate,
        "certificates": list(ending_lines(status.certificates, without=status.member)),
        "projects": [
            {
                **{name: getattr(project, name) for name in _SHOWN},
                "values_sent": project.mode == "trusted",
                "state": project_pb2.ProjectState.Name(project.state).removeprefix("PROJECT_STATE_").lower(),
                "specification_digest": project.specification_digest.hex(),
            }
            for project in status.projects
        ],
    }


def show_profile(text: str, title: str) -> None:
    from gemel.custodian.cleaning.profile import Profile, profile_table

    counts = json.loads(text)
    warnings = counts.pop("warnings", [])
    console.print(profile_table(Profile.from_dict(counts), f"What {title}'s service read and cleaned"))
    _show_warnings(ResultWarning.model_validate(warning) for warning in warnings)
    if not warnings:
        console.print("No warnings from these counts.")


def show_leakage(report: LeakageReport, details: bool) -> None:
    table = FittingTable("field", "attack", "recovered", "by guessing", "above it", "", header_style="bold")
    worst_first = sorted(report.findings if details else report.by_field().values(), key=lambda f: -f.above_chance)
    for found in worst_first:
        attack = f"{found.attack}, rule {found.rule}" if found.rule else found.attack
        verdict = "[red]above the limit[/red]" if found.above_chance > report.limit else "[green]within[/green]"
        shares = (found.recovered, found.chance, found.above_chance)
        table.add_row(found.field, attack, *(f"{share:.1%}" for share in shares), verdict)
    console.print(
        f"[bold]What Carole could learn[/bold] of {report.records:,} records in mode {report.mode}: the share of the"
        " records whose value in a field known attacks recover from the signatures."
    )
    console.print(table)
    if report.codes:
        codes = FittingTable("variable", "attack", "recovered", "by guessing", "above it", header_style="bold")
        for found in report.codes:
            shares = (found.recovered, found.chance, found.above_chance)
            codes.add_row(found.field, found.attack, *(f"{share:.1%}" for share in shares))
        console.print("[bold]What codes of variables reveal[/bold]; the limit does not apply to them.")
        console.print(codes)
    _show_warnings(report.warnings)
    verdicts = FittingTable("attacker", "at worst", "limit", "where", "", header_style="bold")
    for judged in report.verdicts:
        where = "" if judged.worst is None else judged.worst.field or f"{judged.worst.attack}, rule {judged.worst.rule}"
        outcome = "[red]above the limit[/red]" if judged.exceeds else "[green]within[/green]"
        limit = "none set" if judged.limit is None else f"{judged.limit:.1%}"
        shown = (f"{judged.share:.1%} {judged.what}", limit, where)
        verdicts.add_row(judged.who, *shown, "" if judged.limit is None else outcome)
    console.print("[bold]By kind of attacker[/bold], each with what Carole holds.")
    console.print(verdicts)
    if not report.exceeds:
        console.print("[green]Within the limits[/green] that the specification sets.")
    elif report.refuses:
        console.print(
            f"[red]Above the limit[/red] for {_above(report)}: your service will not contribute unless you override it"
            " with a reason. Ask the coordinator for another specification first."
        )
    else:
        console.print(
            f"[yellow]Above the limit[/yellow] for {_above(report)}. This specification only warns of it"
            " (`leakage: {above: refuse}` would stop your service): contribute if Carole is trusted not to attack."
        )


def _above(report: LeakageReport) -> str:
    return "; ".join(f"an attacker {v.who} ({v.limit:.1%})" for v in report.verdicts if v.exceeds)


def _show_warnings(warnings: Iterable[ResultWarning]) -> None:
    """Each on a line of its own, the most serious first."""
    styles = {"note": "", "warning": "yellow", "serious": "red"}
    for warning in by_severity(warnings):
        console.print(warning.line, style=styles[warning.severity], highlight=False, markup=False)


def show_specification(found: operator_pb2.SpecificationResponse) -> None:
    console.print(Syntax(found.text, "yaml", background_color="default"))
    _show_notes(found)


def show_consent(found: operator_pb2.SpecificationResponse, profile: str, title: str) -> None:
    """What an operator must have seen before approving."""
    show_profile(profile, title)
    _show_notes(found)


def _show_notes(found: operator_pb2.SpecificationResponse) -> None:
    title = "what this specification means for your records"
    notes = "\n".join(f"• {note}" for note in found.notes)
    console.print(Panel(notes, title=title, title_align="left", border_style="yellow"))
    _print_whole(f"specification digest  {found.digest.hex()}")
    console.print("It must be the digest that the coordinator and the other custodian see.")
