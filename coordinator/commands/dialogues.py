"""What the commands of a coordinator and of a steward share: options, confirmations, and what is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gemel.common.language import LanguageCode
from gemel.common.parties import Role
from gemel.common.witnessing.wording import decided_line, released_lines, restored_lines
from gemel.coordinator.client.connection import client
from gemel.coordinator.client.ownership import offer_project, offered_project, take_project
from gemel.coordinator.client.terminal import console, show_mode
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


def hand_over(
    config: Path, role: Role, project: str, successor: str, reason: str, *, former: str = "", dry_run: bool = False
) -> project_pb2.ProjectStatus:
    """Offer a project, and name the next command; parameters and errors as `offer_project`.

    Parameters
    ----------
    dry_run
        Show what would be sent, and send nothing.
    """
    with client(config, role, dry_run=dry_run) as found:
        status = offer_project(found, role, project, successor, reason, former=former)
    if status.successor:
        console.print(f"Next: {successor} runs `gemel project take-over {project}`.", highlight=False)
    return status


def take_over(config: Path, project: str, *, yes: bool, dry_run: bool = False) -> project_pb2.ProjectStatus:
    """Show what is taken over, and take it over once that is confirmed; errors as `offered_project` and
    `take_project`."""
    with client(config, Role.COORDINATOR, dry_run=dry_run) as found:
        taken = offered_project(found, project)
        show_mode(taken.spec)
        console.print(f"Taking over {project}, and consenting to specification {taken.digest.hex()}", highlight=False)
        for sentence in taken.sentences:
            console.print(sentence, highlight=False, markup=False)
        if not yes and not dry_run:
            typer.confirm(f"Take {project} over?", abort=True)
        return take_project(found, taken)


def decide_restored(
    config: Path, role: Role, project: str, *, refuse: bool, reason: str, yes: bool, dry_run: bool
) -> None:
    """Show what was lost, and accept the restored log for a project or refuse it.

    Raises
    ------
    GemelError
        As `LogReader.restored` and `LogReader.decide`.
    """
    with client(config, role, checked=False, dry_run=dry_run) as found:
        restored = found.log.restored()
        runs = found.memory.released(project)
        for line in restored_lines(restored, released_lines(runs)):
            console.print(line, highlight=False, markup=False)
        if not yes and not dry_run:
            word = "Refuse" if refuse else "Accept"
            typer.confirm(f"{word} the restored log for {project} on behalf of the {role}?", abort=True)
        status = found.log.decide(project, restored, runs, accept=not refuse, reason=reason)
    console.print(decided_line(project, list(status.restore_awaits), accepted=not refuse), highlight=False)
