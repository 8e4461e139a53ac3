"""What the commands of a coordinator and of a steward share: options, confirmations, and what is shown.

Modules are imported when a command runs, so that help is instant.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.language import LanguageCode
from gemel.common.parties import Role
from gemel.common.terminal.output import print_json

if TYPE_CHECKING:
    from gemel.protos.linkage.v1 import project_pb2

ReportLanguage = Annotated[
    LanguageCode, typer.Option("--language", help="Language of the reports; files of data stay English.")
]
"""Of a command that has no configuration."""

ConfiguredLanguage = Annotated[
    LanguageCode | None,
    typer.Option(
        "--language",
        help="Language of the report; by default that of the configuration, which is en where it names none.",
    ),
]
RiskFolder = Annotated[Path, typer.Option("--out", help="Folder for assessment.json and risk.html.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not request confirmation.")]
RefuseRestored = Annotated[bool, typer.Option("--refuse", help="Refuse the restored log, for ever.")]
RefusalReason = Annotated[str, typer.Option("--reason", help="Why it is refused: a sentence, for the audit log.")]
RESULTS = Path("results")


def show(
    projects: Iterable[project_pb2.ProjectStatus],
    as_json: bool,
    certificates: Iterable[project_pb2.EndingCertificate] = (),
) -> None:
    from gemel.coordinator.client.terminal import projects_document, show_endings, show_projects

    if as_json:
        print_json(projects_document(projects, certificates))
        return
    show_projects(projects)
    show_endings(certificates)


def confirm(question: str, *, unless: bool) -> None:
    """Ask before something is done, and end the command if that is not wanted."""
    if not unless:
        typer.confirm(question, abort=True)


def refuse_existing(out: Path, force: bool) -> None:
    if out.exists() and not force:
        raise GemelError(ErrorCode.EXISTS, "the file exists", where=str(out), remedy="choose another, or use --force")


def hand_over(
    config: Path,
    role: Role,
    project: str,
    successor: str,
    reason: str,
    *,
    former: str = "",
    dry_run: bool,
    as_json: bool,
) -> None:
    from gemel.coordinator.client.connection import client
    from gemel.coordinator.client.ownership import offer_project
    from gemel.coordinator.client.terminal import console

    with client(config, role, dry_run=dry_run) as found:
        status = offer_project(found, role, project, successor, reason, former=former)
    if status.successor:
        console.print(f"Next: {successor} runs `gemel project take-over {project}`.", highlight=False)
    show([status], as_json)


def decide_restored(
    config: Path, role: Role, project: str, *, refuse: bool, reason: str, yes: bool, dry_run: bool
) -> None:
    """Show what was lost, and accept the restored log for a project or refuse it."""
    from gemel.common.witnessing.wording import decided_line, released_lines, restored_lines
    from gemel.coordinator.client.connection import client
    from gemel.coordinator.client.terminal import console

    with client(config, role, checked=False, dry_run=dry_run) as found:
        restored = found.log.restored()
        runs = found.memory.released(project)
        for line in restored_lines(restored, released_lines(runs)):
            console.print(line, highlight=False, markup=False)
        word = "Refuse" if refuse else "Accept"
        confirm(f"{word} the restored log for {project} on behalf of the {role}?", unless=yes or dry_run)
        status = found.log.decide(project, restored, runs, accept=not refuse, reason=reason)
    console.print(decided_line(project, list(status.restore_awaits), accepted=not refuse), highlight=False)
