"""``gemel steward``: the data steward reads reports, decides on held results, and reads the audit log."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from gemel.common.parties import Role
from gemel.common.terminal.options import DryRun, project_names
from gemel.common.terminal.output import Json, print_json
from gemel.coordinator.commands import dialogues
from gemel.coordinator.commands.dialogues import (
    RESULTS,
    ConfiguredLanguage,
    RefusalReason,
    RefuseRestored,
    RiskFolder,
    Yes,
    confirm,
    show,
)

app = typer.Typer(
    help="Sign off on what comes out: read the report on a result's disclosure risk, release or refuse what the policy "
    "holds, read the audit log. A steward never sees a record.",
    no_args_is_help=True,
)

Config = Annotated[Path, typer.Option("--config", help="The steward's configuration.", envvar="GEMEL_STEWARD")]
Project = Annotated[str, typer.Argument(help="The project's name.", autocompletion=project_names)]
Reason = Annotated[
    str, typer.Option(help="Why, in a sentence that a reader of the audit log understands in some years.")
]
DEFAULT_CONFIG = Path("steward.yaml")
SEE_LIST = "see `gemel steward list`"


@app.callback()
def steward() -> None:
    """Sign off on what is released."""


@app.command("list")
def list_assessed(config: Config = DEFAULT_CONFIG, as_json: Json = False) -> None:
    """Show the projects whose results were judged: released, refused, or held for a decision."""
    from gemel.coordinator.client.steward_client import connect_steward
    from gemel.coordinator.client.terminal import console, projects_document, show_endings, show_projects

    with connect_steward(config) as connected:
        found = connected.assessed()
        if as_json:
            print_json(projects_document(found, connected.certificates))
            return
        show_endings(connected.certificates)
    if not found:
        console.print("No result has been judged yet.")
        return
    show_projects(found)


@app.command()
def report(
    project: Project,
    out: RiskFolder = RESULTS,
    config: Config = DEFAULT_CONFIG,
    as_json: Json = False,
    language: ConfiguredLanguage = None,
) -> None:
    """Fetch the report on a result's disclosure risk: verdict, every measure in plain words, what would lower it."""
    from gemel.coordinator.client.client_configuration import report_language
    from gemel.coordinator.client.risk_reports import show_report
    from gemel.coordinator.client.steward_client import connect_steward

    with connect_steward(config) as connected:
        fetched = connected.report(project, connected.judged(project, SEE_LIST).run.run)
    if as_json:
        print_json(fetched.document)
    show_report(fetched, out, report_language(config, language))


@app.command()
def release(
    project: Project,
    reason: Reason,
    config: Config = DEFAULT_CONFIG,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Release a held result against the policy. Your reason and signature go into the audit log, for ever."""
    _decide(project, reason, config, yes or dry_run, dry_run, as_json, release=True)


@app.command()
def refuse(
    project: Project,
    reason: Reason,
    config: Config = DEFAULT_CONFIG,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Do not release a held result. Your reason and signature go into the audit log."""
    _decide(project, reason, config, yes or dry_run, dry_run, as_json, release=False)


@app.command("hand-over")
def hand_over(
    project: Project,
    former: Annotated[str, typer.Option("--from", help="The owner, which is no longer a member.")],
    successor: Annotated[str, typer.Option("--to", help="A coordinator, by its name in the membership list.")],
    reason: Reason,
    config: Config = DEFAULT_CONFIG,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Hand over a project whose owner is no longer a member, to another coordinator, which then takes it over."""
    confirm(f"Hand {project} of {former} over to {successor}?", unless=yes or dry_run)
    dialogues.hand_over(
        config, Role.STEWARD, project, successor, reason, former=former, dry_run=dry_run, as_json=as_json
    )


@app.command()
def log(
    project: Annotated[
        str | None, typer.Argument(help="One project; all, if not given.", autocompletion=project_names)
    ] = None,
    config: Config = DEFAULT_CONFIG,
) -> None:
    """Print the audit log, a JSON object a line; each entry is proven to be in the log that Carole has signed."""
    from gemel.coordinator.client.steward_client import connect_steward

    with connect_steward(config) as connected:
        for entry in connected.entries(project or ""):
            at = datetime.fromtimestamp(entry.at / 1000, UTC).isoformat(timespec="milliseconds")
            reported = {"sequence": entry.sequence, "at": at, "project": entry.project, "actor": entry.actor}
            typer.echo(json.dumps({**reported, "action": entry.action, "details": entry.details}))


@app.command("accept-restore")
def accept_restore(
    project: Project,
    config: Config = DEFAULT_CONFIG,
    refuse: RefuseRestored = False,
    reason: RefusalReason = "",
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Accept Carole's audit log after her store was put back from a backup: shown what was lost, then signed.

    The project goes on when all its parties have accepted. If one refuses, it can only be erased.
    """
    dialogues.decide_restored(config, Role.STEWARD, project, refuse=refuse, reason=reason, yes=yes, dry_run=dry_run)


def _decide(project: str, reason: str, config: Path, yes: bool, dry_run: bool, as_json: bool, *, release: bool) -> None:
    from gemel.coordinator.client.risk_reports import verdict_lines
    from gemel.coordinator.client.steward_client import connect_steward
    from gemel.coordinator.client.terminal import console

    with connect_steward(config, dry_run=dry_run) as connected:
        run = connected.judged(project, SEE_LIST).run.run
        report = connected.report(project, run)
        for line in verdict_lines(report.document):
            console.print(line, highlight=False)
        word = "Release against the policy" if release else "Refuse"
        confirm(f"{word}: {project}, run {run}?", unless=yes)
        show([connected.decide(project, run, report.sha256, release=release, reason=reason)], as_json)
