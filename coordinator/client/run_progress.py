"""Following a run on the screen."""

from __future__ import annotations

from collections.abc import Callable

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.errors import ErrorCode, GemelError
from gemel.coordinator.client.coordinator_client import Coordinator
from gemel.coordinator.client.custodian_conditions import condition_lines
from gemel.coordinator.client.terminal import ABSENT, console
from gemel.protos.linkage.v1 import project_pb2

RESOLVE = "resolve"
"""The stage in which a run of mode block_keyed waits for this process."""

_TAKE_PART = "take part in the computation, by `gemel compute`"

STAGE_WORDS = {
    **dict.fromkeys(("await-parties", "await-coordinator", "await-steward"), _TAKE_PART),
    "agree": "agree on what is compared, with the two other parties",
    "compare": "compare the pairs on shares that none of the three can read",
    "chance": "compare random pairs on shares",
    "permute": "put the pairs into an order that no party knows",
    "open": "open the agreement patterns, without their pairs",
    "name": "name the promising pairs to the custodians",
    "read": "decrypt the two uploads",
    "persons": "find the people who are in a file more than once",
    "tables": "compare distinct signatures, field by field",
    "levels": "see how often values agree by chance",
    "count": "count the agreement patterns of the pairs",
    "model": "fit the Fellegi-Sunter model by EM",
    "keep": "score the pairs and keep the promising ones",
    "decide": "find the most probable links",
    "draw": "draw linkages that may be the true one",
    "latent": "judge pairs by their values too",
    "handles": "report which of their rows are one record",
    "handles-for-carole": "report to Carole which of their rows are one record: the fall-back of mode block_keyed",
    "join": "join the rows that are one record",
    RESOLVE: "resolve the records, and find the most probable links",
    "assess": "assess the disclosure risk",
    "seal": "seal each custodian's share",
}
"""What is done in each stage of a run, in words."""

COMPUTED = ("agree", "compare", "chance", "permute", "open", "name")
"""What the three compute parties do together."""

DOERS = {
    **dict.fromkeys(COMPUTED, "The three parties"),
    "handles": "Alice and Bob",
    "handles-for-carole": "Alice and Bob",
    RESOLVE: "Resolver, here",
    **ABSENT,
}
"""Who does it, where it is not Carole."""


def bars(*, disable: bool = False) -> Progress:
    """Progress bars that stay on the screen."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, disable=disable)


def follow_run(
    coordinator: Coordinator, project: str, run: str, check: Callable[[], None] | None = None
) -> project_pb2.RunStatus:
    """Show a run's progress until it ends; in modes block_keyed and shared, resolve the records when it waits for it.

    Parameters
    ----------
    check
        Called whenever the run has been looked at: raises where it would wait for another party in vain.

    Raises
    ------
    GemelError
        If there is no run, or when it has failed; what `check` raises.
    """
    if not run:
        raise GemelError(
            ErrorCode.NOT_FOUND, "the project has no run yet", where=project, remedy=f"gemel project start {project}"
        )
    last = project_pb2.RunStatus()
    with bars() as progress:
        tasks: dict[str, int] = {}
        resolved = False
        shown: set[str] = set()
        for last in coordinator.watch(project, run):
            if check is not None:
                check()
            if last.state == project_pb2.RUN_STATE_QUEUED and "queue" not in shown:
                console.print(f"Run {run} waits in Carole's queue.", highlight=False)
                shown.add("queue")
            if last.stage and last.stage not in tasks:
                for task in tasks.values():
                    progress.update(progress.task_ids[task], completed=1.0)
                words = STAGE_WORDS.get(last.stage, last.stage)
                tasks[last.stage] = len(tasks)
                progress.add_task(f"{DOERS.get(last.stage, 'Carole')}: {words}", total=1.0)
            if last.state == project_pb2.RUN_STATE_RESOLVING and last.stage == RESOLVE and not resolved:
                bar = progress.task_ids[tasks[RESOLVE]]
                coordinator.resolve(project, run, lambda _, done, bar=bar: progress.update(bar, completed=done))  # type: ignore[misc]
                resolved = True
                continue
            if last.state == project_pb2.RUN_STATE_RESOLVING:
                # It waits for the custodians; one that cannot go on is named, once.
                for line in condition_lines(coordinator.get(project)[0]):
                    if line not in shown:
                        console.print(f"  • {line}", highlight=False)
                        shown.add(line)
            if last.stage:
                progress.update(progress.task_ids[tasks[last.stage]], completed=last.fraction)
        if last.state == project_pb2.RUN_STATE_DONE:
            for task in progress.task_ids:
                progress.update(task, completed=1.0)
    if last.state == project_pb2.RUN_STATE_FAILED:
        raise GemelError(ErrorCode.WRONG_STATE, f"the run failed: {last.error}", where=project)
    console.print("done" if last.links_withheld else f"{last.links:,} links")
    return last


def pairs_compared(linkage: LinkageDocument) -> str:
    """What a run compared and what blocking is estimated to have lost, in one sentence or two."""
    share = linkage.candidates / linkage.pairs if linkage.pairs else 0.0
    blocking = linkage.blocking
    if not blocking:
        return f"All {linkage.pairs:,} pairs were compared."
    notice = f"{linkage.candidates:,} of {linkage.pairs:,} pairs were compared, {1 - share:.4%} fewer. "
    if blocking.estimated_recall is None:
        return notice + f"What blocking lost cannot be estimated: {'; '.join(blocking.assumptions)}."
    return notice + (
        f"Blocking lost about {blocking.estimated_lost:,.1f} matches ({1 - blocking.estimated_recall:.2%}), "
        f"estimated by {blocking.method}."
    )
