"""A project handed over and taken over by commands: what a terminal shows before and after."""

from __future__ import annotations

from pathlib import Path

import typer

from gemel.common.parties import Role
from gemel.coordinator.client.connection import client
from gemel.coordinator.client.ownership import offer_project, offered_project, take_project
from gemel.coordinator.client.terminal import console, show_mode
from gemel.protos.linkage.v1 import project_pb2


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
