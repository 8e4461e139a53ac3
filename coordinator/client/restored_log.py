"""A coordinator's or steward's decision on Carole's log after her store was put back from a backup."""

from __future__ import annotations

from pathlib import Path

import typer

from gemel.common.parties import Role
from gemel.common.witnessing.wording import decided_line, released_lines, restored_lines
from gemel.coordinator.client.connection import client
from gemel.coordinator.client.terminal import console


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
