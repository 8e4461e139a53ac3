"""A run, or a whole project, followed on the screen until it ends."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.rpc.status import passes
from gemel.common.specification import Specification, specification_digest
from gemel.common.wire.project_states import STATE_WORDS
from gemel.coordinator.client.coordinator_client import Coordinator
from gemel.coordinator.client.terminal import ABSENT, condition_lines, console, show_projects
from gemel.protos.linkage.v1 import project_pb2

HELD = 3
"""Exit code: the result's disclosure risk is above a limit, and it waits for a steward."""
REFUSED = 4
"""Exit code: the result was refused, by the policy or by a steward, and nothing is released."""


def ending_of(status: project_pb2.ProjectStatus) -> tuple[int, str]:
    """The exit code of a project whose newest run has ended, and a line for its result; 0 and none if it is neither."""
    name = status.project
    if status.state == project_pb2.PROJECT_STATE_HELD:
        return HELD, f"HELD: the result of {name} waits for a steward; `gemel project report {name}` shows why"
    if status.state == project_pb2.PROJECT_STATE_ASSESSED and status.blocking_error:
        return REFUSED, f"REFUSED: {status.blocking_error}; `gemel project report {name}` fetches it"
    return 0, ""


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
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, disable=disable)


def follow_run(
    coordinator: Coordinator, project: str, run: str, check: Callable[[], None] | None = None
) -> project_pb2.RunStatus:
    """Show a run's progress until it ends; in modes block_keyed and shared, resolve the records when it waits."""
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


POLL_SECONDS = 1.0

_BEFORE_RUN = (project_pb2.PROJECT_STATE_DRAFT, project_pb2.PROJECT_STATE_APPROVED, project_pb2.PROJECT_STATE_KEYED)


def carry_through(coordinator: Coordinator, spec: Specification, text: str) -> int:
    """Create and approve a project, wait for the custodians, start a run, follow it, and wait for a steward if held."""
    name, digest = spec.project, specification_digest(spec)
    status = _there(coordinator, name, text, digest)
    if status.state == project_pb2.PROJECT_STATE_DRAFT:
        console.print(f"Approving specification {digest.hex()}", highlight=False)
        coordinator.approve(name, digest, status.epoch)
        console.print(
            "Waiting for the custodians: `gemel alice approve`, `gemel bob approve`. Ctrl-C ends the waiting."
        )
    status = _awaited(coordinator, name, lambda status: status.state not in _BEFORE_RUN)
    needs_run = not status.run.run or status.run.state == project_pb2.RUN_STATE_FAILED
    if status.state == project_pb2.PROJECT_STATE_CONTRIBUTED and needs_run:
        console.print(f"Run {coordinator.start(name).run} is queued.", highlight=False)
        status = coordinator.get(name)[0]
    if status.state == project_pb2.PROJECT_STATE_CONTRIBUTED:
        follow_run(coordinator, name, status.run.run)
        status = coordinator.get(name)[0]
    code, line = ending_of(status)
    if code and code != REFUSED:
        console.print(f"{line}. Waiting for `gemel steward release {name}`, or refuse.", highlight=False)
        status = _awaited(coordinator, name, lambda status: status.state != project_pb2.PROJECT_STATE_HELD)
        code, line = ending_of(status)
    if status.state == project_pb2.PROJECT_STATE_ERASED:
        remedy = "give the project another name in its specification, and begin again"
        raise GemelError(ErrorCode.WRONG_STATE, "the project is erased", where=f"project {name}", remedy=remedy)
    if code:
        console.print(line, highlight=False, soft_wrap=True)
    return code


def _there(coordinator: Coordinator, name: str, text: str, digest: bytes) -> project_pb2.ProjectStatus:
    """The project, created if there is none of the name."""
    try:
        status, _ = coordinator.get(name)
    except GemelError as error:
        if error.code is not ErrorCode.NOT_FOUND:
            raise
        status = coordinator.create(text)
    if status.specification_digest != digest:
        what = "the project is there with another specification"
        got = status.specification_digest.hex()
        remedy = "propose this one by `gemel project amend`, or give it another name"
        raise GemelError(ErrorCode.EXISTS, what, where=f"project {name}", got=got, remedy=remedy)
    return status


def _awaited(
    coordinator: Coordinator, name: str, ready: Callable[[project_pb2.ProjectStatus], bool]
) -> project_pb2.ProjectStatus:
    """The project once it is ready; meanwhile each change of it is shown, once."""
    shown: list[object] = []
    while True:
        try:
            status, _ = coordinator.get(name)
        except GemelError as error:
            if not passes(error.code):
                raise
            time.sleep(POLL_SECONDS)  # Carole is away for a while, or has too many callers
            continue
        if ready(status):
            return status
        lines = [STATE_WORDS[status.state], *condition_lines(status), status.blocking_error]
        if lines != shown:
            shown = list(lines)
            show_projects([status])
        time.sleep(POLL_SECONDS)
