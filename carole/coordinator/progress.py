"""Following a run on the screen."""

from __future__ import annotations

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from carole.coordinator.client import Coordinator
from carole.coordinator.screen import console
from common.errors import ErrorCode, TrystError
from protos.linkage.v1 import project_pb2

STAGE_WORDS = {
    "read": "Carole decrypts the two uploads",
    "compare": "compares distinct signatures, field by field",
    "count": "counts the agreement patterns of all pairs",
    "fit": "fits the Fellegi-Sunter model by EM",
    "score": "scores the pairs",
    "assign": "finds the best one-to-one links",
    "seal": "seals each custodian's share",
}
"""What Carole does in each stage of a run, in words."""


def bars() -> Progress:
    """Progress bars that stay on the screen."""
    return Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console)


def follow_run(coordinator: Coordinator, project: str, run: str) -> project_pb2.RunStatus:
    """Show a run's progress until it ends.

    Raises
    ------
    TrystError
        If there is no run, or when it has failed.
    """
    if not run:
        raise TrystError(
            ErrorCode.NOT_FOUND, "the project has no run yet", where=project, remedy=f"tryst project start {project}"
        )
    last = project_pb2.RunStatus()
    with bars() as progress:
        tasks: dict[str, int] = {}
        for last in coordinator.watch(project, run):
            if last.stage and last.stage not in tasks:
                for task in tasks.values():
                    progress.update(progress.task_ids[task], completed=1.0)
                words = STAGE_WORDS.get(last.stage, last.stage)
                tasks[last.stage] = len(tasks)
                progress.add_task(f"{last.stage:<8} {words}", total=1.0)
            if last.stage:
                progress.update(progress.task_ids[tasks[last.stage]], completed=last.fraction)
        if last.state == project_pb2.RUN_STATE_DONE:
            for task in progress.task_ids:
                progress.update(task, completed=1.0)
    if last.state == project_pb2.RUN_STATE_FAILED:
        raise TrystError(ErrorCode.WRONG_STATE, f"the run failed: {last.error}", where=project)
    console.print(f"{last.links:,} links")
    return last
